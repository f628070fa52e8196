"""MPI test: every rank prints its node; then an all-reduce with a known result.

It also prints the all-reduce's bandwidth.
"""

import platform
import sys
import time

import numpy as np
from mpi4py import MPI


def say(line):
    """Print with a single write, so that lines of several ranks do not mix."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main():
    world = MPI.COMM_WORLD
    rank, size = world.Get_rank(), world.Get_size()
    say("rank {} of {} on {}".format(rank, size, platform.node()))
    brought = np.arange(1.0, 1e6) * (rank + 1)
    total = np.empty_like(brought)
    world.Barrier()
    began = time.perf_counter()
    world.Allreduce(brought, total)
    spent = time.perf_counter() - began
    right = bool((total == np.arange(1.0, 1e6) * (size * (size + 1) / 2)).all())
    if not world.allreduce(right, MPI.LAND):
        sys.exit("rank {}: the all-reduce gave a wrong sum".format(rank) if not right else 1)
    if rank == 0:
        speed = brought.nbytes / spent / 1e9
        say("the all-reduce of {} ranks is right, {:.2f} GB/s".format(size, speed))


if __name__ == "__main__":
    main()
