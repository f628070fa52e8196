"""External jobs: jobs that users of the portal submitted outside it, with sbatch or otherwise.

Each gets a row, so that it is in its owner's list with a log and a TensorBoard like any other job.

Jobs in squeue are taken from the watcher's last result, a limited number each time. Jobs that
started and ended while the portal was down are read from accounting, from the time of the last
read; those without an end are in squeue, too, or slurmctld has forgotten them. The number of jobs
per user is limited; Slurm's own tools show the rest. All of a disabled user's jobs in squeue are
imported, because the portal can only end jobs that have a row.

Slurm's comment of a job that the portal submitted carries the UUID of the job's row. Any user can
write any comment, so a UUID in it does not make a job one of the portal's; the row does, which is
written before the job is submitted.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import structlog
from sqlalchemy import func, select
from sqlalchemy.exc import DataError, IntegrityError

from portal.context import AppContext
from portal.models import BatchJob, Job, JobState, Mark, User
from portal.services.limits.gpu_limit import explain_pending
from portal.services.slurm import arrays, launch
from portal.services.slurm.lifecycle import build_observed_columns
from spawner.errors import QueryTooLarge, SlurmError
from spawner.names import remove_invisible
from spawner.slurm.missing_jobs import CLOCK_SLACK, SAME_SUBMISSION, PortalJobKey
from spawner.slurm.model import JobInfo, JobPhase, Resources

log = structlog.get_logger(__name__)

MARK = "accounting"
"""Name of the Mark with the time until which accounting was read."""
FIRST_LOOK_BACK = timedelta(days=2)
LONGEST_LOOK_BACK = timedelta(days=30)
SHORTEST_SPAN = timedelta(hours=1)  # of accounting that is read at once
HISTORY_EVERY = timedelta(minutes=10)
OVERLAP = timedelta(minutes=5)
MAX_JOBS_PER_USER = 200  # imported in one pass, newest first; all of a disabled user
ROWS_PER_TRANSACTION = 500  # also those of one query, and those imported from one squeue result
SUBMISSION_PATIENCE = timedelta(minutes=1)  # longer than a submission takes

Key = tuple[int, datetime]  # Slurm's job id, submission time


class ExternalJobImport:
    """Import of external jobs; remembers the Slurm jobs that it has processed, so that a pass is
    cheap.
    """

    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._seen: set[Key] = set()
        self._processed_at: datetime | None = None
        self._history_at: datetime | None = None
        self._longest_span = LONGEST_LOOK_BACK  # shorter after a failure

    async def import_new(self, now: datetime) -> None:
        """Import the jobs that are new in the watcher's result from squeue, once per result. A job
        whose comment has a UUID of no row is imported with the next result, in which the watcher
        shows it as external.
        """
        watcher = self._context.watcher
        if watcher.stale_since is not None or watcher.at == self._processed_at:
            return
        self._processed_at = watcher.at
        shown = {key: info for info in watcher.jobs.values() if (key := _to_key(info)) is not None}
        self._seen &= shown.keys()
        new = {key: info for key, info in shown.items() if key not in self._seen}
        if not new:
            return
        unknown_uuids = await self._find_unknown_uuids(new.values())
        watcher.mark_unknown_uuids(unknown_uuids)
        others = [info for info in new.values() if info.uuid is None]
        # Loaded before the import: a user who first logs in after the import must not be in
        # `users`, or their jobs would be marked as seen without being imported.
        users = await self._load_users({info.user for info in others})
        uncertain = await self._find_uncertain(others, now)
        certain = [info for info in others if _to_key(info) not in uncertain]
        waiting = uncertain | await self._import(certain, now, ROWS_PER_TRANSACTION)
        # Jobs of accounts that have not used the portal yet are imported as soon as the account
        # does.
        self._seen |= {
            key
            for key, info in new.items()
            if _to_portal_job_key(info) not in unknown_uuids
            and (info.uuid is not None or (info.user in users and key not in waiting))
        }

    def is_history_due(self, now: datetime) -> bool:
        return self._history_at is None or now - self._history_at > HISTORY_EVERY

    async def import_history(self, now: datetime) -> None:
        """Import the jobs that accounting has recorded since it was last read: at once, or in
        shorter and shorter spans if its answer is too large. If it does not answer, the next call
        begins with a shorter span, because accounting may be too slow.
        """
        self._history_at = now
        async with self._context.db.session() as db:
            mark = await db.get(Mark, MARK)
        since = mark.at - OVERLAP if mark else now - FIRST_LOOK_BACK
        since = max(since, now - LONGEST_LOOK_BACK)
        span = min(now - since, self._longest_span)
        while since < now:
            until = min(now, since + span)
            try:
                records = await self._context.watcher.fetch_history(since, until)
            except SlurmError as error:
                if isinstance(error, QueryTooLarge) and span > SHORTEST_SPAN:
                    span = max(span / 2, SHORTEST_SPAN)
                    continue
                log.warning("cannot read accounting", error=error.message, since=since)
                self._longest_span = max(span / 2, SHORTEST_SPAN)
                return
            await self._import_records(records, now)
            async with self._context.db.session() as db:
                await db.merge(Mark(name=MARK, at=until))
                await db.commit()
            since = until
            self._longest_span = min(2 * self._longest_span, LONGEST_LOOK_BACK)

    async def _import_records(self, records: Sequence[JobInfo], now: datetime) -> None:
        """Import the external jobs among accounting's records that have ended."""
        ended = [info for info in records if info.phase is JobPhase.ENDED]
        identified = [info for info in ended if _to_key(info) is not None]
        unknown_uuids = await self._find_unknown_uuids(identified)
        self._context.watcher.mark_unknown_uuids(unknown_uuids)
        others = [
            replace(i, uuid=None) if _to_portal_job_key(i) in unknown_uuids else i
            for i in identified
        ]
        await self._import([info for info in others if info.uuid is None], now)

    async def _import(
        self, infos: Collection[JobInfo], now: datetime, most: int | None = None
    ) -> set[Key]:
        """Write a row for each job or array of a portal user that has none, newest first, at
        most `most` if given; return the keys of those still to be imported.
        """
        users = await self._load_users({info.user for info in infos})
        groups = _limit_per_user(self._group(infos, users), users)
        new = await self._filter_without_row(groups, users)
        chosen, later = (new, []) if most is None else (new[:most], new[most:])
        for start in range(0, len(chosen), ROWS_PER_TRANSACTION):
            batch = chosen[start : start + ROWS_PER_TRANSACTION]
            await self._insert([self._to_group_row(group, users, now) for group in batch])
        return {key for group in later for info in group if (key := _to_key(info)) is not None}

    def _group(self, infos: Iterable[JobInfo], users: Mapping[str, User]) -> list[list[JobInfo]]:
        """Group the jobs of these users; an array's tasks are one group."""
        groups: dict[str, list[JobInfo]] = {}
        for info in infos:
            if info.user in users:
                groups.setdefault(derive_row_id(self._context, info), []).append(info)
        return list(groups.values())

    def _to_group_row(
        self, group: list[JobInfo], users: Mapping[str, User], now: datetime
    ) -> BatchJob:
        user = users[group[0].user]
        return _to_row(self._context, user, derive_row_id(self._context, group[0]), group, now)

    async def _filter_without_row(
        self, groups: Sequence[list[JobInfo]], users: Mapping[str, User]
    ) -> list[list[JobInfo]]:
        """Return the groups that have no row of any kind. Accounting has no comment for a running
        job, so one of the portal's own may look like an external one.
        """
        columns = (
            Job.id,
            Job.user_id,
            Job.job_id,
            Job.state,
            Job.submit_time,
            Job.created_at,
            Job.submitted_at,
        )
        external: list[list[JobInfo]] = []
        async with self._context.db.session() as db:
            for start in range(0, len(groups), ROWS_PER_TRANSACTION):
                batch = groups[start : start + ROWS_PER_TRANSACTION]
                query = select(*columns).where(
                    Job.job_id.in_([_get_job_id(group) for group in batch])
                )
                rows_by_job_id: dict[int, list[Any]] = {}
                for row in (await db.execute(query)).all():
                    rows_by_job_id.setdefault(row.job_id, []).append(row)
                for group in batch:
                    row_id, user = derive_row_id(self._context, group[0]), users[group[0].user]
                    rows = rows_by_job_id.get(_get_job_id(group), [])
                    if not any(_belongs_to_row(row_id, user, group[0], row) for row in rows):
                        external.append(group)
        return external

    async def _find_uncertain(self, infos: Collection[JobInfo], now: datetime) -> set[Key]:
        """Return the jobs without a UUID in their comment that may nevertheless be the portal's:
        sbatch has not yet answered the submission of a row of their user, so that the row has no
        job id, and the job's comment may have been changed since.
        """
        submitting = (
            select(User.username, func.min(Job.changed_at).label("since"))
            .join(User, User.id == Job.user_id)
            .where(Job.job_id.is_(None), Job.state != JobState.ENDED)
            .where(Job.changed_at > now - SUBMISSION_PATIENCE)
            .group_by(User.username)
        )
        async with self._context.db.session() as db:
            since = {row.username: row.since for row in await db.execute(submitting)}
        keys = ((info.user, _to_key(info)) for info in infos if info.user in since)
        return {
            key for user, key in keys if key is not None and key[1] >= since[user] - CLOCK_SLACK
        }

    async def _find_unknown_uuids(self, infos: Collection[JobInfo]) -> set[PortalJobKey]:
        """Return the UUIDs in the comments of these jobs, with the jobs' users, that belong to no
        row.
        """
        unknown = {(info.uuid, info.user) for info in infos if info.uuid is not None}
        ids = [uuid for uuid, _ in unknown]
        query = select(Job.id, User.username).join(User, User.id == Job.user_id)
        async with self._context.db.session() as db:
            for start in range(0, len(ids), ROWS_PER_TRANSACTION):
                batch = query.where(Job.id.in_(ids[start : start + ROWS_PER_TRANSACTION]))
                unknown -= {(row.id, row.username) for row in await db.execute(batch)}
        return unknown

    async def _load_users(self, names: set[str]) -> dict[str, User]:
        """Return the users of these names, including disabled ones."""
        query = select(User).where(User.username.in_(names))
        async with self._context.db.session() as db:
            return {user.username: user for user in (await db.scalars(query)).all()}

    async def _insert(self, rows: list[BatchJob]) -> None:
        """Insert all rows, one by one if the database refuses one: another writer was faster, or
        Slurm reported a value that does not fit.
        """
        if not await self._insert_together(rows):
            for row in rows:
                if not await self._insert_together([row]):
                    log.warning("an external job was not recorded", slurm=row.job_id)
        for user_id in {row.user_id for row in rows}:
            self._context.notifier.notify(user_id)

    async def _insert_together(self, rows: list[BatchJob]) -> bool:
        """Insert rows in one transaction; return False if the database refuses one."""
        async with self._context.db.session() as db:
            db.add_all(rows)
            try:
                await db.commit()
            except (DataError, IntegrityError) as error:
                log.warning("the database refuses external jobs", error=str(error)[:200])
                return False
        return True


