"""One portal acts, whichever is asked: the leader answers, a standby passes requests on to it.

A standby has nothing open but its place in the queue for the lock. When it comes to lead it opens
everything, as at any start, so nothing that it remembers can be older than that. With SQLite there
is one portal, which always leads (start.py sees to it).
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, NoReturn

import structlog

from portal.leading import Lock
from portal.metrics import Metrics
from portal.settings import Settings

log = structlog.get_logger(__name__)

AGAIN_S = 1.0
Work = Callable[[], AbstractAsyncContextManager[None]]


class Turns:
    """`leads` is set while this portal may act. `ending`: the process was told to end."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self.leads = asyncio.Event()
        self.ending = asyncio.Event()
        self.requests: set[asyncio.Task[None]] = set()
        self._settings, self._metrics = settings, metrics
        self._lost = asyncio.Event()
        self._lock: Lock | None = None

    @property
    def shared(self) -> bool:
        """Whether others may have turns, too."""
        return not self._settings.database.startswith("sqlite")

    @property
    def name(self) -> str | None:
        """What this portal's connections to the database are called while it leads."""
        return self._lock.name if self._lock else None

    @asynccontextmanager
    async def taken(self, work: Work) -> AsyncIterator[None]:
        """For the application's lifespan: what `work` opens is open while this portal leads."""
        if not self.shared:
            async with work():
                self._lead()
                yield
            return
        async with Lock(self._settings.database, self._settings.address) as self._lock:
            begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            task = asyncio.create_task(self._take(self._lock, work, begun), name="turns")
            try:
                either: set[asyncio.Future[Any]] = {task, begun}
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                if task.done():
                    task.result()  # what kept it from starting
                yield
            finally:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def leader(self) -> str | None:
        """Another portal's address, where that leads."""
        found = await self._lock.leader() if self._lock else None
        return None if found == self._settings.address else found

    async def fence(self) -> None:
        """Return if this portal leads, by the database's own word: asked before each act whose
        doubling would matter. Whoever doesn't lead any more does nothing more; it is being ended.
        """
        if self._lock is not None and not await self._lock.held():
            self._lost.set()
            await _forever()

    async def _take(self, lock: Lock, work: Work, begun: asyncio.Future[None]) -> NoReturn:
        """Lead whenever it is this portal's turn. The start itself may fail; later faults are
        logged, and the turn goes to whoever is next."""
        leads = await lock.take(wait=False)
        while True:
            self._lost.clear()
            if not leads:
                _done(begun)
            try:
                leads = leads or await lock.take(wait=True)
                await self._work(lock, work, begun)
            except Exception as error:
                if not begun.done():
                    raise
                log.warning("can't lead now", exc_info=error)
            finally:
                self.leads.clear()
                self._metrics.leads.set(0)
                await lock.release()
            leads = False
            if not self._lost.is_set():  # it wasn't the lock: the next try may come to the same
                await asyncio.sleep(AGAIN_S)

    async def _work(self, lock: Lock, work: Work, begun: asyncio.Future[None]) -> None:
        async with work():
            self._lead()
            _done(begun)
            await self._until_lost(lock)
            await self._stop()

    def _lead(self) -> None:
        log.info("this portal leads")
        self._metrics.leads.set(1)
        self.leads.set()

    async def _until_lost(self, lock: Lock) -> None:
        """The connection has ended, or `fence` has found out that the lock is gone."""
        waiting = {
            asyncio.create_task(lock.until_lost()),
            asyncio.create_task(self._lost.wait()),
        }
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            self._lost.set()
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def _stop(self) -> None:
        """Requests under way act no more; their answer says so (api/passing_on.py)."""
        log.warning("this portal leads no longer")
        self.leads.clear()
        for task in self.requests:
            task.cancel()
        if self.requests:
            await asyncio.wait(set(self.requests))


def _done(begun: asyncio.Future[None]) -> None:
    if not begun.done():
        begun.set_result(None)


async def _forever() -> NoReturn:
    while True:
        await asyncio.Event().wait()
