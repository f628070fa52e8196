"""What Slurm forecast a moment ago, and how often it was asked: in memory, for one portal."""

import time
from collections import deque
from datetime import datetime

from spawner.errors import Rejected
from spawner.model import Resources

KEEP_S = 30.0
PER_USER = 12  # questions to Slurm in a minute
PER_MINUTE = 30
MOST_KEPT = 500


class Forecasts:
    """The answers of the last half minute, and how often Slurm was asked in the last one."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, Resources], tuple[float, datetime | Rejected | None]] = {}
        self._asked: deque[tuple[float, str]] = deque()

    def kept(self, username: str, resources: Resources) -> tuple[datetime | Rejected | None] | None:
        found = self._kept.get((username, resources))
        return (found[1],) if found and time.monotonic() - found[0] < KEEP_S else None

    def keep(self, username: str, resources: Resources, answer: datetime | Rejected | None) -> None:
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[username, resources] = (time.monotonic(), answer)

    def wait_s(self, username: str) -> float:
        """How long until Slurm may be asked once more for this user; 0: it may be now."""
        now_s = time.monotonic()
        while self._asked and now_s - self._asked[0][0] >= 60:
            self._asked.popleft()
        own = [at for at, name in self._asked if name == username]
        waits = [0.0]
        if len(own) >= PER_USER:
            waits.append(own[-PER_USER] + 60 - now_s)
        if len(self._asked) >= PER_MINUTE:
            waits.append(self._asked[-PER_MINUTE][0] + 60 - now_s)
        return max(waits)

    def count(self, username: str) -> None:
        self._asked.append((time.monotonic(), username))
