"""Rate limits in memory, per portal process: of two portals, only the leader answers requests."""

import time
from collections import deque

APP_CHANGES = 60
APP_CHANGES_PERIOD_S = 600.0


class RateLimit:
    """At most `limit` events per key, such as a user, in any period of `period_s` seconds."""

    def __init__(self, limit: int, period_s: float) -> None:
        self._limit = limit
        self._period_s = period_s
        self._times: dict[str, deque[float]] = {}

    def wait_s(self, key: str, spare: int = 0) -> float:
        """Return the seconds until the next event is allowed; 0 means now. `spare` events are left
        for others.
        """
        allowed, times = self._limit - spare, self._times.get(key, ())
        if len(times) < allowed:
            return 0.0
        return max(0.0, times[-allowed] + self._period_s - time.monotonic())

    def count(self, key: str) -> None:
        """Count an event now."""
        now = time.monotonic()
        over = [one for one, times in self._times.items() if now - times[-1] >= self._period_s]
        for one in over:
            del self._times[one]
        self._times.setdefault(key, deque(maxlen=self._limit)).append(now)

    def take_back(self, key: str) -> None:
        """Remove the last event, which turned out not to be one."""
        times = self._times.get(key)
        if times:
            times.pop()
            if not times:
                del self._times[key]


def app_change_limit() -> RateLimit:
    """Return the limit of recorded changes of apps by one user, so that the audit log stays usable.

    Starts, stops and restarts are counted separately: after many starts, a user can stop an app.
    """
    return RateLimit(APP_CHANGES, APP_CHANGES_PERIOD_S)
