"""Train a small network with PyTorch, on a GPU if the job has one."""

import os

import torch
import toy
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter


def save(model, example, logdir):
    """Save the model for batches of any size, for infer_pytorch.py and torch.export.load."""
    path = os.path.join(logdir, "model.pt2")
    model.eval()
    any_size = {0: torch.export.Dim("batch")}
    torch.export.save(torch.export.export(model, (example,), dynamic_shapes=(any_size,)), path)
    print(f"The model is in {path}", flush=True)


def main():
    args = toy.arguments(__doc__).parse_args()
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    print(f"training on {torch.cuda.get_device_name() if device.type == 'cuda' else 'the CPU'}")
    points, labels = (torch.from_numpy(part).to(device) for part in toy.data(seed=args.seed))
    loader = DataLoader(TensorDataset(points, labels), args.batch_size, shuffle=True)
    model = nn.Sequential(nn.Linear(2, args.hidden), nn.Tanh(), nn.Linear(args.hidden, 1))
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.learning_rate, momentum=0.9)
    loss_of = nn.BCEWithLogitsLoss()
    logdir = os.environ.get("PORTAL_LOGDIR", "runs")
    with SummaryWriter(logdir) as log:
        print("epoch      loss  accuracy")
        for epoch in range(args.epochs):
            for batch, targets in loader:
                optimizer.zero_grad()
                loss_of(model(batch), targets).backward()
                optimizer.step()
            with torch.no_grad():
                guess = model(points)
                loss = loss_of(guess, labels).item()
                accuracy = ((guess > 0) == (labels > 0.5)).float().mean().item()
            log.add_scalar("loss", loss, epoch)
            log.add_scalar("accuracy", accuracy, epoch)
            print(f"{epoch:5d}  {loss:8.4f}  {accuracy:8.3f}", flush=True)
    save(model, points[:2], logdir)


if __name__ == "__main__":
    main()
