"""Cache and rate limit of Slurm's forecasts, in memory, per portal process."""

import time
from datetime import datetime

from portal.services.rate_limit import RateLimit
from spawner.errors import Rejected
from spawner.slurm.model import Resources

KEEP_S = 30.0
PERIOD_S = 60.0
PER_USER = 12  # requests to Slurm in a period
IN_TOTAL = 30  # of all users
ALL = ""  # the key of all users' requests together
RESERVED_FOR_FORM = 5
"""Requests in a period that forecasts of several choices leave for that of the form's values."""
MAX_KEPT = 500


class Forecasts:
    """Forecasts of the last KEEP_S seconds, and the rate limits of requests to Slurm."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, Resources], tuple[float, datetime | Rejected | None]] = {}
        self._of_user = RateLimit(PER_USER, PERIOD_S)
        self._in_total = RateLimit(IN_TOTAL, PERIOD_S)

    def get(self, username: str, resources: Resources) -> tuple[datetime | Rejected | None] | None:
        """Return the cached answer of Slurm as the only item of a tuple, None if there is none. An
        answer may itself be None: Slurm can't forecast the start.
        """
        answer = self._answers.get((username, resources))
        return (answer[1],) if answer and time.monotonic() - answer[0] < KEEP_S else None

    def put(self, username: str, resources: Resources, answer: datetime | Rejected | None) -> None:
        if len(self._answers) >= MAX_KEPT:
            self._answers.clear()
        self._answers[username, resources] = (time.monotonic(), answer)

    def wait_s(self, username: str, spare: int = 0) -> float:
        """Return the seconds until the next request to Slurm for this user is allowed, such that
        `spare` further ones are left; 0 means now.
        """
        return max(self._of_user.wait_s(username, spare), self._in_total.wait_s(ALL, spare))

    def count(self, username: str) -> None:
        """Count a request to Slurm for this user."""
        self._of_user.count(username)
        self._in_total.count(ALL)
