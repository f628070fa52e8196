"""Leader election: only the leader does the portal's work, and a standby forwards requests to it.

A standby has nothing open except its place in the queue for the lock. When it becomes the leader it
opens everything, as at any start, so none of its state can be older than that. With SQLite there is
only one portal, which always leads (startup.py ensures it).
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, NoReturn

import structlog

from portal.config.settings import Settings
from portal.leader.lock import LeaderLock
from portal.metrics import Metrics

log = structlog.get_logger(__name__)

RETRY_S = 1.0
LeaderWork = Callable[[], AbstractAsyncContextManager[None]]


class LeaderElection:
    """The election of the leader.

    `leads` is set while this portal is the leader; `ending` once the process is shutting down.
    `requests` are the tasks of the requests that it is answering as the leader.
    """

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self.leads = asyncio.Event()
        self.ending = asyncio.Event()
        self.requests: set[asyncio.Task[None]] = set()
        self._settings, self._metrics = settings, metrics
        self._lost = asyncio.Event()
        self._lock: LeaderLock | None = None

    @property
    def shared(self) -> bool:
        """Return whether other portals can lead, too."""
        return not self._settings.database.startswith("sqlite")

    @property
    def connection_name(self) -> str | None:
        """Return the application name of this portal's database connections while it leads."""
        return self._lock.connection_name if self._lock else None

    @asynccontextmanager
    async def run(self, open_work: LeaderWork) -> AsyncIterator[None]:
        """Run the election for the application's lifespan. The context of `open_work` is entered
        while this portal leads.
        """
        if not self.shared:
            async with open_work():
                self._start_leading()
                yield
            return
        async with LeaderLock(self._settings.database, self._settings.address) as self._lock:
            started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            task = asyncio.create_task(
                self._run_election(self._lock, open_work, started), name="leader election"
            )
            try:
                either: set[asyncio.Future[Any]] = {task, started}
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                if task.done():
                    task.result()  # raises the error that prevented the start
                yield
            finally:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def find_leader(self) -> str | None:
        """Return the address of another portal, if that one leads."""
        leader = await self._lock.find_leader() if self._lock else None
        return None if leader == self._settings.address else leader

    async def block_unless_leader(self) -> None:
        """Return if this portal leads according to the database: called before each operation that
        must not run twice.

        On a portal that no longer leads, this never returns; its tasks are being cancelled.
        """
        if self._lock is not None and not await self._lock.is_held():
            self._lost.set()
            await _wait_forever()

    async def _run_election(
        self, lock: LeaderLock, open_work: LeaderWork, started: asyncio.Future[None]
    ) -> NoReturn:
        """Lead whenever this portal gets the lock.

        An error of the first start is raised; later ones are logged, and the lock goes to the next
        portal.
        """
        leads = await lock.acquire(wait=False)
        while True:
            self._lost.clear()
            if not leads:
                _mark_done(started)
            try:
                leads = leads or await lock.acquire(wait=True)
                await self._run_as_leader(lock, open_work, started)
            except Exception as error:
                if not started.done():
                    raise
                log.warning("can't lead now", exc_info=error)
            finally:
                self.leads.clear()
                self._metrics.leads.set(0)
                await lock.release()
            leads = False
            # the lock was not the cause: the next attempt may fail in the same way
            if not self._lost.is_set():
                await asyncio.sleep(RETRY_S)

    async def _run_as_leader(
        self, lock: LeaderLock, open_work: LeaderWork, started: asyncio.Future[None]
    ) -> None:
        async with open_work():
            self._start_leading()
            _mark_done(started)
            await self._wait_until_lost(lock)
            await self._stop_leading()

    def _start_leading(self) -> None:
        log.info("this portal leads")
        self._metrics.leads.set(1)
        self.leads.set()

    async def _wait_until_lost(self, lock: LeaderLock) -> None:
        """Return when the connection has ended, or when `block_unless_leader` has detected that the
        lock is lost.
        """
        waiting = {
            asyncio.create_task(lock.wait_until_lost()),
            asyncio.create_task(self._lost.wait()),
        }
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            self._lost.set()
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def _stop_leading(self) -> None:
        """Cancel requests in progress; they get an error response (leader/forward.py)."""
        log.warning("this portal leads no longer")
        self.leads.clear()
        for task in self.requests:
            task.cancel()
        if self.requests:
            await asyncio.wait(set(self.requests))


def _mark_done(started: asyncio.Future[None]) -> None:
    if not started.done():
        started.set_result(None)


async def _wait_forever() -> NoReturn:
    while True:
        await asyncio.Event().wait()
