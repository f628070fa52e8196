"""What the benchmarks share: a table on standard output, the same figures in TensorBoard and in
results.json in the log folder, with what they were measured on."""

import datetime
import json
import os
import platform
import sys
from pathlib import Path


class Report:
    """Rows of figures under fixed headings; the first columns say what was measured."""

    def __init__(self, title, headings, quiet=False):
        self.title, self.headings, self.quiet = title, headings, quiet
        self.rows = []
        self.widths = [max(len(heading), 9) for heading in headings]
        if not quiet:
            self._say(title)
            self._say(self._line(headings))

    def row(self, *values):
        self.rows.append(values)
        if not self.quiet:
            self._say(self._line([_shown(value) for value in values]))

    def close(self, kept=None, **about):
        """Keep the figures. `about` is what they were measured with; `kept` (headings and rows)
        takes the place of the table that was printed."""
        if self.quiet:
            return
        if kept is not None:
            self.headings, self.rows = kept
        folder = Path(os.environ.get("PORTAL_LOGDIR", "runs"))
        folder.mkdir(parents=True, exist_ok=True)
        found = {
            "title": self.title,
            "at": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "node": platform.node(),
            "job_id": os.environ.get("SLURM_JOB_ID"),
            "about": about,
            "headings": self.headings,
            "rows": self.rows,
        }
        (folder / "results.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        self._to_tensorboard(folder)

    def _to_tensorboard(self, folder):
        from tensorboardX import SummaryWriter

        with SummaryWriter(str(folder)) as log:
            for step, values in enumerate(self.rows):
                what = "/".join(_plain(value) for value in values if isinstance(value, (str, int)))
                for heading, value in zip(self.headings, values):
                    if isinstance(value, float):
                        log.add_scalar("{}/{}".format(_plain(heading), what), value, step)

    @staticmethod
    def _say(line):
        """A single write: no other process's output can come before the line's end."""
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    def _line(self, words):
        return "  ".join(str(word).rjust(width) for word, width in zip(words, self.widths))


def _plain(value):
    return str(value).replace(" ", "_").replace("/", "_per_")


def _shown(value):
    if isinstance(value, float):
        return "{:.1f}".format(value) if abs(value) >= 10 else "{:.3f}".format(value)
    return "-" if value is None else str(value)
