"""Cache and rate limit of Slurm's forecasts, in memory, per portal process."""

import time
from collections import deque
from datetime import datetime

from spawner.errors import Rejected
from spawner.slurm.model import Resources

KEEP_S = 30.0
PER_USER = 12  # requests to Slurm in a minute
PER_MINUTE = 30
FOR_CHOSEN = 5  # left for the form's present values and their alternatives
MAX_KEPT = 500


class Forecasts:
    """Forecasts of the last half minute, and the times of requests to Slurm in the last minute."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, Resources], tuple[float, datetime | Rejected | None]] = {}
        self._requests: deque[tuple[float, str]] = deque()

    def get(self, username: str, resources: Resources) -> tuple[datetime | Rejected | None] | None:
        answer = self._answers.get((username, resources))
        return (answer[1],) if answer and time.monotonic() - answer[0] < KEEP_S else None

    def put(self, username: str, resources: Resources, answer: datetime | Rejected | None) -> None:
        if len(self._answers) >= MAX_KEPT:
            self._answers.clear()
        self._answers[username, resources] = (time.monotonic(), answer)

    def wait_s(self, username: str, spare: int = 0) -> float:
        """Return the seconds until Slurm may be asked again for this user; 0 means now. `spare`
        questions are left for others.
        """
        for_user, in_total = PER_USER - spare, PER_MINUTE - spare
        now_s = time.monotonic()
        while self._requests and now_s - self._requests[0][0] >= 60:
            self._requests.popleft()
        own = [requested_s for requested_s, name in self._requests if name == username]
        waits = [0.0]
        if len(own) >= for_user:
            waits.append(own[-for_user] + 60 - now_s)
        if len(self._requests) >= in_total:
            waits.append(self._requests[-in_total][0] + 60 - now_s)
        return max(waits)

    def count(self, username: str) -> None:
        self._requests.append((time.monotonic(), username))
