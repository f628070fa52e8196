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

    wanted = False

    def __init__(self):
        signal.signal(signal.SIGUSR1, self.ask)

    def ask(self, *_):
        self.wanted = True


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
    asked = parser.parse_args()
    stop = Stop()
    path = Path(os.environ.get("PORTAL_LOGDIR", "runs")) / "checkpoint" / "state.npz"
    begin, weights = restore(path, asked.hidden, asked.seed)
    print(f"beginning with epoch {begin}" if begin else "starting from the beginning", flush=True)
    points, wanted = toy.data(seed=asked.seed)
    report = toy.Report()
    for epoch in range(begin, asked.epochs):
        for some, answers in toy.batches(points, wanted, asked.batch_size, epoch):
            _, slopes = gradients(weights, some, answers)
            for name in weights:
                weights[name] = weights[name] - 3 * asked.learning_rate * slopes[name]
        loss, _ = gradients(weights, points, wanted)
        report.epoch(epoch, loss, np.mean((forward(weights, points)[1] > 0.5) == wanted))
        if stop.wanted or (epoch + 1) % asked.save_every == 0 or epoch + 1 == asked.epochs:
            save(path, epoch + 1, weights)
        if stop.wanted and epoch + 1 < asked.epochs:
            print(f"saved after epoch {epoch}", flush=True)
            report.close()
            sys.exit(EXIT_AGAIN)
        time.sleep(asked.pause_s)
    report.close()


if __name__ == "__main__":
    main()
