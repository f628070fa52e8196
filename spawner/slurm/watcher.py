"""Shared view of Slurm: one loop polls Slurm, and all other code reads the result.

Independent of the number of sessions and users, polling makes at most 30 calls per minute at rest,
and 60 while a change is expected (`hurry`); urgent calls are extra. A caller that cannot wait for
the next poll calls `refresh()`: concurrent callers share one poll, and one that began before the
call does not count for it.

While Slurm is unreachable, or its answer is implausible, the last known state stays, and
`stale_since` is set. The job tracker decides what an answer means for a job; its readers decide
what follows from that. Independent of database and web.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
)
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

from spawner.errors import Rejected, SlurmError
from spawner.slurm.call_budget import CallBudget, Pace
from spawner.slurm.job_tracker import NEW_JOB, JobTracker
from spawner.slurm.missing_jobs import JobRef, MissingJob, PortalJobKey, split_lookups
from spawner.slurm.model import (
    ClusterInfo,
    JobInfo,
    JobUsage,
    NodeInfo,
    PartitionInfo,
    ReservationInfo,
)
from spawner.tasks import end_all

log = logging.getLogger(__name__)


class SlurmQueries(Protocol):
    """Required subset of client.Slurm; each method may raise SlurmError."""

    async def jobs(self) -> list[JobInfo]: ...

    async def accounting(
        self,
        since: datetime,
        job_ids: Collection[int] | None = None,
        *,
        until: datetime | None = None,
        user: str | None = None,
    ) -> list[JobInfo]: ...

    async def backlog(self) -> int: ...

    async def find(self, *job_ids: int) -> list[JobInfo]: ...

    async def min_job_age(self) -> timedelta: ...

    async def usage(self, since: Mapping[int, datetime]) -> list[JobUsage]: ...

    async def nodes(self) -> tuple[NodeInfo, ...]: ...

    async def partitions(self) -> tuple[PartitionInfo, ...]: ...

    async def reservations(self) -> tuple[ReservationInfo, ...]: ...


UsernameLookup = Callable[[Collection[int]], Awaitable[Mapping[int, str]]]
"""Resolves uids to names, for users that the cluster's hosts no longer know."""


async def _find_no_usernames(_uids: Collection[int]) -> Mapping[int, str]:
    return {}


def _utcnow() -> datetime:
    return datetime.now(UTC)


