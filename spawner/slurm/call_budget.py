"""Limit on the calls that Slurm receives."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pace:
    """Seconds between polls, and the maximum number of calls per minute.

    For jobs, `rest_…` applies normally, and `hurried_…` while a change of a job is expected
    (`Watcher.hurry`). Nodes, partitions and reservations have fixed pauses. `burst` is the number
    of calls that may follow each other without a pause.
    """

    rest_s: float = 4.0
    hurried_s: float = 2.0
    nodes_s: float = 15.0
    partitions_s: float = 60.0
    reservations_s: float = 60.0
    rest_per_minute: int = 30
    hurried_per_minute: int = 60
    burst: int = 5


class CallBudget:
    """Token bucket for calls: `burst` at once, refilled such that no minute exceeds the limit."""

    def __init__(self, burst: int, now_s: float) -> None:
        self._burst, self._calls, self._at = burst, float(burst), now_s

    def wait_s(self, per_minute: int, now_s: float) -> float:
        """Return the seconds until the next call may be made; 0 is now."""
        per_second = (per_minute - self._burst) / 60
        self._calls = min(self._burst, self._calls + (now_s - self._at) * per_second)
        self._at = now_s
        return max(0.0, (1 - self._calls) / per_second)

    def spend(self) -> None:
        """Count a call."""
        self._calls -= 1
