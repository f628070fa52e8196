"""Train a small network with PyTorch's DistributedDataParallel.

There are as many processes as torchrun starts, with NCCL between GPUs and Gloo otherwise. Every
process gets a part of the data.
"""

import os

import torch
import torch.distributed as dist
import toy
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def check_all_reduce(device):
    """Check an all-reduce with a known result, to detect errors before they affect the model."""
    size = dist.get_world_size()
    numbers = torch.arange(1.0, 1001.0, device=device) * (dist.get_rank() + 1)
    dist.all_reduce(numbers)
    expected = torch.arange(1.0, 1001.0, device=device) * (size * (size + 1) / 2)
    if not torch.equal(numbers, expected):
        raise SystemExit(f"rank {dist.get_rank()}: the all-reduce gave a wrong sum")


def join():
    """Join the process group, and return this process's device."""
    local = int(os.environ["LOCAL_RANK"])
    if torch.cuda.is_available():
        torch.cuda.set_device(local)
        dist.init_process_group("nccl", device_id=torch.device("cuda", local))
        return torch.device("cuda", local)
    dist.init_process_group("gloo")
    return torch.device("cpu")


def average(value, device):
    """Return a number's mean over all processes."""
    total = torch.tensor(float(value), device=device)
    dist.all_reduce(total)
    return total.item() / dist.get_world_size()


def main():
    args = toy.arguments(__doc__).parse_args()
    device = join()
    check_all_reduce(device)
    rank, size = dist.get_rank(), dist.get_world_size()
    toy.say(f"rank {rank} of {size} on {os.uname().nodename}, {device}")
    points, labels = (torch.from_numpy(part) for part in toy.data(seed=args.seed))
    parts = DistributedSampler(TensorDataset(points, labels), seed=args.seed)
    loader = DataLoader(TensorDataset(points, labels), args.batch_size, sampler=parts)
    points, labels = points.to(device), labels.to(device)
    torch.manual_seed(args.seed)
    plain = nn.Sequential(nn.Linear(2, args.hidden), nn.Tanh(), nn.Linear(args.hidden, 1))
    model = DistributedDataParallel(plain.to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.learning_rate, momentum=0.9)
    loss_of = nn.BCEWithLogitsLoss()
    report = toy.Report(quiet=rank > 0)
    for epoch in range(args.epochs):
        parts.set_epoch(epoch)
        for batch, targets in loader:
            optimizer.zero_grad()
            loss_of(model(batch.to(device)), targets.to(device)).backward()
            optimizer.step()
        with torch.no_grad():
            guess = plain(points)
            loss = average(loss_of(guess, labels), device)
            accuracy = average(((guess > 0) == (labels > 0.5)).float().mean(), device)
        report.epoch(epoch, loss, accuracy)
    report.close()
    weight = torch.cat([part.detach().flatten() for part in plain.parameters()])
    spread = weight.clone()
    dist.all_reduce(spread)
    same = torch.allclose(spread / size, weight, atol=1e-5)
    toy.say(f"rank {rank}: all ranks have {'equal' if same else 'DIFFERENT'} weights")
    dist.destroy_process_group()
    if not same:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
