"""Images per second in training on generated images, in as many processes as torchrun starts."""

import argparse
import time

import torch
import torch.distributed as dist
from bench_models import MODELS, PRECISIONS, computing_in, finish, name_of
from bench_report import Report
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from train_ddp import check_all_reduce, join


def measure(model, device, precision, args):
    """Return this process's images per second."""
    size = args.image_size
    images = torch.randn(args.batch_size, 3, size, size, device=device)
    labels = torch.randint(1000, (args.batch_size,), device=device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    scaler = torch.amp.GradScaler(device.type, enabled=precision == "fp16")
    loss_of = nn.CrossEntropyLoss()
    for step in range(args.warmup + args.steps):
        if step == args.warmup:
            finish(device)
            began = time.perf_counter()
        optimizer.zero_grad()
        with computing_in(precision, device):
            loss = loss_of(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    finish(device)
    return args.steps * args.batch_size / (time.perf_counter() - began)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=MODELS, default="resnet50")
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=["fp32"])
    parser.add_argument("--batch-size", type=int, default=64, help="of each process")
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--warmup", type=int, default=10)
    args = parser.parse_args()
    device = join()
    check_all_reduce(device)
    torch.backends.cudnn.benchmark = True
    headings = ["model", "precision", "processes", "batch", "images/s", "each"]
    title = f"Training, {name_of(device)}, PyTorch {torch.__version__}"
    report = Report(title, headings, quiet=dist.get_rank() > 0)
    for precision in args.precisions:
        model = DistributedDataParallel(MODELS[args.model]().to(device))
        speed = torch.tensor(measure(model, device, precision, args), device=device)
        rank_speed = speed.item()
        dist.all_reduce(speed)
        report.row(
            args.model, precision, dist.get_world_size(), args.batch_size, speed.item(), rank_speed
        )
    report.close(device=name_of(device), image_size=args.image_size, steps=args.steps)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
