"""Lists of a user's jobs: filtered, sorted, paginated and counted.

A page is read along an index, so that its cost does not depend on the length of the history; only a
search without results reads all of the user's rows. Conditions on a job's second table are
subqueries of IDs, because its rows are long and must not be read only to be left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, String, and_, cast, func, or_, select

from portal.context import AppContext
from portal.errors import FieldError, invalid_input
from portal.models import JOBS_TABLE, BatchJob, JobKind, JobState, User
from portal.services import paging
from spawner.slurm.model import Outcome

PAGE = 50
WAITING = (JobState.SUBMITTING, JobState.QUEUED)
_BATCH = BatchJob.metadata.tables[BatchJob.__tablename__]

Which = Literal["live", "waiting", "running", "ended", "all"]


class JobOrder(StrEnum):
    """Sort order of a list. `ended`: only ended jobs, most recently ended first."""

    NEWEST = "newest"
    OLDEST = "oldest"
    NAME = "name"
    NAME_DOWN = "name_down"
    ENDED = "ended"


@dataclass(frozen=True)
class JobSelection:
    """Selection of jobs.

    `q` is searched in names and Slurm's IDs. `template` is a template's name; "" selects free
    scripts and external jobs. `since` and `until` bound the time of submission to the portal. Empty
    `outcomes` means any.
    """

    state: Which = "all"
    outcomes: tuple[Outcome, ...] = ()
    template: str | None = None
    q: str | None = None
    external: bool | None = None
    since: datetime | None = None
    until: datetime | None = None


async def page(
    context: AppContext,
    user: User,
    wanted: JobSelection,
    limit: int = PAGE,
    order: JobOrder = JobOrder.NEWEST,
    cursor: str | None = None,
) -> list[BatchJob]:
    """Return a user's jobs in this order, after the cursor; at most `limit` + 1 rows. Raises
    InvalidInput for a cursor that does not fit this order.
    """
    query = ordered(query_of(user, wanted), order)
    if cursor:
        query = query.where(_build_after_condition(order, cursor))
    async with context.db.session() as db:
        return list((await db.scalars(query.limit(limit + 1))).all())


def query_of(user: User, wanted: JobSelection) -> Select[BatchJob]:
    """Build the query for a user's jobs that match a filter, unordered."""
    return select(BatchJob).where(to_condition(user, wanted))


async def count(context: AppContext, user: User, wanted: JobSelection) -> int:
    """Count the jobs that match a filter."""
    query = select(func.count()).select_from(JOBS_TABLE).where(to_condition(user, wanted))
    async with context.db.session() as db:
        return (await db.scalar(query)) or 0


def ids_of(user: User, wanted: JobSelection) -> Select[str]:
    """Build the query for the IDs of matching jobs, oldest first."""
    columns = select(JOBS_TABLE.c.id).where(to_condition(user, wanted))
    return columns.order_by(JOBS_TABLE.c.created_at, JOBS_TABLE.c.id)


def to_condition(user: User, wanted: JobSelection) -> ColumnElement[bool]:
    """Return the condition for a user's jobs that match a filter."""
    own = and_(
        JOBS_TABLE.c.user_id == user.id,
        JOBS_TABLE.c.kind == JobKind.JOB,
        JOBS_TABLE.c.removed_at.is_(None),
    )
    return and_(own, *_build_state_conditions(wanted), *_build_search_conditions(user, wanted))


def _build_state_conditions(wanted: JobSelection) -> list[ColumnElement[bool]]:
    state = JOBS_TABLE.c.state
    conditions: dict[Which, list[ColumnElement[bool]]] = {
        "all": [],
        "live": [state != JobState.ENDED],
        "waiting": [state.in_(WAITING)],
        "running": [state.not_in((*WAITING, JobState.ENDED))],
        "ended": [state == JobState.ENDED],
    }
    if not wanted.outcomes:
        return conditions[wanted.state]
    has_outcome = JOBS_TABLE.c.outcome.in_(wanted.outcomes)
    return [*conditions[wanted.state], state == JobState.ENDED, has_outcome]


def _build_search_conditions(user: User, wanted: JobSelection) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if wanted.q:
        named = JOBS_TABLE.c.name.icontains(wanted.q, autoescape=True)
        found.append(or_(named, cast(JOBS_TABLE.c.job_id, String) == wanted.q.strip()))
    if wanted.since is not None:
        found.append(JOBS_TABLE.c.created_at >= wanted.since)
    if wanted.until is not None:
        found.append(JOBS_TABLE.c.created_at < wanted.until)
    own_ids = select(_BATCH.c.id).where(_BATCH.c.owner_id == user.id)
    if wanted.template is not None:
        same = (
            _BATCH.c.template == wanted.template if wanted.template else _BATCH.c.template.is_(None)
        )
        found.append(JOBS_TABLE.c.id.in_(own_ids.where(same)))
    if wanted.external is not None:
        found.append(JOBS_TABLE.c.id.in_(own_ids.where(_BATCH.c.external.is_(wanted.external))))
    return found


def ordered(query: Select[BatchJob], order: JobOrder) -> Select[BatchJob]:
    """Add an order to the query, which is backed by an index."""
    if order is JobOrder.ENDED:
        query = query.where(BatchJob.ended_at.is_not(None))
    column, down = _COLUMNS[order], order not in {JobOrder.OLDEST, JobOrder.NAME}
    keys = (column, JOBS_TABLE.c.id)
    return query.order_by(*(key.desc() if down else key.asc() for key in keys))


_COLUMNS = {
    JobOrder.NEWEST: JOBS_TABLE.c.created_at,
    JobOrder.OLDEST: JOBS_TABLE.c.created_at,
    JobOrder.NAME: JOBS_TABLE.c.name,
    JobOrder.NAME_DOWN: JOBS_TABLE.c.name,
    JobOrder.ENDED: JOBS_TABLE.c.ended_at,
}


def _build_after_condition(order: JobOrder, text: str) -> ColumnElement[bool]:
    """Return the condition for rows after a cursor: two comparisons, the first of which uses the
    index.
    """
    value, row_id = _parse_cursor(order, text)
    column, key = _COLUMNS[order], JOBS_TABLE.c.id
    if order in {JobOrder.OLDEST, JobOrder.NAME}:
        return and_(column >= value, or_(column > value, key > row_id))
    return and_(column <= value, or_(column < value, key < row_id))


def cursor_of(found: Sequence[BatchJob], order: JobOrder, limit: int = PAGE) -> str | None:
    """Return the cursor of the next page, or None if this is the last one."""
    if len(found) <= limit:
        return None
    last = found[limit - 1]
    if order in {JobOrder.NAME, JobOrder.NAME_DOWN}:
        return f"{last.id}~{last.name}"
    return paging.cursor(
        last.ended_at or last.created_at if order is JobOrder.ENDED else last.created_at, last.id
    )


def _parse_cursor(order: JobOrder, text: str) -> tuple[Any, str]:
    if order not in {JobOrder.NAME, JobOrder.NAME_DOWN}:
        return paging.read_cursor(text)
    row_id, divided, name = text.partition("~")
    if not divided:
        raise invalid_input([FieldError("cursor", "This page cursor is invalid.")])
    return name, row_id