def _limit_per_user(groups: list[list[JobInfo]], users: Mapping[str, User]) -> list[list[JobInfo]]:
    """Return each user's newest groups up to the limit, but all groups of disabled users."""
    taken: Counter[str] = Counter()
    limited: list[list[JobInfo]] = []
    for group in sorted(groups, key=_get_job_id, reverse=True):
        user = group[0].user
        taken[user] += 1
        if taken[user] <= MAX_JOBS_PER_USER or users[user].disabled_at is not None:
            limited.append(group)
    return limited


def _get_job_id(group: list[JobInfo]) -> int:
    return group[0].array_job_id or group[0].job_id


def _belongs_to_row(row_id: str, user: User, info: JobInfo, row: Any) -> bool:
    """Return whether this Slurm job is that of `row`, which has the same Slurm job ID. `row_id` is
    the ID that the row of an external job would have.

    Slurm does not reuse the ID of a job that is alive; a requeue changes the submission time. Slurm
    may never have shown an ended row's job, so that only the portal's times are known.
    """
    if row.id == row_id:
        return True
    if row.user_id != user.id:
        return False
    if row.state is not JobState.ENDED:
        return True
    shown = info.submit_time
    if shown is None:
        return False
    if row.submit_time is not None:
        return bool(abs(row.submit_time - shown) < SAME_SUBMISSION)
    latest = row.submitted_at or row.created_at
    return bool(row.created_at - CLOCK_SLACK <= shown <= latest + CLOCK_SLACK)


