"""Parts shared by the example trainings: generated data, arguments, and a report of each epoch.

Runs with Python 2.7 too. The data are points in the plane; the label is whether a point lies in a
circle.
"""

import argparse
import os
import sys

import numpy as np


def arguments(description, epochs=20, learning_rate=0.1):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--epochs", type=int, default=epochs)
    parser.add_argument("--learning-rate", type=float, default=learning_rate)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--hidden", type=int, default=16, help="neurons in the hidden layer")
    parser.add_argument("--seed", type=int, default=0)
    return parser


def data(count=512, seed=0):
    """Return `count` points as (count, 2) and their labels, 0 or 1, as (count, 1); float32."""
    points = np.random.RandomState(seed).uniform(-1, 1, (count, 2)).astype("float32")
    radius = np.hypot(points[:, 0], points[:, 1])
    return points, (radius < 0.7).astype("float32")[:, None]


def batches(points, labels, size, seed):
    """Yield the data in a new order, in batches of `size`; a smaller rest is left out."""
    order = np.random.RandomState(seed).permutation(len(points))
    for start in range(0, len(order) - size + 1, size):
        batch = order[start : start + size]
        yield points[batch], labels[batch]


def say(line):
    """Print a line at once, in a single write: lines of ranks that share a pipe then stay whole.

    `print` writes the line end separately if Python's output is unbuffered, as under torchrun.
    """
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class Report:
    """A line and two points in TensorBoard for each epoch. Without tensorboardX, the line alone."""

    def __init__(self, logdir=None, quiet=False):
        self.quiet = quiet
        self.writer = None if quiet else self._open(logdir)
        self._say("epoch      loss  accuracy")

    @staticmethod
    def _open(logdir):
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            return None
        # flush() does not wait for the writer's queue: this is the maximum delay of a curve.
        return SummaryWriter(logdir or os.environ.get("PORTAL_LOGDIR", "runs"), flush_secs=2)

    def epoch(self, number, loss, accuracy):
        self._say("{:5d}  {:8.4f}  {:8.3f}".format(number, float(loss), float(accuracy)))
        if self.writer:
            self.writer.add_scalar("loss", float(loss), number)
            self.writer.add_scalar("accuracy", float(accuracy), number)
            self.writer.flush()

    def close(self):
        if self.writer:
            self.writer.close()

    def _say(self, line):
        if not self.quiet:
            say(line)
