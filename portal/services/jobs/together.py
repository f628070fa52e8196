"""Several of one's jobs at once: cancelled, taken off the list, or looked at beside each other.

Cancelling and removing are one statement for all rows, in one transaction with one event. It counts
every row's version up, so that whoever holds an older one reads it again, as after any change.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from portal.db import utcnow
from portal.models import BatchJob, Job, JobState, User, Wanted
from portal.parts import Parts
from portal.services.audit import audit
from portal.services.audit.audit import Action, By
from portal.services.changes import RECONCILE
from portal.services.jobs import jobs, listing
from portal.services.jobs.sofar import Metrics
from spawner.errors import SpawnerError

log = structlog.get_logger(__name__)

AT_ONCE = 500
MOST_COMPARED = 8
READ_WITHIN_S = 4.0
NOT_YOURS = "There is no such job of yours."
_JOBS = Job.metadata.tables[Job.__tablename__]


@dataclass(frozen=True)
class Refused:
    """A job that was left as it is, and why."""

    id: str
    message: str


@dataclass(frozen=True)
class Done:
    """What became of it. `left`: how many more jobs the filter would reach if it is asked again;
    None where jobs were named."""

    done: tuple[str, ...]
    refused: tuple[Refused, ...] = ()
    left: int | None = None


@dataclass(frozen=True)
class _Act:
    """One thing that can be done to many: to which rows, what it writes, and why not to others (by
    their state and outcome)."""

    action: Action
    to: ColumnElement[bool]
    values: Callable[[], Mapping[str, Any]]
    refusal: Callable[[Any], str | None]


def _cancelled() -> Mapping[str, Any]:
    asked = func.coalesce(_JOBS.c.stop_requested_at, utcnow())
    return {
        "wanted": Wanted.STOP, "state": JobState.STOPPING, "reason": None, "advice": None,
        "stop_requested_at": asked,
    }  # fmt: skip


_CANCEL = _Act(
    Action.JOB_CANCEL_MANY,
    (_JOBS.c.state != JobState.ENDED) & (_JOBS.c.wanted != Wanted.STOP),
    _cancelled,
    lambda row: jobs.has_ended(row.outcome) if row.state is JobState.ENDED else None,
)
_REMOVE = _Act(
    Action.JOB_REMOVE_MANY,
    _JOBS.c.state == JobState.ENDED,
    lambda: {"removed_at": utcnow()},
    lambda row: jobs.NOT_ENDED if row.state is not JobState.ENDED else None,
)


async def cancel(parts: Parts, user: User, of: Sequence[str] | listing.Filter, by: By) -> Done:
    """Ask for the end of these jobs, or of so many that a filter lets through, the oldest first.

    One that was asked for before counts as done; one that has ended is refused."""
    done = await _act(parts, user, of, by, _CANCEL)
    parts.changes.notify(RECONCILE, *done.done)
    return done


async def remove(parts: Parts, user: User, of: Sequence[str] | listing.Filter, by: By) -> Done:
    """Take these ended jobs off the list; those that have not ended are refused."""
    return await _act(parts, user, of, by, _REMOVE)


async def _act(
    parts: Parts, user: User, of: Sequence[str] | listing.Filter, by: By, act: _Act
) -> Done:
    async with parts.db.session() as db:
        if isinstance(of, listing.Filter):
            reached = listing.ids_of(user, of).where(act.to)
            ids = list(await db.scalars(reached.limit(AT_ONCE)))
            refused: list[Refused] = []
        else:
            ids, refused = await _named(db, user, of, act)
        changed = await _write(db, ids, act)
        if changed:
            target = f"{user.username}/{len(changed)} jobs"
            # In bundles: the audit keeps a hundred entries of a list.
            bundles = [changed[at : at + 100] for at in range(0, len(changed), 100)]
            detail = {"count": len(changed), "jobs": bundles}
            audit.record(db, act.action, actor=by.actor, target=target, detail=detail, ip=by.ip)
        await db.commit()
        left = None
        if isinstance(of, listing.Filter):
            rest = select(func.count()).select_from(reached.subquery())
            left = await db.scalar(rest) or 0
    parts.changes.notify(user.id)
    already = [] if isinstance(of, listing.Filter) else ids  # asked for before
    return Done(tuple(dict.fromkeys([*changed, *already])), tuple(refused), left)


async def _named(
    db: AsyncSession, user: User, ids: Sequence[str], act: _Act
) -> tuple[list[str], list[Refused]]:
    """Which of these ids it may be done to, and why not to the others."""
    columns = select(_JOBS.c.id, _JOBS.c.state, _JOBS.c.outcome)
    query = columns.where(listing.of(user, listing.Filter()), _JOBS.c.id.in_(ids))
    rows = {row.id: row for row in await db.execute(query)}
    why = {key: act.refusal(rows[key]) if key in rows else NOT_YOURS for key in dict.fromkeys(ids)}
    allowed = [key for key, message in why.items() if message is None]
    return allowed, [Refused(key, message) for key, message in why.items() if message]


async def _write(db: AsyncSession, ids: Iterable[str], act: _Act) -> list[str]:
    """The ids of the rows that were changed: those that meanwhile became what it isn't for are
    left alone."""
    statement = update(_JOBS).where(_JOBS.c.id.in_(list(ids)), act.to)
    values = {**act.values(), "version": _JOBS.c.version + 1, "changed_at": utcnow()}
    return list(await db.scalars(statement.values(values).returning(_JOBS.c.id)))


# --- side by side -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Compared:
    """A job beside others. `metrics`: the last value of each scalar that it has logged; None where
    there is nothing to read, with a `problem` where it could not be."""

    job: BatchJob
    metrics: Metrics | None = None
    problem: str | None = None


async def compare(parts: Parts, user: User, ids: Sequence[str]) -> list[Compared]:
    """These jobs in this order, each once; those that aren't on the user's list are left out.

    What they have logged is read now, as their owner, by one request to the launcher."""
    query = select(BatchJob).where(
        BatchJob.user_id == user.id, BatchJob.removed_at.is_(None), BatchJob.id.in_(ids)
    )
    async with parts.db.session() as db:
        found = {job.id: job for job in (await db.scalars(query)).all()}
    chosen = [found[key] for key in dict.fromkeys(ids) if key in found]
    logging = [job for job in chosen if job.logdir and job.started_at and job.array_size is None]
    values, problem = await _logged(parts, user, logging)
    reads = {job.id for job in logging}
    return [
        Compared(job, values.get(job.id), problem if job.id in reads else None) for job in chosen
    ]


async def _logged(
    parts: Parts, user: User, begun: Sequence[BatchJob]
) -> tuple[dict[str, Metrics], str | None]:
    """By job, the last value of each scalar; or a sentence on why that isn't known."""
    if not begun:
        return {}, None
    folders = [job.logdir or "" for job in begun]
    try:
        read = await parts.agents.scalars(user.username, folders, READ_WITHIN_S)
    except SpawnerError as error:
        log.info("compared runs' values are not known", error=error.message)
        problem = f"What these runs have logged can't be read at the moment. {error.message}"
        return {}, problem
    return {job.id: metrics for job, metrics in zip(begun, read, strict=False)}, None
