"""GB/s of copies between all pairs of GPUs, and from and to the host, with the topology.

Without GPUs only copies within the host's memory are measured.
"""

import argparse
import shutil
import subprocess
import time

import torch
from bench_report import Report


def speed(source, target, size, rounds):
    """Return the GB/s from one device to another."""
    pinned = torch.cuda.is_available() and "cpu" in (source, target)
    data = torch.zeros(
        size, dtype=torch.uint8, device=source, pin_memory=pinned and source == "cpu"
    )
    copy = torch.empty(
        size, dtype=torch.uint8, device=target, pin_memory=pinned and target == "cpu"
    )
    for count in range(rounds + 1):
        if count == 1:
            finish(source, target)
            began = time.perf_counter()
        copy.copy_(data, non_blocking=True)
    finish(source, target)
    return size * rounds / (time.perf_counter() - began) / 1e9


def finish(*devices):
    for device in devices:
        if device != "cpu":
            torch.cuda.synchronize(device)


def topology():
    """Return the topology of the GPUs as printed by the driver's tool."""
    if not torch.cuda.is_available() or not shutil.which("nvidia-smi"):
        return "no GPUs"
    command = ["nvidia-smi", "topo", "-m"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size-mb", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=20)
    args = parser.parse_args()
    devices = ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
    print(topology())
    report = Report("Copies in GB/s, from the row to the column", ["from", *devices])
    pairs = []
    for source in devices:
        figures = [speed(source, to, args.size_mb * 1000**2, args.rounds) for to in devices]
        report.row(source, *figures)
        pairs += [(source, target, figure) for target, figure in zip(devices, figures)]
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    table = ["from", "to", "GB/s"], pairs
    report.close(table, device=device, size_mb=args.size_mb, topology=topology())


if __name__ == "__main__":
    main()
