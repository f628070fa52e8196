"""Sampler of a batch job's usage on one node, which writes a file into the job's folder.

The job's script starts it in the background on its first node, and as a step on the others; it runs
as the user and inside the job. It must not delay the job, make it fail, or outlive it: it ends with
the script or step, ignores a full disk, and rests so long after each measurement that it takes less
than one percent of a CPU. The format is in spawner/usage_file.py. Standard library only.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from spawner.node.usage.meter import Meter
from spawner.node.usage.time_series import Series
from spawner.usage_file import (
    FOLDER,
    MAX_POINTS,
    Header,
    Point,
    encode_header,
    encode_point,
    file_name,
)

log = logging.getLogger("portal")

EVERY_S = 10.0
FIRST_S = 2.0
"""Interval in the job's first minute, so that a short job has a few points."""
FIRST_MINUTE_S = 60.0
REST_FACTOR = 100.0
"""The rest after a measurement is at least this multiple of the CPU time that it took."""
MAX_REST_S = 600.0
WATCH_S = 0.5
"""Interval at which the end of the job is noticed where Slurm does not end its processes."""
AFTER_FAILURE_S = 60.0
"""Pause after a failed write, for example because of a full disk."""
IGNORED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
"""Signals that jobs get for their own purposes; SIGTERM ends the sampler at once."""


@dataclass
class UsageFile:
    """File of a series: new points are appended; once pairs of points are merged, the whole file is
    replaced.
    """

    path: Path
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)
    _header: Header | None = None
    _written: int = 0
    _paused_until: float = float("-inf")

    def write(self, header: Header, points: list[Point]) -> None:
        """Write what has changed since the last call; a failure is tried again after a pause."""
        if self.clock() < self._paused_until:
            return
        try:
            if header == self._header and len(points) >= self._written:
                self._append(points[self._written :])
            else:
                self._replace(header, points)
        except OSError as error:
            log.debug("usage can't be written: %s", error)
            self._header, self._paused_until = None, self.clock() + AFTER_FAILURE_S
        else:
            self._header, self._written = header, len(points)

    def _append(self, points: list[Point]) -> None:
        if not points:
            return
        # Without O_CREAT: a file that was deleted has to be replaced, with its header.
        with os.fdopen(os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC), "w") as file:
            file.write("".join(map(encode_point, points)))

    def _replace(self, header: Header, points: list[Point]) -> None:
        new = self.path.with_suffix(".new")
        try:
            new.write_text(encode_header(header) + "".join(map(encode_point, points)))
            new.replace(self.path)
        except OSError:
            with contextlib.suppress(OSError):
                new.unlink(missing_ok=True)
            raise


def watch_process(pid: int) -> Callable[[], bool]:
    """Return a function that returns whether this process, which has the same user, still runs."""
    started = _start_of(pid)
    return lambda: started is not None and _start_of(pid) == started


def _start_of(pid: int) -> str | None:
    """Return a process's start time from proc_pid_stat(5), because ids are reused."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


def watch_parent() -> Callable[[], bool]:
    """Return a function that returns whether the parent of this process still runs."""
    parent = os.getppid()
    return lambda: os.getppid() == parent


def rest_s(elapsed_s: float, cost_s: float) -> float:
    """Return the seconds until the next measurement.

    `elapsed_s` is the time since the start, `cost_s` the CPU time of the last measurement.
    """
    every_s = FIRST_S if elapsed_s < FIRST_MINUTE_S else EVERY_S
    return min(MAX_REST_S, max(every_s, REST_FACTOR * cost_s))


def cpu_time_s() -> float:
    """Return the CPU time of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def sample(file: UsageFile, meter: Meter, runs: Callable[[], bool], loop: asyncio.Runner) -> None:
    """Measure and write until `runs` returns False."""
    series, longest_s = Series(EVERY_S, MAX_POINTS), EVERY_S
    wall, began = time.time(), time.monotonic()
    while runs():
        cost_s = cpu_time_s()
        now = time.monotonic()
        # The wall clock may be set while the job runs; points must ascend.
        series.add(wall + now - began, loop.run(meter.use()))
        header = series.header
        file.write(replace(header, step_s=max(header.step_s, longest_s)), series.complete_points)
        pause_s = rest_s(now - began, cpu_time_s() - cost_s)
        longest_s = max(longest_s, round(pause_s))
        _wait(now + pause_s, runs)


def _wait(until: float, runs: Callable[[], bool]) -> None:
    while (left := until - time.monotonic()) > 0 and runs():
        time.sleep(min(WATCH_S, left))


def usage_path(environ: Mapping[str, str]) -> Path:
    """Return the path of this node's file, and create its folder. Raises KeyError, ValueError or
    OSError outside a job.

    PORTAL_TASK is the job's index in its array, 0 without one.
    """
    node = environ["SLURMD_NODENAME"]
    restart = environ.get("SLURM_RESTART_COUNT", "0")
    folder = Path(environ["PORTAL_JOB_DIR"]) / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / file_name(environ["PORTAL_TASK"], restart, node)


def main(arguments: list[str]) -> None:
    """Run until the process with the given id ends; by default, until the parent does."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    os.umask(0o077)
    runs = watch_process(int(arguments[0])) if arguments else watch_parent()
    with asyncio.Runner() as loop:
        sample(UsageFile(usage_path(os.environ)), Meter(measure_every_s=0.0), runs, loop)


if __name__ == "__main__":
    main(sys.argv[1:])