def _to_key(info: JobInfo) -> Key | None:
    """Return what identifies a Slurm job, None without a submission time."""
    return None if info.submit_time is None else (info.job_id, info.submit_time)


def _to_portal_job_key(info: JobInfo) -> tuple[str | None, str]:
    return info.uuid, info.user


def derive_row_id(context: AppContext, info: JobInfo) -> str:
    """Return the ID of an external job's row, which is the same each time the job is found."""
    number = info.array_job_id or info.job_id
    submitted = info.submit_time.isoformat() if info.submit_time else ""
    return str(uuid5(NAMESPACE_OID, f"{context.settings.cluster_name}/{number}/{submitted}"))


def _to_row(
    context: AppContext, user: User, row_id: str, group: list[JobInfo], now: datetime
) -> BatchJob:
    info = group[0]
    resources = Resources(
        partition=info.partition,
        nodes=max(1, len(info.nodes)),
        time_limit_minutes=info.time_limit_minutes,
        account=info.account,
        qos=info.qos,
    )
    row = BatchJob(
        id=row_id,
        user_id=user.id,
        owner_id=user.id,
        name=to_printable_name(info.name) or f"job {info.array_job_id or info.job_id}",
        resources=launch.resources_to_json(resources),
        cluster=context.settings.cluster_name,
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
    explain = partial(explain_pending, context)
    if info.array_job_id:
        update = arrays.build_observed_columns(row, group, now, explain)
    else:
        update = build_observed_columns(row, info, now, explain)
    for column, value in update.items():
        setattr(row, column, value)
    return row


def to_printable_name(name: str) -> str:
    """Make a job's name, which is arbitrary text, printable."""
    return remove_invisible(name).strip()[:64]
