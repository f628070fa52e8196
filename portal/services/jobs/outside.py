"""Jobs that people of the portal submitted outside it, with sbatch or otherwise: each gets a row,
so that it stands in its owner's list with a log and a TensorBoard like any other.

Those that squeue shows are taken from the watcher's last look. What began and ended while the
portal was away is read from accounting, from where it was read last. How many of one person's are
taken is bounded; Slurm's own tools show the rest.

A comment like ours makes no job one of the portal's: the row does, which is there before the job.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import structlog
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from portal.models import BatchJob, Job, JobState, Mark, User
from portal.parts import Parts
from portal.services.jobs import arrays
from portal.services.slurm import launch
from portal.services.slurm.lifecycle import observe
from spawner.errors import SlurmError
from spawner.model import JobInfo, Resources

log = structlog.get_logger(__name__)

MARK = "accounting"
FIRST_LOOK_BACK = timedelta(days=2)
LONGEST_LOOK_BACK = timedelta(days=30)
HISTORY_EVERY = timedelta(minutes=10)
OVERLAP = timedelta(minutes=5)
MOST_LIVE = 200  # of one person, at once
MOST_AT_ONCE = 500
SAME_SUBMISSION = timedelta(seconds=2)  # Slurm's times are whole seconds

Key = tuple[int, datetime]
Name = tuple[str, str]  # UUID, user


class Outside:
    """Remembers which of Slurm's jobs it has looked at, so that a look costs next to nothing."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._seen: set[Key] = set()
        self._looked_at: datetime | None = None
        self._history_at: datetime | None = None

    async def look(self, now: datetime) -> None:
        """Take in what is new in squeue, once for each of its answers. One that only looks like the
        portal's own is taken when the watcher shows it as what it is: at its next look."""
        watcher = self._parts.watcher
        if watcher.stale_since is not None or watcher.at == self._looked_at:
            return
        self._looked_at = watcher.at
        shown = {key: info for info in watcher.jobs.values() if (key := _key(info)) is not None}
        self._seen &= shown.keys()
        new = {key: info for key, info in shown.items() if key not in self._seen}
        if not new:
            return
        foreign = await self._foreign(new.values())
        watcher.disown(foreign)
        known = await self._take([info for info in new.values() if info.uuid is None], now)
        # who has a job before they first come here has it counted as soon as they do
        self._seen |= {
            key
            for key, info in new.items()
            if _name(info) not in foreign and (info.uuid is not None or info.user in known)
        }

    def history_due(self, now: datetime) -> bool:
        return self._history_at is None or now - self._history_at > HISTORY_EVERY

    async def history(self, now: datetime) -> None:
        """Take in what accounting has seen since it was last read. May raise SlurmError."""
        self._history_at = now
        async with self._parts.db.session() as db:
            mark = await db.get(Mark, MARK)
        since = mark.at - OVERLAP if mark else now - FIRST_LOOK_BACK
        try:
            found = await self._parts.watcher.history(max(since, now - LONGEST_LOOK_BACK))
        except SlurmError as error:
            log.warning("accounting is not known", error=error.message)
            return
        told = [info for info in found if _key(info) is not None]
        foreign = await self._foreign(told)
        self._parts.watcher.disown(foreign)
        others = [replace(i, uuid=None) if _name(i) in foreign else i for i in told]
        await self._take([info for info in others if info.uuid is None], now)
        async with self._parts.db.session() as db:
            await db.merge(Mark(name=MARK, at=now))
            await db.commit()

    async def _take(self, infos: Iterable[JobInfo], now: datetime) -> set[str]:
        """Write a row for each job, or array, of someone we know; whom of them that is."""
        users = await self._users({info.user for info in infos})
        groups: dict[str, list[JobInfo]] = {}
        for info in infos:
            if info.user in users:
                groups.setdefault(row_id(self._parts, info), []).append(info)
        newest = sorted(groups.items(), key=lambda group: group[1][0].job_id, reverse=True)
        taken: Counter[str] = Counter()
        rows: list[BatchJob] = []
        for identity, group in newest[: 10 * MOST_AT_ONCE]:
            taken[group[0].user] += 1
            if taken[group[0].user] <= MOST_LIVE and len(rows) < MOST_AT_ONCE:
                rows.append(_row(self._parts, users[group[0].user], identity, group, now))
        for user_id in await self._insert(rows):
            self._parts.changes.notify(user_id)
        return set(users)

    async def _foreign(self, infos: Collection[JobInfo]) -> set[Name]:
        """The UUIDs, with their users, of which we have no job."""
        named = {(info.uuid, info.user) for info in infos if info.uuid is not None}
        ids = [uuid for uuid, _ in named]
        query = select(Job.id, User.username).join(User, User.id == Job.user_id)
        async with self._parts.db.session() as db:
            for start in range(0, len(ids), MOST_AT_ONCE):
                some = query.where(Job.id.in_(ids[start : start + MOST_AT_ONCE]))
                named -= {(row.id, row.username) for row in await db.execute(some)}
        return named

    async def _users(self, names: set[str]) -> dict[str, User]:
        query = select(User).where(User.username.in_(names), User.disabled_at.is_(None))
        async with self._parts.db.session() as db:
            return {user.username: user for user in (await db.scalars(query)).all()}

    async def _insert(self, rows: list[BatchJob]) -> set[str]:
        """Insert those that have no row of any kind yet: accounting keeps no comment of a job that
        runs, so one of the portal's own may look like one from outside."""
        if not rows:
            return set()
        numbers = [row.job_id for row in rows]
        columns = (Job.id, Job.user_id, Job.job_id, Job.state, Job.submit_time)
        async with self._parts.db.session() as db:
            there = (await db.execute(select(*columns).where(Job.job_id.in_(numbers)))).all()
            new = [row for row in rows if not any(_is_same(row, known) for known in there)]
            db.add_all(new)
            try:
                await db.commit()
            except IntegrityError as error:
                log.warning(
                    "jobs from outside are taken in at a later round", error=str(error)[:200]
                )
                self._looked_at = None
                return set()
        return {row.user_id for row in new}


