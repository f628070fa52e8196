"""One shared view of Slurm: everybody reads it, one loop refreshes it, nothing else asks.

However many sessions and users there are, Slurm is asked at most 30 times in any minute at rest and
60 while something is on its way (`hurry`). Whoever can't wait for the next poll calls `look()`: all
who ask at once share one look, and one that had begun before the call doesn't count for it.

While Slurm can't be asked, or its answer isn't believed, what was last known stays, and
`stale_since` says so. What an answer means for a job is the ledger's to say; what a job means is
its reader's. It knows neither database nor web.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from spawner.errors import SlurmError
from spawner.ledger import Key, Ledger, Name
from spawner.model import (
    ClusterInfo,
    JobInfo,
    JobUsage,
    NodeInfo,
    PartitionInfo,
    ReservationInfo,
)
from spawner.tasks import end_all

log = logging.getLogger(__name__)


class AsksSlurm(Protocol):
    """What is needed of slurm.Slurm; each may raise SlurmError."""

    async def jobs(self) -> list[JobInfo]: ...

    async def accounting(
        self, since: datetime, job_ids: Collection[int] | None = None
    ) -> list[JobInfo]: ...

    async def usage(self, job_ids: Collection[int]) -> list[JobUsage]: ...

    async def nodes(self) -> tuple[NodeInfo, ...]: ...

    async def partitions(self) -> tuple[PartitionInfo, ...]: ...

    async def reservations(self) -> tuple[ReservationInfo, ...]: ...


@dataclass(frozen=True)
class Pace:
    """Seconds between two polls, and the most calls in any minute."""

    rest_s: float = 4.0
    hurried_s: float = 2.0
    nodes_s: float = 15.0
    partitions_s: float = 60.0
    reservations_s: float = 60.0
    rest_per_minute: int = 30
    hurried_per_minute: int = 60
    burst: int = 5


class Budget:
    """A bucket of calls: `burst` at once, refilled so that no minute sees more than allowed."""

    def __init__(self, burst: int, now_s: float) -> None:
        self._burst, self._calls, self._at = burst, float(burst), now_s

    def wait_s(self, per_minute: int, now_s: float) -> float:
        """How long until the next call may be made; 0 is now."""
        per_second = (per_minute - self._burst) / 60
        self._calls = min(self._burst, self._calls + (now_s - self._at) * per_second)
        self._at = now_s
        return max(0.0, (1 - self._calls) / per_second)

    def spend(self) -> None:
        """Count a call."""
        self._calls -= 1


Names = Callable[[Collection[int]], Awaitable[Mapping[int, str]]]
"""Tells whose these numbers were, of people whom the cluster's hosts don't know any more."""


async def _no_names(_numbers: Collection[int]) -> Mapping[int, str]:
    return {}


def _utcnow() -> datetime:
    return datetime.now(UTC)


class Watcher:
    """Reads are plain attributes and `by_uuid`; `run` is the loop, for the lifespan of a program.

    `stale_since` is None while the last answer of Slurm is good, else the time of the last good
    one (before the first: of the start), and `trouble` why. `took_s` is how long the last good
    answer took. `reservations` is None until Slurm has told them, and `reservations_stale_since` is
    when it last did, where it doesn't any more.
    """

    def __init__(
        self,
        slurm: AsksSlurm,
        pace: Pace | None = None,
        now: Callable[[], datetime] = _utcnow,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._slurm, self._pace = slurm, pace or Pace()
        self._now, self._monotonic = now, monotonic
        self._ledger = Ledger()
        self._budget = Budget(self._pace.burst, monotonic())
        self._hurry, self._stirred = False, asyncio.Event()
        self._looking = asyncio.Lock()
        self._next_look: asyncio.Task[None] | None = None
        self._looks: set[asyncio.Task[None]] = set()
        self._looked, self._looked_s = asyncio.Event(), float("-inf")
        self._changed, self._cluster_version = asyncio.Event(), 0
        self.names: Names = _no_names
        self.at: datetime | None = None
        self.stale_since: datetime | None = now()
        self.trouble: str | None = None
        self.took_s: float | None = None
        self.cluster: ClusterInfo | None = None
        self.reservations: tuple[ReservationInfo, ...] | None = None
        self.reservations_stale_since: datetime | None = None

    # --- reading --------------------------------------------------------------------------------

    def by_uuid(
        self,
        uuid: str,
        user: str,
        job_id: int | None = None,
        since: datetime | None = None,
        outside: bool = False,
    ) -> JobInfo | None:
        """A job of this user, as last known: from squeue, or from accounting once it has ended.

        None when nothing is known of it (yet). Asking is enough to have accounting searched; with
        the job's id, and the time `since` which it can exist, that is quick and certain. A job from
        `outside` the portal has no UUID in Slurm.
        """
        found = self._ledger.find((uuid, user), job_id, outside)
        if found is None:
            self._ledger.wonder((uuid, user), job_id, since, self._now())
        return found

    def unknown_since(self, uuid: str, user: str) -> datetime | None:
        """Since when squeue and accounting both answer and neither can tell what became of a job.

        Only then is a job lost; None while one of them could not be asked."""
        return None if self.stale_since else self._ledger.unknown_since((uuid, user))

    def copies(self, uuid: str, user: str, job_id: int | None) -> tuple[JobInfo, ...]:
        """All that squeue shows under this id of this user: an array's tasks, or, after a crash of
        Slurm's controller, a job that was submitted twice."""
        return self._ledger.copies((uuid, user), job_id)

    def shown(self, uuid: str, user: str, job_id: int | None, outside: bool) -> tuple[JobInfo, ...]:
        """All that squeue shows of a job at this moment, its copies and tasks."""
        return self._ledger.shown((uuid, user), job_id, outside)

    def take_changed(self) -> set[Name]:
        """What squeue has shown differently since this was last asked: (UUID, user) of our jobs,
        Slurm's number of others. For one reader; what becomes of a job that squeue no longer
        shows is not told."""
        return self._ledger.take_changed()

    def disown(self, keys: Iterable[Key]) -> None:
        """These (UUID, user) are not ours: their jobs are shown without a UUID from the next look
        on."""
        self._ledger.disown(keys)

    def forget(self, uuid: str, user: str) -> None:
        """The job is submitted again: what was (not) found of it so far means nothing now."""
        self._ledger.forget((uuid, user))

    async def usage(self, job_ids: Collection[int]) -> list[JobUsage]:
        """What accounting knows of these jobs' use, within the budget. May raise SlurmError."""
        await self.afford()
        return await self._slurm.usage(job_ids)

    async def history(self, since: datetime) -> list[JobInfo]:
        """Every user's jobs since then from accounting, within the budget. May raise SlurmError."""
        await self.afford()
        return await self._slurm.accounting(since)

    def missing_since(self, uuid: str, user: str) -> datetime | None:
        """Since when Slurm answers and shows this job neither alive nor as ended, though it may
        have been seen; None while it could not be asked. Not enough to call a job lost."""
        return None if self.stale_since else self._ledger.missing_since((uuid, user))

    @property
    def jobs(self) -> Mapping[int, JobInfo]:
        """Every user's jobs by Slurm's id, as squeue showed them last: those that wait in the order
        of their priority. Another mapping after each look."""
        return self._ledger.by_id

    @property
    def version(self) -> tuple[int, int, datetime | None]:
        """Differs whenever one of our jobs, the cluster, or `stale_since` does."""
        return self._ledger.version, self._cluster_version, self.stale_since

    async def subscribe(self) -> AsyncIterator[None]:
        """Yields after every change; those that come while the reader works are one."""
        while True:
            seen, changed = self.version, self._changed
            yield
            while self.version == seen:
                await changed.wait()
                changed = self._changed

    # --- looking --------------------------------------------------------------------------------

    @property
    def hurry(self) -> bool:
        """Whether something is on its way, so that Slurm is to be asked more often."""
        return self._hurry

    @hurry.setter
    def hurry(self, hurry: bool) -> None:
        if hurry and not self._hurry:
            self._stirred.set()
        self._hurry = hurry

    async def look(self) -> None:
        """Return once a look that began after this call is over, whatever came of it."""
        if self._next_look is None:
            self._next_look = asyncio.create_task(self._look())
            self._looks.add(self._next_look)
            self._next_look.add_done_callback(self._looks.discard)
        await asyncio.shield(self._next_look)

    async def run(self) -> None:
        """Keep everything fresh until cancelled."""
        try:
            async with asyncio.TaskGroup() as loops:
                loops.create_task(self._poll())
                loops.create_task(self._account())
                loops.create_task(self._survey())
                loops.create_task(self._look_ahead())
        finally:
            await end_all(self._looks)

    async def _poll(self) -> None:
        while True:
            await self.look()
            while (left_s := self._due_s() - self._monotonic()) > 0:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(left_s):
                        await self._stirred.wait()
                self._stirred.clear()

    def _due_s(self) -> float:
        return self._looked_s + (self._pace.hurried_s if self._hurry else self._pace.rest_s)

    async def afford(self) -> None:
        """Wait until the budget allows one more call, and count it."""
        budget, monotonic = self._budget, self._monotonic
        while left_s := budget.wait_s(self._per_minute(), monotonic()):  # noqa: ASYNC110
            await asyncio.sleep(left_s)  # it is time that is waited for
        budget.spend()

    async def count(self) -> None:
        """Count a call that somebody waits for: those that can wait then come later."""
        self._budget.spend()

    def _per_minute(self) -> int:
        pace = self._pace
        return pace.hurried_per_minute if self._hurry else pace.rest_per_minute

    async def _look(self) -> None:
        async with self._looking:
            await self.afford()
            self._next_look = None  # who asks from here on wants another
            began, began_s = self._now(), self._monotonic()
            try:
                jobs = await self._named(await self._slurm.jobs())
            except SlurmError as error:
                self._stale(f"{error.message} {error.stderr[:300]}")
            else:
                self._take(jobs, began, self._monotonic() - began_s)
            self._looked_s = self._monotonic()
            self._looked.set()

    async def _named(self, jobs: list[JobInfo]) -> list[JobInfo]:
        numbers = {int(job.user) for job in jobs if job.user.isdecimal()}
        if not numbers:
            return jobs
        names = await self.names(numbers)
        return [
            replace(job, user=names.get(int(job.user), job.user)) if job.user.isdecimal() else job
            for job in jobs
        ]

    def _take(self, jobs: list[JobInfo], began: datetime, took_s: float) -> None:
        version = self._ledger.version
        if not self._ledger.squeue(jobs, self._now()):
            self._stale("too many jobs have vanished at once")
            return
        stale, self.at, self.stale_since = self.stale_since, began, None
        self.trouble, self.took_s = None, took_s
        if stale or version != self._ledger.version:
            self._notify()

    def _stale(self, why: str) -> None:
        self.trouble = why
        if self.stale_since is None:
            self.stale_since = self.at or self._now()
            self._notify()
        log.warning("Slurm's jobs are not known: %s", why)

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    # --- accounting, nodes ----------------------------------------------------------------------

    async def _account(self) -> None:
        """After each look, ask accounting for what is due."""
        while True:
            await self._looked.wait()
            self._looked.clear()
            asked = self._ledger.due(self._now())
            if not asked or self.stale_since:
                continue
            await self.afford()
            ids = {a.job_id for a in asked.values() if a.job_id is not None}
            certain = all(a.job_id is not None for a in asked.values())
            since = min(a.since for a in asked.values())
            jobs = None
            try:
                jobs = await self._slurm.accounting(since, ids if certain else None)
            except SlurmError as error:
                log.warning("accounting is not known: %s %s", error.message, error.stderr[:300])
            version = self._ledger.version
            self._ledger.accounting(asked, jobs, self._now())
            if version != self._ledger.version:
                self._notify()

    async def _survey(self) -> None:
        """Nodes often, partitions now and then."""
        partitions: tuple[PartitionInfo, ...] = ()
        partitions_s = float("-inf")
        while True:
            try:
                if self._monotonic() - partitions_s >= self._pace.partitions_s:
                    await self.afford()
                    partitions = await self._slurm.partitions()
                    partitions_s = self._monotonic()
                await self.afford()
                self._see(ClusterInfo(await self._slurm.nodes(), partitions, self._now()))
            except SlurmError as error:
                log.warning("nodes are not known: %s %s", error.message, error.stderr[:300])
            await asyncio.sleep(self._pace.nodes_s)

    async def _look_ahead(self) -> None:
        """Reservations, now and then: they are made long before they begin."""
        told_at: datetime | None = None
        while True:
            try:
                await self.afford()
                self.reservations = await self._slurm.reservations()
                told_at, self.reservations_stale_since = self._now(), None
            except SlurmError as error:
                self.reservations_stale_since = told_at
                log.warning("reservations are not known: %s %s", error.message, error.stderr[:300])
            await asyncio.sleep(self._pace.reservations_s)

    async def survey(self) -> None:
        """Nodes and partitions, once, for who doesn't run the loop. Raises SlurmError."""
        partitions = await self._slurm.partitions()
        self._see(ClusterInfo(await self._slurm.nodes(), partitions, self._now()))

    def _see(self, cluster: ClusterInfo) -> None:
        before, self.cluster = self.cluster, cluster
        same = before and (before.nodes, before.partitions) == (cluster.nodes, cluster.partitions)
        if not same:
            self._cluster_version += 1
            self._notify()
