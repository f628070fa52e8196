"""One's jobs as a list: filtered, sorted, page by page, and counted.

A page is read along an index, so that it costs the same however long the history is; only a search
that finds nothing looks at all of one's rows. What is asked of a job's second table goes by ids,
for its rows are long and must not be read to be left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, String, and_, cast, func, or_, select

from portal.errors import FieldError, invalid_input
from portal.models import BatchJob, Job, JobKind, JobState, User
from portal.parts import Parts
from portal.services import paging
from spawner.model import Outcome

PAGE = 50
WAITING = (JobState.SUBMITTING, JobState.QUEUED)
_JOBS = Job.metadata.tables[Job.__tablename__]
_BATCH = BatchJob.metadata.tables[BatchJob.__tablename__]

Which = Literal["live", "waiting", "running", "ended", "all"]


class Order(StrEnum):
    """How a list is sorted. `ended`: by when jobs ended, the last one first, and of those that
    have."""

    NEWEST = "newest"
    OLDEST = "oldest"
    NAME = "name"
    NAME_DOWN = "name_down"
    ENDED = "ended"


@dataclass(frozen=True)
class Filter:
    """Which jobs are wanted. `q` is found in names and Slurm's ids; `template` is a template's
    name, "" stands for free scripts and what came from outside; `since` and `until` bound when they
    were submitted to the portal; no `outcomes` means any."""

    state: Which = "all"
    outcomes: tuple[Outcome, ...] = ()
    template: str | None = None
    q: str | None = None
    external: bool | None = None
    since: datetime | None = None
    until: datetime | None = None


async def page(
    parts: Parts,
    user: User,
    wanted: Filter,
    limit: int = PAGE,
    order: Order = Order.NEWEST,
    cursor: str | None = None,
) -> list[BatchJob]:
    """A user's jobs in this order, after the cursor; at most one more than `limit`. Raises
    InvalidInput for a cursor that is none of this order's."""
    query = ordered(query_of(user, wanted), order)
    if cursor:
        query = query.where(_after(order, cursor))
    async with parts.db.session() as db:
        return list((await db.scalars(query.limit(limit + 1))).all())


def query_of(user: User, wanted: Filter) -> Select[BatchJob]:
    """A user's jobs that a filter lets through, in no order."""
    return select(BatchJob).where(of(user, wanted))


async def count(parts: Parts, user: User, wanted: Filter) -> int:
    """How many jobs a filter lets through."""
    query = select(func.count()).select_from(_JOBS).where(of(user, wanted))
    async with parts.db.session() as db:
        return (await db.scalar(query)) or 0


def ids_of(user: User, wanted: Filter) -> Select[str]:
    """Their ids, the oldest first."""
    columns = select(_JOBS.c.id).where(of(user, wanted))
    return columns.order_by(_JOBS.c.created_at, _JOBS.c.id)


def of(user: User, wanted: Filter) -> ColumnElement[bool]:
    """What a user's jobs have in common that a filter lets through."""
    own = and_(
        _JOBS.c.user_id == user.id, _JOBS.c.kind == JobKind.JOB, _JOBS.c.removed_at.is_(None)
    )
    return and_(own, *_states(wanted), *_found(user, wanted))


def _states(wanted: Filter) -> list[ColumnElement[bool]]:
    state = _JOBS.c.state
    conditions: dict[Which, list[ColumnElement[bool]]] = {
        "all": [],
        "live": [state != JobState.ENDED],
        "waiting": [state.in_(WAITING)],
        "running": [state.not_in((*WAITING, JobState.ENDED))],
        "ended": [state == JobState.ENDED],
    }
    if not wanted.outcomes:
        return conditions[wanted.state]
    how = _JOBS.c.outcome.in_(wanted.outcomes)
    return [*conditions[wanted.state], state == JobState.ENDED, how]


def _found(user: User, wanted: Filter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if wanted.q:
        named = _JOBS.c.name.icontains(wanted.q, autoescape=True)
        found.append(or_(named, cast(_JOBS.c.job_id, String) == wanted.q.strip()))
    if wanted.since is not None:
        found.append(_JOBS.c.created_at >= wanted.since)
    if wanted.until is not None:
        found.append(_JOBS.c.created_at < wanted.until)
    theirs = select(_BATCH.c.id).where(_BATCH.c.owner_id == user.id)
    if wanted.template is not None:
        same = (
            _BATCH.c.template == wanted.template if wanted.template else _BATCH.c.template.is_(None)
        )
        found.append(_JOBS.c.id.in_(theirs.where(same)))
    if wanted.external is not None:
        found.append(_JOBS.c.id.in_(theirs.where(_BATCH.c.external.is_(wanted.external))))
    return found


def ordered(query: Select[BatchJob], order: Order) -> Select[BatchJob]:
    """The same in an order, which an index has."""
    if order is Order.ENDED:
        query = query.where(BatchJob.ended_at.is_not(None))
    column, down = _COLUMNS[order], order not in {Order.OLDEST, Order.NAME}
    keys = (column, _JOBS.c.id)
    return query.order_by(*(key.desc() if down else key.asc() for key in keys))


_COLUMNS = {
    Order.NEWEST: _JOBS.c.created_at,
    Order.OLDEST: _JOBS.c.created_at,
    Order.NAME: _JOBS.c.name,
    Order.NAME_DOWN: _JOBS.c.name,
    Order.ENDED: _JOBS.c.ended_at,
}


def _after(order: Order, text: str) -> ColumnElement[bool]:
    """What comes after a cursor's row, in two comparisons of which the first follows the index."""
    value, row_id = _read(order, text)
    column, key = _COLUMNS[order], _JOBS.c.id
    if order in {Order.OLDEST, Order.NAME}:
        return and_(column >= value, or_(column > value, key > row_id))
    return and_(column <= value, or_(column < value, key < row_id))


def cursor_of(found: Sequence[BatchJob], order: Order, limit: int = PAGE) -> str | None:
    """What asks for the page after this one; None where it was the last."""
    if len(found) <= limit:
        return None
    last = found[limit - 1]
    if order in {Order.NAME, Order.NAME_DOWN}:
        return f"{last.id}~{last.name}"
    return paging.cursor(
        last.ended_at or last.created_at if order is Order.ENDED else last.created_at, last.id
    )


def _read(order: Order, text: str) -> tuple[Any, str]:
    if order not in {Order.NAME, Order.NAME_DOWN}:
        return paging.read_cursor(text)
    row_id, divided, name = text.partition("~")
    if not divided:
        raise invalid_input([FieldError("cursor", "This is not the cursor of a page.")])
    return name, row_id
