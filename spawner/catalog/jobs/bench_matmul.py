"""GFLOPS of matrix multiplication, by size and precision: 2 n³ operations for n × n matrices."""

import argparse
import time

import torch
from bench_models import finish, name_of
from bench_report import Report

TYPES = {"fp64": torch.float64, "fp32": torch.float32, "fp16": torch.float16,
         "bf16": torch.bfloat16}  # fmt: skip


def gflops(size, kind, device, seconds):
    """Measure for about `seconds`, after one round that is not counted."""
    left, right = (torch.randn(size, size, device=device).to(kind) for _ in range(2))
    torch.mm(left, right)
    finish(device)
    rounds, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        for _ in range(4):
            torch.mm(left, right)
        finish(device)
        rounds += 4
    spent = time.perf_counter() - began
    return 2 * size**3 * rounds / spent / 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", type=int, default=[1024, 4096, 8192])
    parser.add_argument("--precisions", nargs="+", choices=TYPES, default=["fp64", "fp32", "fp16"])
    parser.add_argument("--seconds", type=float, default=2.0, help="for each figure")
    parser.add_argument("--tf32", action="store_true", help="let fp32 be rounded to TF32")
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = args.tf32
    title = f"Matrix multiplication, {name_of(device)}, PyTorch {torch.__version__}"
    report = Report(title, ["precision", "size", "GFLOPS"])
    for precision in args.precisions:
        for size in args.sizes:
            report.row(precision, size, gflops(size, TYPES[precision], device, args.seconds))
    report.close(device=name_of(device), tf32=args.tf32)


if __name__ == "__main__":
    main()
