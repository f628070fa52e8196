"""A job's processes, added up: for nodes where no cgroup tells what a job uses.

Slurm's own accounting does the same there. Memory that several processes share counts for each of
them; what a process used after it was last looked at, before it ended, is missed. Linux only,
standard library only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MOST = 20_000
"""So many processes of a node are looked at."""
STAT_PPID, STAT_UTIME, STAT_STIME, STAT_START, STAT_RSS = 1, 11, 12, 19, 21
"""Where they stand in /proc/PID/stat (proc_pid_stat(5)) behind the name, counted from nought."""
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")

Key = tuple[int, int]
"""A process: its id, and when it began, for ids are used again."""


@dataclass(frozen=True)
class _Seen:
    key: Key
    parent: int
    ticks: int
    rss_bytes: int


@dataclass(frozen=True)
class Sum:
    """What a job's processes hold now, and the CPU time that they have taken in all."""

    memory_bytes: int
    cpu_s: float


@dataclass
class Processes:
    """The processes of one job of this user's, looked at again and again."""

    job_id: str
    proc: Path = Path("/proc")
    uid: int = field(default_factory=os.getuid)
    _ours: dict[Key, bool] = field(default_factory=dict)
    _ticks: dict[Key, int] = field(default_factory=dict)
    _ended_ticks: int = 0

    def look(self) -> Sum | None:
        """None where /proc doesn't show even this process."""
        seen = list(self._all())
        self._ours = self._sorted_out(seen)
        mine = [one for one in seen if self._ours[one.key]]
        now = {one.key: one.ticks for one in mine}
        self._ended_ticks += sum(ticks for key, ticks in self._ticks.items() if key not in now)
        self._ticks = now
        if not mine:
            return None
        used = sum(now.values()) + self._ended_ticks
        return Sum(sum(one.rss_bytes for one in mine), used / TICKS)

    def _sorted_out(self, seen: list[_Seen]) -> dict[Key, bool]:
        """Which are the job's: by their environment, or because whoever started them is, for some
        programs begin with an empty one. It stays so when that one has ended."""
        found: dict[Key, bool] = {}
        by_pid: dict[int, bool] = {}
        for one in seen:
            pid = one.key[0]
            known = self._ours.get(one.key)
            if known is None:
                known = by_pid.get(one.parent, False) or self._named(pid)
            found[one.key] = by_pid[pid] = known
        return found

    def _named(self, pid: int) -> bool:
        try:
            environ = (self.proc / str(pid) / "environ").read_bytes()
        except OSError:
            return False
        return f"SLURM_JOB_ID={self.job_id}".encode() in environ.split(b"\0")

    def _all(self) -> Iterator[_Seen]:
        """This user's processes."""
        with os.scandir(self.proc) as entries:
            pids = [int(entry.name) for entry in entries if entry.name.isdigit()]
        for pid in sorted(pids)[:MOST]:
            folder = self.proc / str(pid)
            try:
                if folder.stat().st_uid == self.uid:
                    yield _read(pid, (folder / "stat").read_text(errors="replace"))
            except (OSError, ValueError, IndexError):
                continue  # it has ended meanwhile


def _read(pid: int, text: str) -> _Seen:
    """A process's name may hold anything, brackets too: the fields begin behind the last one."""
    words = text.rpartition(")")[2].split()
    return _Seen(
        key=(pid, int(words[STAT_START])),
        parent=int(words[STAT_PPID]),
        ticks=int(words[STAT_UTIME]) + int(words[STAT_STIME]),
        rss_bytes=int(words[STAT_RSS]) * PAGE,
    )