def _is_same(row: BatchJob, known: Any) -> bool:
    """Whether a row that is there (id, user_id, job_id, state, submit_time) is of this Slurm job.

    While it lives, Slurm gives its number to no other; a requeue changes the time of submission.
    """
    if known.id == row.id:
        return True
    if (known.user_id, known.job_id) != (row.user_id, row.job_id):
        return False
    if known.state is not JobState.ENDED:
        return True
    submitted = known.submit_time
    return submitted is not None and abs(submitted - row.created_at) < SAME_SUBMISSION


def _key(info: JobInfo) -> Key | None:
    """What names a job of Slurm's."""
    return None if info.submit_time is None else (info.job_id, info.submit_time)


def _name(info: JobInfo) -> tuple[str | None, str]:
    return info.uuid, info.user


def row_id(parts: Parts, info: JobInfo) -> str:
    """The same job has the same id, however often it is found."""
    number = info.array_job_id or info.job_id
    submitted = info.submit_time.isoformat() if info.submit_time else ""
    return str(uuid5(NAMESPACE_OID, f"{parts.settings.cluster_name}/{number}/{submitted}"))


def _row(parts: Parts, user: User, identity: str, group: list[JobInfo], now: datetime) -> BatchJob:
    info = group[0]
    resources = Resources(
        partition=info.partition,
        nodes=max(1, len(info.nodes)),
        time_limit_minutes=info.time_limit_minutes,
        account=info.account,
        qos=info.qos,
    )
    row = BatchJob(
        id=identity,
        user_id=user.id,
        owner_id=user.id,
        name=printable(info.name) or f"job {info.array_job_id or info.job_id}",
        resources=launch.kept(resources),
        cluster=parts.settings.cluster_name,
        external=True,
        created_at=info.submit_time,
        job_id=info.array_job_id or info.job_id,
        parameters={},
        files={},
        script="",
        nodes=[],
        state=JobState.QUEUED,
        array_size=len(group) if info.array_job_id else None,
        tasks=[] if info.array_job_id else None,
    )
    update = arrays.observe(row, group, now) if info.array_job_id else observe(row, info, now)
    for column, value in update.items():
        setattr(row, column, value)
    return row


def printable(name: str) -> str:
    """A job's name is anyone's text."""
    return "".join(c for c in name if c.isprintable()).strip()[:64]
