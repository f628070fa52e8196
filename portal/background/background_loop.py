"""Background loops: steps that are repeated until the portal stops or is no longer the leader."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta

import structlog

from portal.background.notifier import Notifier
from portal.errors import PortalError
from portal.hub.client import HubError
from portal.metrics import Metrics
from spawner.errors import SpawnerError

log = structlog.get_logger(__name__)

FIRST_RETRY_S = 1.0
LONGEST_RETRY_S = 60.0
MAX_DOUBLINGS = 10
EXPECTED = (SpawnerError, HubError, PortalError)
Step = Callable[[], Awaitable[object]]


@dataclass(eq=False)
class BackgroundLoop:
    """One step, repeated every `interval_s` seconds, counted from the end of the last step.

    A signal for one of the `topics` ends the pause early, but not within the first `rest_s`
    seconds. A loop that `waits_first` begins with a pause. A step may return a timedelta, the pause
    until the next step; other results are ignored.

    After a failure the pause is `retry_s`, doubled at each further failure, up to `interval_s` or
    LONGEST_RETRY_S.

    A step may also run until it is cancelled: a service with loops of its own, which is started
    again after a failure.
    """

    name: str
    step: Step
    interval_s: float
    topics: tuple[str, ...] = ()
    rest_s: float = 0.0
    retry_s: float = FIRST_RETRY_S
    waits_first: bool = False
    signalled: bool = field(default=False, init=False)
    """True if a signal, not the interval, has started the current step."""
    _failures: int = field(default=0, init=False)
    _error: BaseException | None = field(default=None, init=False)

    async def run(self, notifier: Notifier, metrics: Metrics) -> None:
        """Repeat the step until cancelled."""
        metrics.background_failures.labels(self.name)  # so that the first failure is an increase
        async with notifier.listen(*self.topics) as listener:
            if self.waits_first:
                await listener.sleep(self.interval_s)
            while True:
                pause_s = await self._run_step(metrics)
                rest_s = min(pause_s, max(self.rest_s, FIRST_RETRY_S if self._failures else 0))
                await asyncio.sleep(rest_s)
                self.signalled = await listener.sleep(pause_s - rest_s)

    async def _run_step(self, metrics: Metrics) -> float:
        """Run one step; return the pause after it, in seconds.

        `gather` returns an error as a value. So a CancelledError from something that the step
        awaits is a failure, while the cancellation of the loop itself is raised.
        """
        began_s = time.monotonic()
        (result,) = await asyncio.gather(self.step(), return_exceptions=True)
        took_s = time.monotonic() - began_s
        if isinstance(result, BaseException):
            metrics.background_failures.labels(self.name).inc()
            return self._note_failure(result, took_s)
        metrics.loop_seconds.labels(self.name).observe(took_s)
        metrics.loop_succeeded_at.labels(self.name).set_to_current_time()
        if self._failures:
            log.info("background loop recovered", loop=self.name, failures=self._failures)
        self._failures, self._error = 0, None
        return result.total_seconds() if isinstance(result, timedelta) else self.interval_s

    def _note_failure(self, error: BaseException, took_s: float) -> float:
        """Log an error unless the last one was of the same kind; return the pause before the next
        attempt.
        """
        # a step that runs until cancelled had been working before it failed
        if took_s > LONGEST_RETRY_S:
            self._failures, self._error = 0, None
        if type(error) is not type(self._error):
            log_failure("background loop failed, will retry", error, loop=self.name)
        self._failures, self._error = self._failures + 1, error
        longest_s = max(self.retry_s, min(self.interval_s, LONGEST_RETRY_S))
        return min(longest_s, self.retry_s * 2.0 ** min(self._failures - 1, MAX_DOUBLINGS))


def log_failure(event: str, error: BaseException, **details: object) -> None:
    """Log that background work failed: an expected error as a warning with its cause, any other,
    which is a bug, with its traceback.
    """
    if isinstance(error, EXPECTED):
        cause = getattr(error, "cause", "") or getattr(error, "stderr", "")
        log.warning(event, error=str(error)[:300], cause=str(cause)[:300], **details)
    else:
        log.error(event, exc_info=error, **details)
