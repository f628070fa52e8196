"""Keeps measuring what the session uses, and tells the portal from time to time.

The portal gets the whole series each time, so that neither its restart nor a lost request leaves a
gap. It says how soon it wants the next one: sooner while somebody looks at it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from spawner.node.desk import Desk
from spawner.node.home import HomeError
from spawner.node.meter import KEPT_S, Use
from spawner.node.rest import Kernels
from spawner.node.series import Series

log = logging.getLogger("portal")

FIRST_S = 2.0
"""Until the start is over, which should not be held up."""
TELL_S = 30.0
LEAST_S, MOST_S = KEPT_S, 600.0
FULL = 0.8
"""With so much of its memory used a job may end at any moment: each look is told at once."""
NOT_ANY_MORE = frozenset({401, 404, 410, 422})
"""The portal wants no more of it: the session ends, or it is another version's."""


@dataclass
class Recorder:
    """Runs beside the server, in its loop, until cancelled or not wanted any more. `kernels` tells
    of the server's at this moment."""

    desk: Desk
    kernels: Callable[[], Kernels]
    sleep: Callable[[float], Awaitable[object]] = field(default=asyncio.sleep, repr=False)
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)

    async def run(self) -> None:
        """Look every few seconds; tell when it is due, and when a session that did nothing does
        something again, so that nobody is told the contrary for longer."""
        await self.sleep(FIRST_S)
        series, due = Series(KEPT_S), self.clock() + LEAST_S
        while True:
            use = await self.desk.meter.use()
            series.add(self.clock(), use)
            woke = self.desk.rest.look(self.clock(), use, self.kernels())
            if self.clock() >= due or nearly_full(use) or woke:
                wait_s = await self.tell(series)
                if wait_s is None:
                    return
                due = self.clock() + wait_s - KEPT_S / 2
            await self.sleep(KEPT_S)

    async def tell(self, series: Series) -> float | None:
        """In how many seconds to tell again; None: never."""
        now = self.clock()
        told = {**series.told(now), "idle_s": self.desk.rest.lasts_s(now)}
        try:
            answer = await self.desk.ask("POST", "use", told)
        except HomeError as error:
            log.debug("the portal was not told what the session uses: %s", error)
            return TELL_S
        if answer.status in NOT_ANY_MORE:
            log.info("the portal wants to hear no more of what the session uses")
            return None
        wished = answer.body.get("again_s")
        if not isinstance(wished, int | float) or isinstance(wished, bool):
            return TELL_S
        return min(MOST_S, max(LEAST_S, float(wished)))


def recording(recorder: Recorder) -> asyncio.Task[None]:
    """Let it run; that it ended by an error is logged, and the server goes on."""
    task = asyncio.ensure_future(recorder.run())
    task.add_done_callback(_log_error)
    return task


def _log_error(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("what the session uses is measured no more", exc_info=error)


def nearly_full(use: Use) -> bool:
    """Whether little is left of the memory that the job may use."""
    memory = use.memory
    if memory is None or memory.limit_bytes is None:
        return False
    return memory.used_bytes >= FULL * memory.limit_bytes
