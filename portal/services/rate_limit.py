"""Rate limits in memory, per portal process: of two portals, only the leader answers requests."""

import time
from collections import deque
from dataclasses import dataclass

APP_CHANGES = 60
APP_CHANGES_PERIOD_S = 600.0


@dataclass(frozen=True, eq=False)
class CountedEvent:
    """One event, by its identity: several may happen at the same time."""

    at_s: float


class RateLimit:
    """At most `limit` events per key, such as a user, in any period of `period_s` seconds."""

    def __init__(self, limit: int, period_s: float) -> None:
        self._limit = limit
        self._period_s = period_s
        self._events: dict[str, deque[CountedEvent]] = {}

    def wait_s(self, key: str, spare: int = 0) -> float:
        """Return the seconds until the next event is allowed; 0 means now. `spare` events are left
        for others.
        """
        allowed, events = self._limit - spare, self._events.get(key, ())
        if len(events) < allowed:
            return 0.0
        return max(0.0, events[-allowed].at_s + self._period_s - time.monotonic())

    def count(self, key: str) -> CountedEvent:
        """Count an event now, and return it."""
        event = CountedEvent(time.monotonic())
        over = [
            one
            for one, events in self._events.items()
            if event.at_s - events[-1].at_s >= self._period_s
        ]
        for one in over:
            del self._events[one]
        self._events.setdefault(key, deque(maxlen=self._limit)).append(event)
        return event

    def take_back(self, key: str, event: CountedEvent) -> None:
        """Remove an event, if it still counts: what was counted did not happen."""
        events = self._events.get(key)
        if events and event in events:
            events.remove(event)
            if not events:
                del self._events[key]


def app_change_limit() -> RateLimit:
    """Return the limit of recorded changes of apps by one user, so that the audit log stays usable.

    Starts, stops and restarts are counted separately: after many starts, a user can stop an app.
    """
    return RateLimit(APP_CHANGES, APP_CHANGES_PERIOD_S)
