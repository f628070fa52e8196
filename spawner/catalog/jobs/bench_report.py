"""Report shared by the benchmarks.

It prints a table, and stores the same figures in TensorBoard's format and in results.json in the
log folder, with the circumstances of the measurement.
"""

import datetime
import json
import os
import platform
import sys
from pathlib import Path


class Report:
    """Rows of figures under fixed headings; the first columns identify the measurement."""

    def __init__(self, title, headings, quiet=False):
        self.title, self.headings, self.quiet = title, headings, quiet
        self.rows = []
        self.widths = [max(len(heading), 9) for heading in headings]
        if not quiet:
            self._print(title)
            self._print(self._join(headings))

    def row(self, *values):
        self.rows.append(values)
        if not self.quiet:
            self._print(self._join([_format(value) for value in values]))

    def close(self, kept=None, **about):
        """Store the figures.

        `about` are the circumstances of the measurement; `kept` (headings and rows) replaces the
        printed table.
        """
        if self.quiet:
            return
        if kept is not None:
            self.headings, self.rows = kept
        folder = Path(os.environ.get("PORTAL_LOGDIR", "runs"))
        folder.mkdir(parents=True, exist_ok=True)
        document = {
            "title": self.title,
            "at": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "node": platform.node(),
            "job_id": os.environ.get("SLURM_JOB_ID"),
            "about": about,
            "headings": self.headings,
            "rows": self.rows,
        }
        (folder / "results.json").write_text(
            json.dumps(document, indent=1) + "\n", encoding="utf-8"
        )
        self._to_tensorboard(folder)

    def _to_tensorboard(self, folder):
        from tensorboardX import SummaryWriter

        with SummaryWriter(str(folder)) as log:
            for step, values in enumerate(self.rows):
                label = "/".join(
                    _to_tag(value) for value in values if isinstance(value, (str, int))
                )
                for heading, value in zip(self.headings, values):
                    if isinstance(value, float):
                        log.add_scalar("{}/{}".format(_to_tag(heading), label), value, step)

    @staticmethod
    def _print(line):
        """Print with a single write, so that lines of several processes do not mix."""
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    def _join(self, cells):
        return "  ".join(str(cell).rjust(width) for cell, width in zip(cells, self.widths))


def _to_tag(value):
    return str(value).replace(" ", "_").replace("/", "_per_")


def _format(value):
    if isinstance(value, float):
        return "{:.1f}".format(value) if abs(value) >= 10 else "{:.3f}".format(value)
    return "-" if value is None else str(value)
