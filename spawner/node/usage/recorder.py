"""Recorder of the session's usage, which reports to the portal periodically.

Each report contains the whole series, so that neither a restart of the portal nor a lost request
leaves a gap. The portal requests the time of the next report: sooner while a user views it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from spawner.node.jupyter.idle import ActivitySnapshot
from spawner.node.jupyter.session_sources import SessionSources
from spawner.node.portal_client import PortalRequestError
from spawner.node.usage.meter import MEASURE_EVERY_S, Use
from spawner.node.usage.time_series import Series

log = logging.getLogger("portal")

FIRST_S = 2.0
"""Delay until the start is over, which should not be slowed down."""
REPORT_EVERY_S = 30.0
LEAST_S, MAX_S = MEASURE_EVERY_S, 600.0
NEARLY_FULL = 0.8
"""Above this share of its memory a job may end at any time, so report each measurement at once."""
ENDED_STATUSES = frozenset({401, 404, 410, 422})
"""The portal wants no more reports: the session ends, or the portal has another version."""


@dataclass
class Recorder:
    """Recording task in the server's event loop, until cancelled or no longer wanted.

    `snapshot_activity` returns the current activity of the session's kernels and apps.
    """

    sources: SessionSources
    snapshot_activity: Callable[[], ActivitySnapshot]
    sleep: Callable[[float], Awaitable[object]] = field(default=asyncio.sleep, repr=False)
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)

    async def run(self) -> None:
        """Measure every few seconds, and report when due.

        Report at once when an idle session becomes busy, so that users do not see it as idle any
        longer.
        """
        await self.sleep(FIRST_S)
        series, report_due = Series(MEASURE_EVERY_S), self.clock() + LEAST_S
        while True:
            use = await self.sources.meter.use()
            killed = series.add(self.clock(), use)
            self.sources.recent.add(self.clock(), use)
            activity = self.snapshot_activity()
            became_busy = self.sources.idle.add_measurement(self.clock(), use, activity)
            if self.clock() >= report_due or nearly_full(use) or killed or became_busy:
                wait_s = await self.report(series)
                if wait_s is None:
                    return
                report_due = self.clock() + wait_s - MEASURE_EVERY_S / 2
            await self.sleep(MEASURE_EVERY_S)

    async def report(self, series: Series) -> float | None:
        """Report, and return the seconds until the next report; None to stop."""
        now = self.clock()
        report = {**series.to_report(now), "idle_s": self.sources.idle.lasts_s(now)}
        try:
            response = await self.sources.ask("POST", "use", report)
        except PortalRequestError as error:
            log.debug("could not report the session's usage: %s", error)
            return REPORT_EVERY_S
        if response.status in ENDED_STATUSES:
            log.info("the portal no longer accepts usage reports for this session")
            return None
        again_s = response.body.get("again_s")
        if not isinstance(again_s, int | float) or isinstance(again_s, bool):
            return REPORT_EVERY_S
        return min(MAX_S, max(LEAST_S, float(again_s)))


def recording(recorder: Recorder) -> asyncio.Task[None]:
    """Start recording; an error is logged, and the server continues."""
    task = asyncio.ensure_future(recorder.run())
    task.add_done_callback(_log_error)
    return task


def _log_error(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("usage measurement stopped", exc_info=error)


def nearly_full(use: Use) -> bool:
    """Return whether little of the job's memory limit is left."""
    memory = use.memory
    if memory is None or memory.limit_bytes is None:
        return False
    return memory.used_bytes >= NEARLY_FULL * memory.limit_bytes