class Watcher:
    """Poller and its results: plain attributes, and jobs by `find_or_request`; `run` is the loop.

    `at` is when the last good poll of the jobs began; None before the first. `stale_since` is None
    while the last answer of Slurm is good, else the time of the last good one (before the first: of
    the start), and `trouble` is the reason. `took_s` is the duration of the last good answer.
    `answers_since` is the time from which Slurm has answered without interruption; None while it
    does not. `cluster_changed_at` is when nodes or partitions last changed. `reservations` is None
    until Slurm has reported them, and `reservations_stale_since` is the time of the last report if
    the latest attempt failed. `new_job` is how long a job whose id is unknown may take to appear in
    Slurm.
    """

    def __init__(
        self,
        slurm: SlurmQueries,
        pace: Pace | None = None,
        now: Callable[[], datetime] = _utcnow,
        monotonic: Callable[[], float] = time.monotonic,
        new_job: timedelta = NEW_JOB,
    ) -> None:
        self._slurm, self._pace = slurm, pace or Pace()
        self._now, self._monotonic = now, monotonic
        self._tracker = JobTracker(new_job)
        self._budget = CallBudget(self._pace.burst, monotonic())
        self._hurry, self._wake = False, asyncio.Event()
        self._poll_lock = asyncio.Lock()
        self._next_poll: asyncio.Task[None] | None = None
        self._polls: set[asyncio.Task[None]] = set()
        self._polled, self._polled_s = asyncio.Event(), float("-inf")
        self._changed, self._cluster_version = asyncio.Event(), 0
        self.look_up_usernames: UsernameLookup = _find_no_usernames
        self.at: datetime | None = None
        self.stale_since: datetime | None = now()
        self.answers_since: datetime | None = None
        self.trouble: str | None = None
        self.took_s: float | None = None
        self.cluster: ClusterInfo | None = None
        self.cluster_changed_at: datetime | None = None
        self.reservations: tuple[ReservationInfo, ...] | None = None
        self.reservations_stale_since: datetime | None = None

    # --- queries --------------------------------------------------------------------------------

    def find_or_request(
        self,
        uuid: str,
        user: str,
        job_id: int | None = None,
        since: datetime | None = None,
        external: bool = False,
        submit_time: datetime | None = None,
    ) -> JobInfo | None:
        """Return a job of this user as last known: from squeue, or from accounting once it ended.

        If nothing is known of it (yet), return None and request a search of accounting; with the
        job's id, and the earliest time it can exist (`since`), that is fast and reliable. With the
        id, a job whose comment was changed is found, too; `submit_time` is the last known one. An
        `external` job has no UUID in Slurm.
        """
        job = self._tracker.find((uuid, user), job_id, external)
        if job is None:
            self._tracker.request_lookup(
                (uuid, user), job_id, since, self._now(), external=external, submit_time=submit_time
            )
        return job

    def unknown_since(self, uuid: str, user: str) -> datetime | None:
        """Return the time from which squeue and accounting answer, and neither knows the job.

        Only then is a job lost; None while one of them was unreachable.
        """
        return None if self.stale_since else self._tracker.unknown_since((uuid, user))

    def is_lost_by_slurmctld(self, uuid: str, user: str) -> bool:
        """Return whether slurmctld has certainly forgotten the job: it does not run and did not
        complete, and no later answer can change that.
        """
        return self.stale_since is None and self._tracker.is_lost_by_slurmctld((uuid, user))

    def list_copies(self, uuid: str, user: str, job_id: int | None) -> tuple[JobInfo, ...]:
        """Return all records in squeue for this UUID and user, or for an external array's `job_id`.

        These are an array's tasks or, after a crash of slurmctld, a job that was submitted twice.
        """
        return self._tracker.list_copies((uuid, user), job_id)

    def list_records(
        self, uuid: str, user: str, job_id: int | None, external: bool
    ) -> tuple[JobInfo, ...]:
        """Return all records in squeue's last answer for a job: its copies and tasks."""
        return self._tracker.list_records((uuid, user), job_id, external)

    def take_changed(self) -> set[JobRef]:
        """Return what changed in squeue since the last call, for a single reader.

        These are (UUID, user) of portal jobs and Slurm's ids of external ones. A job's
        disappearance from squeue is reported; what accounting says about it later is not.
        """
        return self._tracker.take_changed()

    def mark_unknown_uuids(self, keys: Iterable[PortalJobKey]) -> None:
        """Treat the jobs of these (UUID, user) pairs as external, from the next poll on."""
        self._tracker.mark_unknown_uuids(keys)

    def discard_lookups(self, uuid: str, user: str) -> None:
        """Discard the lookups of a job so far, because it is submitted again."""
        self._tracker.discard_lookups((uuid, user))

    def ignore(self, uuid: str, user: str, job_id: int, submit_time: datetime) -> None:
        """Ignore a Slurm job that ended before its script began, and was submitted again."""
        self._tracker.ignore((uuid, user), job_id, submit_time)

    async def fetch_usage(self, since: Mapping[int, datetime]) -> list[JobUsage]:
        """Return accounting's data on these jobs' usage, within the budget.

        May raise SlurmError.
        """
        await self.wait_for_call_budget()
        return await self._slurm.usage(since)

    async def with_usernames(self, jobs: list[JobInfo]) -> list[JobInfo]:
        """Return jobs with their users' names, even of users that this host does not know now."""
        numbers = {int(job.user) for job in jobs if job.user.isdecimal()}
        if not numbers:
            return jobs
        names = await self.look_up_usernames(numbers)
        return [
            replace(job, user=names.get(int(job.user), job.user)) if job.user.isdecimal() else job
            for job in jobs
        ]

    async def fetch_history(self, since: datetime, until: datetime) -> list[JobInfo]:
        """Return all users' jobs between these times from accounting, within the budget.

        May raise SlurmError.
        """
        await self.wait_for_call_budget()
        return await self._slurm.accounting(since, until=until)

    def missing_since(self, uuid: str, user: str) -> datetime | None:
        """Return the time from which Slurm answers and reports this job neither as live nor as
        ended.

        It may have been seen before. None while Slurm was unreachable. Not sufficient to call a job
        lost.
        """
        return None if self.stale_since else self._tracker.missing_since((uuid, user))

    @property
    def jobs(self) -> Mapping[int, JobInfo]:
        """Return all users' jobs by Slurm's id, from the last poll; waiting jobs by priority.

        Each poll creates a new mapping.
        """
        return self._tracker.by_id

    @property
    def version(self) -> tuple[int, int, datetime | None]:
        """Return a value that differs whenever a portal job, the cluster or `stale_since` does."""
        return self._tracker.version, self._cluster_version, self.stale_since

    async def subscribe(self) -> AsyncIterator[None]:
        """Yield after every change; changes during the reader's work are combined."""
        while True:
            seen_version, changed = self.version, self._changed
            yield
            while self.version == seen_version:
                await changed.wait()
                changed = self._changed

    # --- polling --------------------------------------------------------------------------------

    @property
    def hurry(self) -> bool:
        """Return whether a change is expected, so that Slurm is to be polled more often."""
        return self._hurry

    @hurry.setter
    def hurry(self, hurry: bool) -> None:
        if hurry and not self._hurry:
            self._wake.set()
        self._hurry = hurry

    async def refresh(self) -> None:
        """Wait for a poll that began after this call, whether or not it succeeds."""
        if self._next_poll is None:
            self._next_poll = asyncio.create_task(self._fetch_jobs())
            self._polls.add(self._next_poll)
            self._next_poll.add_done_callback(self._polls.discard)
        await asyncio.shield(self._next_poll)

    async def run(self) -> None:
        """Poll everything until cancelled."""
        try:
            async with asyncio.TaskGroup() as loops:
                loops.create_task(self._poll())
                loops.create_task(self._poll_accounting())
                loops.create_task(self._poll_cluster())
                loops.create_task(self._poll_reservations())
        finally:
            await end_all(self._polls)

    async def _poll(self) -> None:
        while True:
            await self.refresh()
            while (left_s := self._due_s() - self._monotonic()) > 0:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(left_s):
                        await self._wake.wait()
                self._wake.clear()

    def _due_s(self) -> float:
        return self._polled_s + (self._pace.hurried_s if self._hurry else self._pace.rest_s)

    async def wait_for_call_budget(self) -> None:
        """Wait until the budget allows one more call, and count it."""
        budget, monotonic = self._budget, self._monotonic
        while left_s := budget.wait_s(self._per_minute(), monotonic()):  # noqa: ASYNC110
            await asyncio.sleep(left_s)  # only time can refill the budget
        budget.spend()

    async def charge_call_budget(self) -> None:
        """Count an urgent call without waiting, which delays the calls that can wait.

        A coroutine only because it is interchangeable with `wait_for_call_budget`.
        """
        self._budget.spend()

    def _per_minute(self) -> int:
        pace = self._pace
        return pace.hurried_per_minute if self._hurry else pace.rest_per_minute

    async def _fetch_jobs(self) -> None:
        async with self._poll_lock:
            await self.wait_for_call_budget()
            self._next_poll = None  # later callers need another poll
            began, began_s = self._now(), self._monotonic()
            try:
                jobs = await self.with_usernames(await self._slurm.jobs())
            except SlurmError as error:
                self._mark_stale(f"{error.message} {error.stderr[:300]}")
            else:
                self._apply_jobs(jobs, began, self._monotonic() - began_s)
            self._polled_s = self._monotonic()
            self._polled.set()

    def _apply_jobs(self, jobs: list[JobInfo], began: datetime, took_s: float) -> None:
        version = self._tracker.version
        if not self._tracker.apply_squeue(jobs, self._now()):
            self._mark_stale("too many jobs have vanished at once")
            return
        stale, self.at, self.stale_since = self.stale_since, began, None
        self.trouble, self.took_s = None, took_s
        self.answers_since = self.answers_since or self._now()
        if stale or version != self._tracker.version:
            self._notify()

    def _mark_stale(self, why: str) -> None:
        self.trouble, self.answers_since = why, None
        self._tracker.note_outage()
        if self.stale_since is None:
            self.stale_since = self.at or self._now()
            self._notify()
        log.warning("cannot read Slurm's jobs: %s", why)

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    # --- accounting, nodes ----------------------------------------------------------------------

    async def _poll_accounting(self) -> None:
        """Look up the due jobs in accounting after each poll."""
        while True:
            await self._polled.wait()
            self._polled.clear()
            lookups = self._tracker.due_lookups(self._now())
            if not lookups or self.stale_since:
                continue
            for part in split_lookups(lookups):
                await self._look_up(part)

    async def _look_up(self, lookups: Mapping[PortalJobKey, MissingJob]) -> None:
        """Look these jobs up in accounting with one command: all by id, or all of a user."""
        forgotten = await self._find_forgotten(lookups)
        current = await self._is_current()
        jobs = None
        try:
            jobs = await self._query_accounting(lookups)
        except SlurmError as error:
            log.warning("cannot read accounting: %s %s", error.message, error.stderr[:300])
        version = self._tracker.version
        if self.stale_since is not None:  # slurmctld may be starting again
            forgotten = set()
        self._tracker.apply_accounting(
            lookups, jobs, self._now(), current=current, forgotten=forgotten
        )
        if version != self._tracker.version:
            self._notify()

    async def _find_forgotten(
        self, lookups: Mapping[PortalJobKey, MissingJob]
    ) -> set[PortalJobKey]:
        """Return the jobs that slurmctld has certainly forgotten, after asking it for them once
        more by their ids.
        """
        keys = self._tracker.list_unconfirmed(lookups, self._now())
        if not keys:
            return set()
        ids = {job_id for key in keys if (job_id := lookups[key].job_id) is not None}
        try:
            await self.wait_for_call_budget()
            min_job_age = await self._slurm.min_job_age()
            await self.wait_for_call_budget()
            found = await self.with_usernames(await self._slurm.find(*ids))
        except SlurmError as error:
            log.warning("cannot read Slurm's jobs: %s %s", error.message, error.stderr[:300])
            return set()
        return self._tracker.select_forgotten(keys, min_job_age, found, self._now())

    async def _query_accounting(self, lookups: Mapping[PortalJobKey, MissingJob]) -> list[JobInfo]:
        await self.wait_for_call_budget()
        since = min(missing.since for missing in lookups.values())
        if ids := {missing.job_id for missing in lookups.values() if missing.job_id is not None}:
            return await self._slurm.accounting(since, ids)
        _, user = next(iter(lookups))
        try:
            return await self._slurm.accounting(since, user=user)
        except Rejected:  # this host does not know the user any more
            await self.wait_for_call_budget()
            return await self._slurm.accounting(since)

    async def _is_current(self) -> bool:
        """Return whether slurmctld has no undelivered messages for slurmdbd.

        Call this before accounting, so that accounting's answer includes everything reported until
        then.
        """
        await self.wait_for_call_budget()
        try:
            return await self._slurm.backlog() == 0
        except SlurmError as error:
            log.warning("cannot read slurmdbd's backlog: %s %s", error.message, error.stderr[:300])
            return False

    async def _poll_cluster(self) -> None:
        """Poll nodes often, partitions rarely."""
        partitions: tuple[PartitionInfo, ...] = ()
        partitions_s = float("-inf")
        while True:
            try:
                if self._monotonic() - partitions_s >= self._pace.partitions_s:
                    await self.wait_for_call_budget()
                    partitions = await self._slurm.partitions()
                    partitions_s = self._monotonic()
                await self.wait_for_call_budget()
                self._set_cluster(ClusterInfo(await self._slurm.nodes(), partitions, self._now()))
            except SlurmError as error:
                log.warning("cannot read nodes: %s %s", error.message, error.stderr[:300])
            await asyncio.sleep(self._pace.nodes_s)

    async def _poll_reservations(self) -> None:
        """Poll reservations rarely: they are made long before they begin."""
        reported_at: datetime | None = None
        while True:
            try:
                await self.wait_for_call_budget()
                self.reservations = await self._slurm.reservations()
                reported_at, self.reservations_stale_since = self._now(), None
            except SlurmError as error:
                self.reservations_stale_since = reported_at
                log.warning("cannot read reservations: %s %s", error.message, error.stderr[:300])
            await asyncio.sleep(self._pace.reservations_s)

    async def fetch_cluster_once(self) -> None:
        """Fetch nodes and partitions once, for programs that do not run the loop.

        Raises SlurmError.
        """
        partitions = await self._slurm.partitions()
        self._set_cluster(ClusterInfo(await self._slurm.nodes(), partitions, self._now()))

    def _set_cluster(self, cluster: ClusterInfo) -> None:
        before, self.cluster = self.cluster, cluster
        same = before and (before.nodes, before.partitions) == (cluster.nodes, cluster.partitions)
        if not same:
            self._cluster_version += 1
            self.cluster_changed_at = cluster.at
            self._notify()
