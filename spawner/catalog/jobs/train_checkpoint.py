"""Train in pieces: save on request, exit with 85, and continue when started again.

The whole state is in one file, written under a temporary name and then renamed: a job killed while
saving leaves the previous state. The job's script takes 85 as "saved, run me again".
"""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import toy
from train_numpy import forward, gradients

EXIT_AGAIN = 85


class Stop:
    """Flag set by USR1, which means that the time limit is near."""

    requested = False

    def __init__(self):
        signal.signal(signal.SIGUSR1, self.request)

    def request(self, *_):
        self.requested = True


def save(path, epoch, weights):
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".new.npz")
    np.savez(beside, epoch=epoch, **weights)
    beside.replace(path)


def restore(path, hidden, seed):
    """Return the next epoch and the weights, from the file or for a new start."""
    if path.exists():
        with np.load(path) as saved:
            weights = {name: saved[name] for name in saved.files if name != "epoch"}
            return int(saved["epoch"]), weights
    rng = np.random.default_rng(seed)
    return 0, {
        "w1": rng.normal(0, 1, (2, hidden)),
        "b1": np.zeros(hidden),
        "w2": rng.normal(0, 1, (hidden, 1)) / hidden**0.5,
        "b2": np.zeros(1),
    }


def main():
    parser = toy.arguments(__doc__)
    parser.add_argument("--pause-s", type=float, default=0.0, help="pause after each epoch")
    parser.add_argument("--save-every", type=int, default=10, help="epochs between two saves")
    args = parser.parse_args()
    stop = Stop()
    path = Path(os.environ.get("PORTAL_LOGDIR", "runs")) / "checkpoint" / "state.npz"
    begin, weights = restore(path, args.hidden, args.seed)
    print(f"beginning with epoch {begin}" if begin else "starting from the beginning", flush=True)
    points, labels = toy.data(seed=args.seed)
    report = toy.Report()
    for epoch in range(begin, args.epochs):
        for batch, targets in toy.batches(points, labels, args.batch_size, epoch):
            _, slopes = gradients(weights, batch, targets)
            for name in weights:
                # without momentum, larger steps are needed
                weights[name] = weights[name] - 3 * args.learning_rate * slopes[name]
        loss, _ = gradients(weights, points, labels)
        report.epoch(epoch, loss, np.mean((forward(weights, points)[1] > 0.5) == labels))
        if stop.requested or (epoch + 1) % args.save_every == 0 or epoch + 1 == args.epochs:
            save(path, epoch + 1, weights)
        if stop.requested and epoch + 1 < args.epochs:
            print(f"saved after epoch {epoch}", flush=True)
            report.close()
            sys.exit(EXIT_AGAIN)
        time.sleep(args.pause_s)
    report.close()


if __name__ == "__main__":
    main()
