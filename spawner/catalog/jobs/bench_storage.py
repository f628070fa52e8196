"""MB/s (1 MB = 1,000,000 bytes) of a folder's storage: sequential and random access.

Reads and writes bypass the page cache (O_DIRECT) if the file system supports it; otherwise files
are synced after writing and dropped from the cache before reading, and the table shows "cached".
"""

import argparse
import concurrent.futures
import errno
import mmap
import os
import random
import tempfile
import time
from pathlib import Path

from bench_report import Report

MIB = 1 << 20
PATTERNS = [
    ("sequential", MIB, 1, False),
    ("512K", 512 * 1024, 1, True),
    ("4K", 4096, 1, True),
    ("4K QD32", 4096, 32, True),
]
"""Name, block size, concurrent requests, random access."""


def open_direct(path, flags):
    """Return a descriptor, and whether it bypasses the cache."""
    try:
        return os.open(path, flags | os.O_DIRECT, 0o600), True
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return os.open(path, flags, 0o600), False


def aligned(size):
    """Return page-aligned memory, as O_DIRECT requires, with incompressible bytes."""
    memory = mmap.mmap(-1, size)
    memory.write(os.urandom(size))
    return memory


def worker(descriptor, offsets, block, writing, deadline):
    """Return the bytes moved at these offsets, as far as the deadline permits."""
    memory, moved = aligned(block), 0
    for offset in offsets:
        if time.perf_counter() > deadline:
            break
        if writing:
            moved += os.pwrite(descriptor, memory, offset)
        else:
            moved += os.preadv(descriptor, [memory], offset)
    return moved


def measure(path, total, pattern, writing, seconds):
    _, block, depth, at_random = pattern
    descriptor, direct = open_direct(path, os.O_RDWR)
    try:
        if not direct and not writing:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        offsets = list(range(0, total - block + 1, block))
        if at_random:
            random.shuffle(offsets)
        began = time.perf_counter()
        with concurrent.futures.ThreadPoolExecutor(depth) as pool:
            jobs = [
                pool.submit(worker, descriptor, offsets[n::depth], block, writing, began + seconds)
                for n in range(depth)
            ]
            moved = sum(job.result() for job in jobs)
        if writing:
            os.fsync(descriptor)
        return moved / (time.perf_counter() - began) / 1e6, direct
    finally:
        os.close(descriptor)


def fill(path, total):
    """Write the file once, because reading holes would not access the storage."""
    with Path(path).open("wb", buffering=0) as file:
        piece = os.urandom(MIB)
        for _ in range(total // MIB):
            file.write(piece)
        os.fsync(file.fileno())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size-mb", type=int, default=1024, help="size of the test file in MiB")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each figure, at most")
    parser.add_argument("folder")
    args = parser.parse_args()
    total = args.size_mb * MIB
    report = Report(f"Storage, {args.folder}", ["pattern", "access", "read MB/s", "write MB/s"])
    with tempfile.NamedTemporaryFile(dir=args.folder, prefix=".portal-bench-") as file:
        fill(file.name, total)
        for pattern in PATTERNS:
            read_speed, direct = measure(file.name, total, pattern, False, args.seconds)
            write_speed, _ = measure(file.name, total, pattern, True, args.seconds)
            report.row(pattern[0], "direct" if direct else "cached", read_speed, write_speed)
    report.close(folder=args.folder, size_mb=args.size_mb)


if __name__ == "__main__":
    main()
