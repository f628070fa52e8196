"""Detection of idle sessions: whether nothing runs, and since when.

Pure.

Only known values count: a session without readable CPU time is never idle. Unreadable GPUs do not
prevent it, because work on a GPU takes CPU time too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spawner.node.usage.meter import Use

BUSY_CPUS = 0.1
"""Above JupyterLab's own CPU use while a user only views it; below that of any computation,
however many CPUs the session has."""
LONGEST_GAP_S = 60.0
"""After a longer gap between measurements the state is unknown: the job or node was suspended."""
SHORT_S = 60.0


@dataclass(frozen=True)
class ActivitySnapshot:
    """Snapshot of the activity of the session's kernels and apps.

    `busy`: a kernel is busy, or an app is in use.

    `last_activities` are pairs of a kernel's id and the time of its last activity. They change with
    any activity, even if it ended before the snapshot.
    """

    busy: bool = False
    last_activities: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, listed: list[dict[str, Any]]) -> ActivitySnapshot:
        """Build from Jupyter Server's list of kernels."""
        return cls(
            busy=any(kernel.get("execution_state") == "busy" for kernel in listed),
            last_activities=frozenset((str(k["id"]), str(k.get("last_activity"))) for k in listed),
        )


def nothing_runs(use: Use, kernels: ActivitySnapshot, before: ActivitySnapshot) -> bool:
    """Return whether nothing ran between two snapshots of the kernels; `use` covers that time."""
    if kernels.busy or kernels.last_activities != before.last_activities:
        return False
    if use.cpus is None or use.cpus >= BUSY_CPUS:
        return False
    return not any(gpu.use_percent for gpu in use.gpus or ())


@dataclass
class IdleTime:
    """Idle time of the session.

    `kept` means that the owner wants to keep the session although it is idle, until it was busy
    again. Times are by any monotonic clock.
    """

    kept: bool = False
    _since: float | None = None
    _looked_at: float = float("-inf")
    _kernels: ActivitySnapshot = ActivitySnapshot()

    def add_measurement(self, measured_at: float, use: Use, kernels: ActivitySnapshot) -> bool:
        """Add a measurement; return whether an idle time that was not short has just ended."""
        quiet = (
            nothing_runs(use, kernels, self._kernels)
            and measured_at - self._looked_at <= LONGEST_GAP_S
        )
        before, last = self._since, self._looked_at
        self._looked_at, self._kernels = measured_at, kernels
        if quiet:
            self._since = last if before is None else before
            return False
        self._since, self.kept = None, False
        return before is not None and measured_at - before >= SHORT_S

    def lasts_s(self, now: float) -> int | None:
        """Return the seconds since the session became idle; None if it is busy or unknown."""
        return None if self._since is None else max(0, round(now - self._since))
