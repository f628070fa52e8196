"""Bandwidth of all-reduce, broadcast and all-gather by message size, between all processes.

"GB/s" is the message size divided by the time; "bus GB/s" is the corresponding load of a link,
which is comparable between numbers of processes (as in NVIDIA's nccl-tests: all-reduce 2 (n-1)/n,
all-gather (n-1)/n).
"""

import argparse
import time

import torch
import torch.distributed as dist
from bench_models import finish, name_of
from bench_report import Report
from train_ddp import check_all_reduce, join


def all_gather(part, message):
    dist.all_gather(list(message.chunk(dist.get_world_size())), part)


OPERATIONS = {
    "all-reduce": (lambda _, message: dist.all_reduce(message), lambda n: 2 * (n - 1) / n),
    "broadcast": (lambda _, message: dist.broadcast(message, 0), lambda _: 1.0),
    "all-gather": (all_gather, lambda n: (n - 1) / n),
}


def seconds_of(operation, size, device, rounds):
    message = torch.zeros(size // 4, device=device)
    part = message[: len(message) // dist.get_world_size()].clone()
    for count in range(rounds + 2):
        if count == 2:
            finish(device)
            dist.barrier()
            began = time.perf_counter()
        operation(part, message)
    finish(device)
    spent = torch.tensor((time.perf_counter() - began) / rounds, device=device)
    dist.all_reduce(spent, dist.ReduceOp.MAX)
    return spent.item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes-kb", nargs="+", type=int, default=[4, 64, 1024, 16384, 262144])
    parser.add_argument("--rounds", type=int, default=20)
    args = parser.parse_args()
    device = join()
    check_all_reduce(device)
    size = dist.get_world_size()
    title = f"Collectives, {size} processes, {dist.get_backend()}, {name_of(device)}"
    headings = ["operation", "KB", "ms", "GB/s", "bus GB/s"]
    report = Report(title, headings, quiet=dist.get_rank() > 0)
    for name, (operation, factor) in OPERATIONS.items():
        for kb in args.sizes_kb:
            length = kb * 1000 // (4 * size) * 4 * size
            spent = seconds_of(operation, length, device, args.rounds)
            speed = length / spent / 1e9
            report.row(name, kb, spent * 1000, speed, speed * factor(size))
    report.close(processes=size, backend=dist.get_backend(), device=name_of(device))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
