"""Bulk operations on a user's jobs: cancel, remove from the list, compare.

Cancelling and removing are one statement for all rows, in one transaction with one audit event. It
increments every row's version: a concurrent update of the row (services/store.py) is then repeated.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from portal.background.notifier import RECONCILE
from portal.context import AppContext
from portal.db import utcnow
from portal.models import JOBS_TABLE, BatchJob, JobState, User, Wanted
from portal.services.audit import audit
from portal.services.audit.audit import Action, Actor
from portal.services.jobs import jobs, listing
from portal.services.jobs.scalar_cache import ScalarValues
from spawner.errors import SpawnerError

log = structlog.get_logger(__name__)

MAX_JOBS_PER_REQUEST = 500
MAX_COMPARED = 8
READ_WITHIN_S = 4.0
JOB_NOT_FOUND = "Job not found."


@dataclass(frozen=True)
class RefusedJob:
    """A job that was not changed, and the reason."""

    id: str
    message: str


@dataclass(frozen=True)
class BulkResult:
    """Result of a bulk operation. `left`: the number of further jobs that the filter would reach in
    another call; None if jobs were given by ID.
    """

    done: tuple[str, ...]
    refused: tuple[RefusedJob, ...] = ()
    left: int | None = None


@dataclass(frozen=True)
class _BulkOperation:
    """A bulk operation: the rows that it changes, the values that it writes, and the reason why it
    is refused for a row (with the columns `state` and `outcome`), or None.
    """

    action: Action
    condition: ColumnElement[bool]
    values: Callable[[], Mapping[str, Any]]
    refusal: Callable[[Any], str | None]


def _build_cancel_values() -> Mapping[str, Any]:
    requested_at = func.coalesce(JOBS_TABLE.c.stop_requested_at, utcnow())
    return {
        "wanted": Wanted.STOP, "state": JobState.STOPPING, "reason": None, "suggestion": None,
        "stop_requested_at": requested_at,
    }  # fmt: skip


_CANCEL = _BulkOperation(
    Action.JOB_CANCEL_MANY,
    (JOBS_TABLE.c.state != JobState.ENDED) & (JOBS_TABLE.c.wanted != Wanted.STOP),
    _build_cancel_values,
    lambda row: jobs.explain_already_ended(row.outcome) if row.state is JobState.ENDED else None,
)
_REMOVE = _BulkOperation(
    Action.JOB_REMOVE_MANY,
    JOBS_TABLE.c.state == JobState.ENDED,
    lambda: {"removed_at": utcnow()},
    lambda row: jobs.NOT_ENDED if row.state is not JobState.ENDED else None,
)


async def cancel(
    context: AppContext, user: User, targets: Sequence[str] | listing.JobSelection, by: Actor
) -> BulkResult:
    """Request the end of these jobs, or of the oldest MAX_JOBS_PER_REQUEST that match a filter.

    A job whose end was requested before counts as done; one that has ended is refused.
    """
    result = await _run_operation(context, user, targets, by, _CANCEL)
    context.notifier.notify(RECONCILE, *result.done)
    return result


async def remove(
    context: AppContext, user: User, targets: Sequence[str] | listing.JobSelection, by: Actor
) -> BulkResult:
    """Remove these ended jobs from the list; jobs that have not ended are refused."""
    return await _run_operation(context, user, targets, by, _REMOVE)


async def _run_operation(
    context: AppContext,
    user: User,
    targets: Sequence[str] | listing.JobSelection,
    by: Actor,
    operation: _BulkOperation,
) -> BulkResult:
    async with context.db.session() as db:
        if isinstance(targets, listing.JobSelection):
            reached = listing.build_ids_query(user, targets).where(operation.condition)
            ids = list(await db.scalars(reached.limit(MAX_JOBS_PER_REQUEST)))
            refused: list[RefusedJob] = []
        else:
            ids, refused = await _check_ids(db, user, targets, operation)
        changed = await _update_rows(db, ids, operation)
        if changed:
            target = f"{user.username}/{len(changed)} jobs"
            # In batches: the audit log keeps at most a hundred entries of a list.
            batches = [changed[start : start + 100] for start in range(0, len(changed), 100)]
            detail = {"count": len(changed), "jobs": batches}
            audit.record(
                db, operation.action, actor=by.actor, target=target, detail=detail, ip=by.ip
            )
        await db.commit()
        left = None
        if isinstance(targets, listing.JobSelection):
            rest = select(func.count()).select_from(reached.subquery())
            left = await db.scalar(rest) or 0
    context.notifier.notify(user.id)
    # IDs that were not refused count as done; a job that was cancelled before is unchanged.
    accepted = [] if isinstance(targets, listing.JobSelection) else ids
    return BulkResult(tuple(dict.fromkeys([*changed, *accepted])), tuple(refused), left)


async def _check_ids(
    db: AsyncSession, user: User, ids: Sequence[str], operation: _BulkOperation
) -> tuple[list[str], list[RefusedJob]]:
    """Return the IDs that the operation is not refused for, and the refusals of the others."""
    columns = select(JOBS_TABLE.c.id, JOBS_TABLE.c.state, JOBS_TABLE.c.outcome)
    query = columns.where(
        listing.to_condition(user, listing.JobSelection()), JOBS_TABLE.c.id.in_(ids)
    )
    rows = {row.id: row for row in await db.execute(query)}
    refusals = {
        key: operation.refusal(rows[key]) if key in rows else JOB_NOT_FOUND
        for key in dict.fromkeys(ids)
    }
    allowed = [key for key, message in refusals.items() if message is None]
    return allowed, [RefusedJob(key, message) for key, message in refusals.items() if message]


async def _update_rows(
    db: AsyncSession, ids: Iterable[str], operation: _BulkOperation
) -> list[str]:
    """Update the rows and return their IDs; rows to which the operation no longer applies are not
    changed.
    """
    statement = update(JOBS_TABLE).where(JOBS_TABLE.c.id.in_(list(ids)), operation.condition)
    values = {**operation.values(), "version": JOBS_TABLE.c.version + 1, "changed_at": utcnow()}
    return list(await db.scalars(statement.values(values).returning(JOBS_TABLE.c.id)))


# --- comparing ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ComparedJob:
    """A job in a comparison. `metrics` has the last value of each scalar that it has logged; None
    if there is nothing to read, or with a `problem` if reading failed.
    """

    job: BatchJob
    metrics: ScalarValues | None = None
    problem: str | None = None


async def compare(context: AppContext, user: User, ids: Sequence[str]) -> list[ComparedJob]:
    """Return these jobs in this order, each once; jobs that are not on the user's list are left
    out.

    Their logged values are read now, as their owner, with one request to the files program.
    """
    chosen = await load_listed(context, user, ids)
    started = [job for job in chosen if job.logdir and job.started_at and job.array_size is None]
    values, problem = await _read_logged(context, user, started)
    ids_read = {job.id for job in started}
    return [
        ComparedJob(job, values.get(job.id), problem if job.id in ids_read else None)
        for job in chosen
    ]


async def load_listed(context: AppContext, user: User, ids: Sequence[str]) -> list[BatchJob]:
    """Return these jobs in this order, each once, as far as they are on the user's list."""
    query = select(BatchJob).where(
        BatchJob.user_id == user.id, BatchJob.removed_at.is_(None), BatchJob.id.in_(ids)
    )
    async with context.db.session() as db:
        by_id = {job.id: job for job in (await db.scalars(query)).all()}
    return [by_id[key] for key in dict.fromkeys(ids) if key in by_id]


async def _read_logged(
    context: AppContext, user: User, started: Sequence[BatchJob]
) -> tuple[dict[str, ScalarValues], str | None]:
    """Return, by job, the last value of each scalar, or a message if reading failed."""
    if not started:
        return {}, None
    folders = [job.logdir or "" for job in started]
    try:
        read = await context.file_pool.scalars(user.username, folders, READ_WITHIN_S)
    except SpawnerError as error:
        log.info("cannot read the values of compared runs", error=error.message)
        problem = f"The logged values of these runs can't be read. {error.message}"
        return {}, problem
    return {job.id: metrics for job, metrics in zip(started, read, strict=False)}, None
