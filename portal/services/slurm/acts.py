"""What the reconcile loop has begun: each act runs beside it, one at a time for each thing.

A key is a word and the id of the row that it is about: "stop 5b1c…".
"""

import asyncio
from collections.abc import Awaitable, Callable, Container
from datetime import datetime, timedelta

import structlog
from prometheus_client import Counter

from portal.errors import PortalError
from portal.hub import HubError
from portal.logging import begin_request
from spawner.errors import SpawnerError
from spawner.tasks import end_all

log = structlog.get_logger(__name__)

AGAIN = timedelta(seconds=3)  # between two tries of the same act
Act = Callable[[], Awaitable[None]]


class Acts:
    """Those under way, and when each was tried last; `again` is how long one waits between two
    tries. `ended` is called after each; `failures` counts those that didn't come off, by their
    word."""

    def __init__(
        self, ended: Callable[[], None], failures: Counter, again: timedelta = AGAIN
    ) -> None:
        self._ended, self._failures, self._again = ended, failures, again
        self._running: dict[str, asyncio.Task[None]] = {}
        self._tried: dict[str, datetime] = {}

    def start(self, key: str, now: datetime, act: Act) -> None:
        """Start an act unless it is under way or was tried a moment ago."""
        if key in self._running or (key in self._tried and now - self._tried[key] < self._again):
            return
        self._tried[key] = now
        self._failures_of(key).inc(0)  # so that the first is seen as one more
        task = asyncio.create_task(self._guarded(key, act))
        self._running[key] = task
        task.add_done_callback(lambda task: self._is_over(key, task))

    def under_way(self, word: str) -> int:
        """How many of this sort run now."""
        return sum(key.startswith(f"{word} ") for key in self._running)

    def forget(self, known: Container[str], count: int) -> None:
        """Keep the memory of tries as small as what is `known`, `count` rows."""
        if len(self._tried) > 10 * (count + 10):
            kept = {key: at for key, at in self._tried.items() if key.split()[-1] in known}
            self._tried = kept

    async def close(self) -> None:
        """End those under way; each is repeated after the next start."""
        await end_all(self._running.values())

    async def _guarded(self, key: str, act: Act) -> None:
        """Run an act; what the world refuses is logged and tried again at a later round. It has a
        request's name: the hub's and the launchers' lines about it bear the same."""
        begin_request()
        try:
            await act()
        except (SpawnerError, HubError, PortalError) as error:
            log.warning("will try again", act=key, error=str(error)[:300])
            self._failures_of(key).inc()
        self._ended()

    def _is_over(self, key: str, task: asyncio.Task[None]) -> None:
        """Whatever else an act ends by is a fault of ours; the thing is tried again as well."""
        self._running.pop(key, None)
        fault = None if task.cancelled() else task.exception()
        if fault is not None:
            log.error("an act ended by a fault", act=key, exc_info=fault)
            self._failures_of(key).inc()
            self._ended()

    def _failures_of(self, key: str) -> Counter:
        return self._failures.labels(key.partition(" ")[0])
