"""Batch inference with a trained PyTorch model; the predictions are written to a CSV file.

The model was saved by `torch.export.save` (.pt2), as in the example training, or is TorchScript.
Inputs are rows of numbers (.csv; .npy: along the first axis) or images, in one file or in a folder.
When restarted by Slurm, it continues after the last complete line of its CSV file.
"""

import argparse
import csv
import os
import time
from pathlib import Path

import numpy as np
import torch
import toy
from torch.utils.tensorboard import SummaryWriter

TABLES = {".csv", ".npy"}
IMAGES = {".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff"}
REPORT_EVERY_S = 5.0


class InputRefused(Exception):
    """The user's input is unusable; the message is the reason."""


class Table:
    """Rows of numbers: float32, (rows, ...)."""

    unit = "rows"

    def __init__(self, name, values):
        self.name = name
        self.values = values

    def __len__(self):
        return len(self.values)

    def batch(self, begin, end):
        return torch.from_numpy(np.array(self.values[begin:end], dtype="float32"))

    def names(self, begin, end):
        return [f"{self.name}:{row}" for row in range(begin, end)]


class Pictures:
    """Images as (count, 3, size, size), float32 from 0 to 1."""

    unit = "images"

    def __init__(self, paths, folder, size):
        self.paths, self.folder, self.size = paths, folder, size

    def __len__(self):
        return len(self.paths)

    def batch(self, begin, end):
        return torch.stack([self._read(path) for path in self.paths[begin:end]])

    def names(self, begin, end):
        return [str(path.relative_to(self.folder)) for path in self.paths[begin:end]]

    def _read(self, path):
        from PIL import Image, UnidentifiedImageError

        try:
            with Image.open(path) as image:
                small = image.convert("RGB").resize((self.size, self.size))
        except UnidentifiedImageError as error:
            raise InputRefused(f"{path} is not an image.") from error
        return torch.from_numpy(np.array(small)).permute(2, 0, 1).float() / 255


def table(path):
    """Load a file of numbers; the first line of a CSV file may contain headings."""
    if path.suffix.lower() == ".npy":
        return Table(path.name, np.load(path, mmap_mode="r"))
    with path.open(encoding="utf-8") as file:
        first = file.readline()
    try:
        [float(word) for word in first.split(",")]
        headings = 0
    except ValueError:
        headings = 1
    try:
        values = np.loadtxt(path, dtype="float32", delimiter=",", skiprows=headings, ndmin=2)
    except ValueError as error:
        raise InputRefused(f"{path}: {error}") from error
    return Table(path.name, values)


def inputs_of(path, image_size):
    """Return the inputs in a file, or in a folder's files sorted by name."""
    if path is None:
        return [Table("example", toy.data()[0])]
    if not path.exists():
        raise InputRefused(f"{path}: there is no such file or folder.")
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    tables = [p for p in files if p.suffix.lower() in TABLES]
    images = [p for p in files if p.suffix.lower() in IMAGES]
    if not tables and not images:
        suffixes = ", ".join(sorted(TABLES | IMAGES))
        raise InputRefused(f"{path}: there is nothing that can be read; that is {suffixes}.")
    if tables and images:
        raise InputRefused(f"{path}: there are both images and tables; give a folder of one kind.")
    folder = path if path.is_dir() else path.parent
    return [table(p) for p in tables] or [Pictures(images, folder, image_size)]


def load(path, device):
    """Return the model as a function of a batch.

    This runs its author's code: load only your own.
    """
    if not path.is_file():
        raise InputRefused(f"{path}: there is no such file.")
    try:
        if path.suffix == ".pt2":
            return torch.export.load(path).module().to(device)
        return torch.jit.load(path, map_location=device).eval()
    except (RuntimeError, ValueError) as error:
        raise InputRefused(
            f"{path} is not a complete model, or can't be loaded: {error}"
        ) from error


def columns(outputs, kind):
    """Return headings, and a row of values for each input of a batch."""
    outputs = outputs.float().flatten(1)
    if kind == "class":
        if outputs.shape[1] == 1:
            sure = torch.sigmoid(outputs[:, 0])
            chosen, sure = (sure > 0.5).int(), torch.maximum(sure, 1 - sure)
        else:
            sure, chosen = torch.softmax(outputs, 1).max(1)
        return ["class", "probability"], [
            [number, f"{share:.6f}"] for number, share in zip(chosen.tolist(), sure.tolist())
        ]
    headings = [f"output_{index}" for index in range(outputs.shape[1])]
    return headings, [[f"{value:.6g}" for value in row] for row in outputs.tolist()]


def count_written(path):
    """Return how many predictions an earlier run of this job has written.

    An incomplete last line is removed. The file of another job is not changed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        return 0
    if os.environ.get("SLURM_RESTART_COUNT", "0") == "0":
        raise InputRefused(f"{path} is there already: choose another name, or move it away.")
    text = path.read_bytes()
    complete = text[: text.rfind(b"\n") + 1]
    if len(complete) < len(text):
        os.truncate(path, len(complete))
    return max(complete.count(b"\n") - 1, 0)


def plain(name):
    """Return a file's name on one line, with ? for unprintable characters."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)


class InferenceProgress:
    """Progress report: lines of output and a scalar with the speed."""

    def __init__(self, done, total, unit, logdir):
        self.done_before, self.done, self.total, self.unit = done, done, total, unit
        self.started_s = self.reported = time.perf_counter()
        self.writer = SummaryWriter(logdir)

    def add(self, count):
        self.done += count
        now = time.perf_counter()
        if now - self.reported >= REPORT_EVERY_S or self.done == self.total:
            self.reported = now
            speed = (self.done - self.done_before) / max(now - self.started_s, 1e-9)
            toy.say(f"{self.done} of {self.total} {self.unit}, {speed:.1f} {self.unit}/s")
            self.writer.add_scalar(f"{self.unit} per second", speed, self.done)
            self.writer.flush()


def run(args, device):
    """Run the model on all inputs that have no prediction yet."""
    model = load(args.model, device)
    sources = inputs_of(args.inputs, args.image_size)
    logdir = Path(os.environ.get("PORTAL_LOGDIR", "runs"))
    path = args.output or logdir / "predictions.csv"
    skip = count_written(path)
    progress = InferenceProgress(skip, sum(map(len, sources)), sources[0].unit, str(logdir))
    toy.say(f"{progress.total} {progress.unit} on {device}" + (f", {skip} done" if skip else ""))
    with path.open("a", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        for source in sources:
            for begin in range(min(skip, len(source)), len(source), args.batch_size):
                end = min(begin + args.batch_size, len(source))
                outputs = model(source.batch(begin, end).to(device))
                headings, rows = columns(outputs, args.keep)
                if file.tell() == 0:
                    lines.writerow(["input", *headings])
                names = map(plain, source.names(begin, end))
                lines.writerows([name, *row] for name, row in zip(names, rows))
                file.flush()
                progress.add(end - begin)
            skip = max(skip - len(source), 0)
    progress.writer.close()
    toy.say(f"The predictions are in {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--inputs", type=Path, help="without: the example training's points")
    parser.add_argument("--output", type=Path, help="a CSV file")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--keep", choices=["class", "outputs"], default="class")
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        with torch.inference_mode():
            run(args, device)
    except InputRefused as refused:
        raise SystemExit(str(refused)) from refused


if __name__ == "__main__":
    main()
