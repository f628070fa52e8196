"""Sums over a job's processes, for nodes whose cgroups do not provide a job's usage.

Slurm's own accounting does the same there. Memory shared by several processes counts for each of
them; usage between a process's last measurement and its end is missed. Linux only, standard library
only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MAX_PROCESSES = 20_000
"""Maximum number of a node's processes to read."""
STAT_PPID, STAT_UTIME, STAT_STIME, STAT_START, STAT_RSS = 1, 11, 12, 19, 21
"""Positions in /proc/PID/stat (proc_pid_stat(5)) after the name, counted from zero."""
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")

Key = tuple[int, int]
"""Process id and start time of a process, because ids are reused."""


@dataclass(frozen=True)
class _Process:
    key: Key
    parent: int
    ticks: int
    rss_bytes: int


@dataclass(frozen=True)
class Sum:
    """Current memory of a job's processes, and the CPU time that they have used in total."""

    memory_bytes: int
    cpu_s: float


@dataclass
class Processes:
    """Processes of one job of this user, measured repeatedly."""

    job_id: str
    proc: Path = Path("/proc")
    uid: int = field(default_factory=os.getuid)
    _own: set[Key] = field(default_factory=set)
    _ticks: dict[Key, int] = field(default_factory=dict)
    _ended_ticks: int = 0

    def measure(self) -> Sum | None:
        """Measure; None if /proc does not show even this process."""
        processes = list(self._scan())
        own = self._select_own(processes)
        self._own = {process.key for process in own}
        now = {process.key: process.ticks for process in own}
        self._ended_ticks += sum(ticks for key, ticks in self._ticks.items() if key not in now)
        self._ticks = now
        if not own:
            return None
        used = sum(now.values()) + self._ended_ticks
        return Sum(sum(process.rss_bytes for process in own), used / TICKS)

    def _select_own(self, processes: list[_Process]) -> list[_Process]:
        """Return the processes that belong to the job, by their environment or their parent.

        The parent counts because some programs start with an empty environment. A process of the
        job stays one after its parent has ended. Any other may become one: until slurmstepd's child
        executes the task's program, it has slurmstepd's environment.
        """
        own: list[_Process] = []
        pids: set[int] = set()
        for process in processes:
            pid = process.key[0]
            if process.key in self._own or process.parent in pids or self._has_job_id(pid):
                own.append(process)
                pids.add(pid)
        return own

    def _has_job_id(self, pid: int) -> bool:
        try:
            environ = (self.proc / str(pid) / "environ").read_bytes()
        except OSError:
            return False
        return f"SLURM_JOB_ID={self.job_id}".encode() in environ.split(b"\0")

    def _scan(self) -> Iterator[_Process]:
        """Yield this user's processes."""
        with os.scandir(self.proc) as entries:
            pids = [int(entry.name) for entry in entries if entry.name.isdigit()]
        for pid in sorted(pids)[:MAX_PROCESSES]:
            folder = self.proc / str(pid)
            try:
                if folder.stat().st_uid == self.uid:
                    yield _parse_stat(pid, (folder / "stat").read_text(errors="replace"))
            except (OSError, ValueError, IndexError):
                continue  # it has ended since the scan


def _parse_stat(pid: int, text: str) -> _Process:
    """Parse /proc/PID/stat; the name may contain parentheses, so fields follow the last one."""
    words = text.rpartition(")")[2].split()
    return _Process(
        key=(pid, int(words[STAT_START])),
        parent=int(words[STAT_PPID]),
        ticks=int(words[STAT_UTIME]) + int(words[STAT_STIME]),
        rss_bytes=int(words[STAT_RSS]) * PAGE,
    )
