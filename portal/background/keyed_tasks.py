"""Tasks started by a background loop: each runs concurrently with the loop, one at a time per key.

A key is an action and the ID of the row that it is about: "stop 5b1c…".
"""

import asyncio
from collections.abc import Awaitable, Callable, Container
from datetime import datetime, timedelta

from prometheus_client import Counter

from portal.background.background_loop import log_failure
from portal.logging import begin_request
from spawner.tasks import end_all

MIN_INTERVAL = timedelta(seconds=3)  # between two attempts of the same task


class KeyedTasks:
    """Running tasks and the time of each key's last attempt.

    `interval` is the minimum time between two attempts, `retry_interval` that after a failure.
    `ended` is called after each task; `failures` counts failed tasks by action.
    """

    def __init__(
        self,
        ended: Callable[[], None],
        failures: Counter,
        interval: timedelta = MIN_INTERVAL,
        retry_interval: timedelta | None = None,
    ) -> None:
        self._ended, self._failures = ended, failures
        self._interval, self._retry_interval = interval, retry_interval or interval
        self._running: dict[str, asyncio.Task[None]] = {}
        self._tried: dict[str, datetime] = {}
        self._failed: set[str] = set()  # keys whose last attempt failed

    def start(self, key: str, now: datetime, run: Callable[[], Awaitable[None]]) -> None:
        """Start a task unless one with this key is running or was attempted recently."""
        pause = self._retry_interval if key in self._failed else self._interval
        if key in self._running or (key in self._tried and now - self._tried[key] < pause):
            return
        self._tried[key] = now
        self._get_failure_counter(key).inc(0)  # so that the first failure is seen as an increase
        task = asyncio.create_task(self._run_guarded(key, run))
        self._running[key] = task
        task.add_done_callback(lambda task: self._on_done(key, task))

    def count_running(self, action: str) -> int:
        """Return the number of running tasks of this action."""
        return sum(key.startswith(f"{action} ") for key in self._running)

    def is_running(self, key: str) -> bool:
        return key in self._running

    def drop_old_attempts(self, *, keep: Container[str], row_count: int) -> None:
        """Drop the attempts for all rows but those with an ID in `keep`, once there are many more
        attempts than the `row_count` rows.
        """
        if len(self._tried) > 10 * (row_count + 10):
            recent = {key: tried for key, tried in self._tried.items() if key.split()[-1] in keep}
            self._tried = recent
            self._failed &= recent.keys()

    async def close(self) -> None:
        """End the running tasks; each is repeated after the next start."""
        await end_all(self._running.values())

    async def _run_guarded(self, key: str, run: Callable[[], Awaitable[None]]) -> None:
        """Run a task; an error is logged, and the task is attempted again in a later round. It gets
        a request ID of its own, so that the log lines of the hub and the launchers about it have
        the same ID.
        """
        begin_request()
        self._failed.discard(key)
        (result,) = await asyncio.gather(run(), return_exceptions=True)
        if isinstance(result, BaseException):
            log_failure("task failed, will retry", result, task=key)
            self._get_failure_counter(key).inc()
            self._failed.add(key)

    def _on_done(self, key: str, task: asyncio.Task[None]) -> None:
        self._running.pop(key, None)
        if not task.cancelled():
            self._ended()

    def _get_failure_counter(self, key: str) -> Counter:
        return self._failures.labels(key.partition(" ")[0])
