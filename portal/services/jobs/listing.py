"""Lists of a user's jobs: filtered, sorted, paginated and counted.

A page is read along an index, so that its cost does not depend on the length of the history; only a
search without results, and the order by a parameter or metric, read all of the user's rows.
Conditions on the columns of BatchJob's own table (joined inheritance) are subqueries of IDs,
because its rows are long and must not be read only to be left out.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, String, and_, case, cast, func, or_, select, true
from sqlalchemy.orm import defer

from portal.context import AppContext
from portal.errors import FieldError, invalid_input
from portal.models import JOBS_TABLE, BatchJob, JobKind, JobState, User
from portal.services import paging
from portal.services.jobs import column_order
from spawner.slurm.model import Outcome

PAGE = 50
MAX_PAGE = 200
RECENT_JOBS = 100
RECENT_TEMPLATES = 4
WAITING = (JobState.SUBMITTING, JobState.QUEUED)
_BATCH_JOBS = BatchJob.metadata.tables[BatchJob.__tablename__]

StateFilter = Literal["live", "waiting", "running", "ended", "all"]


class JobOrder(StrEnum):
    """Sort order of a list.

    `ended` and `started`: only jobs that have ended or started, the most recent first; with `_up`,
    the earliest first. `duration`: only jobs that have run and ended, the longest first; with
    `_up`, the shortest first. `value`: only jobs that have the value of one column (a parameter or
    metric), the highest first; with `_up`, the lowest first.
    """

    NEWEST = "newest"
    OLDEST = "oldest"
    NAME = "name"
    NAME_DOWN = "name_down"
    ENDED = "ended"
    ENDED_UP = "ended_up"
    STARTED = "started"
    STARTED_UP = "started_up"
    DURATION = "duration"
    DURATION_UP = "duration_up"
    VALUE = "value"
    VALUE_UP = "value_up"


@dataclass(frozen=True)
class JobSelection:
    """Filter of a list of jobs.

    `q` is searched in names and Slurm's IDs. `template` is a template's name; "" selects custom
    scripts and external jobs. `since` and `until` bound the time of submission to the portal. Empty
    `outcomes` or `ids` means any.
    """

    state: StateFilter = "all"
    outcomes: tuple[Outcome, ...] = ()
    template: str | None = None
    q: str | None = None
    external: bool | None = None
    since: datetime | None = None
    until: datetime | None = None
    ids: tuple[str, ...] = ()


async def page(
    context: AppContext,
    user: User,
    selection: JobSelection,
    limit: int = PAGE,
    order: JobOrder = JobOrder.NEWEST,
    cursor: str | None = None,
) -> list[BatchJob]:
    """Return a user's jobs in this order, after the cursor; at most `limit` + 1 rows. Raises
    InvalidInput for a cursor that does not fit this order.
    """
    query = add_order(build_query(user, selection), order)
    if cursor:
        query = query.where(_build_after_condition(order, cursor))
    async with context.db.session() as db:
        return list((await db.scalars(query.limit(limit + 1))).all())


async def page_by_column(
    context: AppContext,
    user: User,
    selection: JobSelection,
    column: str,
    *,
    ascending: bool,
    limit: int = PAGE,
    cursor: str | None = None,
) -> tuple[list[BatchJob], str | None]:
    """Return a user's jobs that have a value of this parameter or metric, by the value; and the
    cursor of the next page. Raises InvalidInput.
    """
    condition = to_condition(user, selection)
    async with context.db.session() as db:
        order = column_order.ColumnOrder(column, ascending, db.get_bind().dialect.name)
        keys = (await db.execute(order.build_query(condition, cursor).limit(limit + 1))).all()
        ids = [key.id for key in keys[:limit]]
        # In a query of its own, because only the keys need to be sorted.
        jobs = await db.scalars(select_for_list().where(BatchJob.id.in_(ids)))
        by_id = {job.id: job for job in jobs}
    following = column_order.cursor_of(keys[limit - 1]) if len(keys) > limit else None
    return [by_id[id_] for id_ in ids if id_ in by_id], following


def build_query(user: User, selection: JobSelection) -> Select[BatchJob]:
    """Build the query for a user's jobs that match a filter, unordered."""
    return select_for_list().where(to_condition(user, selection))


def select_for_list() -> Select[BatchJob]:
    """Build the query for jobs without their array tasks: 1,000 tasks have 150 kB."""
    return select(BatchJob).options(defer(BatchJob.tasks, raiseload=True))


@dataclass(frozen=True)
class JobCounts:
    """Numbers of jobs.

    `count` is the number of jobs that match a filter. `by_state` counts the jobs that match it
    apart from its state and outcomes: by state, ended jobs by outcome.
    """

    count: int
    by_state: dict[str, int]


async def count(context: AppContext, user: User, selection: JobSelection) -> JobCounts:
    """Count the jobs that match a filter, and their states without its condition on the state."""
    columns = (JOBS_TABLE.c.state, JOBS_TABLE.c.outcome)
    matching = func.sum(case((and_(true(), *_build_state_conditions(selection)), 1), else_=0))
    any_state = replace(selection, state="all", outcomes=())
    query = select(*columns, func.count(), matching).where(to_condition(user, any_state))
    async with context.db.session() as db:
        rows = (await db.execute(query.group_by(*columns))).all()
    by_state: Counter[str] = Counter()
    for state, outcome, number, _ in rows:
        by_state[str(outcome or state)] += number
    return JobCounts(sum(row[3] for row in rows), dict(by_state))


async def load_recent_templates(context: AppContext, user: User) -> list[str]:
    """Return the templates of a user's newest jobs, the last used first."""
    newest = (
        select(JOBS_TABLE.c.id, JOBS_TABLE.c.created_at)
        .where(JOBS_TABLE.c.user_id == user.id, JOBS_TABLE.c.kind == JobKind.JOB)
        .order_by(JOBS_TABLE.c.created_at.desc())
        .limit(RECENT_JOBS)
        .subquery()
    )
    query = (
        select(_BATCH_JOBS.c.template)
        .join(newest, newest.c.id == _BATCH_JOBS.c.id)
        .order_by(newest.c.created_at.desc())
    )
    async with context.db.session() as db:
        names = (await db.scalars(query)).all()
    return list(dict.fromkeys(name for name in names if name))[:RECENT_TEMPLATES]


def build_ids_query(user: User, selection: JobSelection) -> Select[str]:
    """Build the query for the IDs of matching jobs, oldest first."""
    columns = select(JOBS_TABLE.c.id).where(to_condition(user, selection))
    return columns.order_by(JOBS_TABLE.c.created_at, JOBS_TABLE.c.id)


def to_condition(user: User, selection: JobSelection) -> ColumnElement[bool]:
    """Return the condition for a user's jobs that match a filter."""
    own = and_(
        JOBS_TABLE.c.user_id == user.id,
        JOBS_TABLE.c.kind == JobKind.JOB,
        JOBS_TABLE.c.removed_at.is_(None),
    )
    return and_(
        own, *_build_state_conditions(selection), *_build_search_conditions(user, selection)
    )


def _build_state_conditions(selection: JobSelection) -> list[ColumnElement[bool]]:
    state = JOBS_TABLE.c.state
    conditions: dict[StateFilter, list[ColumnElement[bool]]] = {
        "all": [],
        "live": [state != JobState.ENDED],
        "waiting": [state.in_(WAITING)],
        "running": [state.not_in((*WAITING, JobState.ENDED))],
        "ended": [state == JobState.ENDED],
    }
    if not selection.outcomes:
        return conditions[selection.state]
    has_outcome = JOBS_TABLE.c.outcome.in_(selection.outcomes)
    return [*conditions[selection.state], state == JobState.ENDED, has_outcome]


def _build_search_conditions(user: User, selection: JobSelection) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if selection.q:
        matches_name = JOBS_TABLE.c.name.icontains(selection.q, autoescape=True)
        conditions.append(
            or_(matches_name, cast(JOBS_TABLE.c.job_id, String) == selection.q.strip())
        )
    if selection.since is not None:
        conditions.append(JOBS_TABLE.c.created_at >= selection.since)
    if selection.until is not None:
        conditions.append(JOBS_TABLE.c.created_at < selection.until)
    if selection.ids:
        conditions.append(JOBS_TABLE.c.id.in_(selection.ids))
    own_ids = select(_BATCH_JOBS.c.id).where(_BATCH_JOBS.c.owner_id == user.id)
    if selection.template is not None:
        same = (
            _BATCH_JOBS.c.template == selection.template
            if selection.template
            else _BATCH_JOBS.c.template.is_(None)
        )
        conditions.append(JOBS_TABLE.c.id.in_(own_ids.where(same)))
    if selection.external is not None:
        conditions.append(
            JOBS_TABLE.c.id.in_(own_ids.where(_BATCH_JOBS.c.external.is_(selection.external)))
        )
    return conditions


def add_order(query: Select[BatchJob], order: JobOrder) -> Select[BatchJob]:
    """Add an order to the query, which is backed by an index."""
    column = _COLUMNS[order]
    if column.nullable:
        query = query.where(column.is_not(None))
    keys = (column, JOBS_TABLE.c.id)
    return query.order_by(*(key.asc() if order in _UP else key.desc() for key in keys))


BY_VALUE = {JobOrder.VALUE, JobOrder.VALUE_UP}
_COLUMNS = {
    JobOrder.NEWEST: JOBS_TABLE.c.created_at,
    JobOrder.OLDEST: JOBS_TABLE.c.created_at,
    JobOrder.NAME: JOBS_TABLE.c.name,
    JobOrder.NAME_DOWN: JOBS_TABLE.c.name,
    JobOrder.ENDED: JOBS_TABLE.c.ended_at,
    JobOrder.ENDED_UP: JOBS_TABLE.c.ended_at,
    JobOrder.STARTED: JOBS_TABLE.c.started_at,
    JobOrder.STARTED_UP: JOBS_TABLE.c.started_at,
    JobOrder.DURATION: JOBS_TABLE.c.duration_s,
    JobOrder.DURATION_UP: JOBS_TABLE.c.duration_s,
}
_UP = {
    JobOrder.OLDEST,
    JobOrder.NAME,
    JobOrder.ENDED_UP,
    JobOrder.STARTED_UP,
    JobOrder.DURATION_UP,
}
_BY_NAME = {JobOrder.NAME, JobOrder.NAME_DOWN}
_BY_DURATION = {JobOrder.DURATION, JobOrder.DURATION_UP}
_INTEGER_DIGITS = 10  # of the largest integer in PostgreSQL; every shorter number fits


def _build_after_condition(order: JobOrder, text: str) -> ColumnElement[bool]:
    """Return the condition for rows after a cursor: two comparisons, the first of which uses the
    index.
    """
    value, row_id = _parse_cursor(order, text)
    column, key = _COLUMNS[order], JOBS_TABLE.c.id
    if order in _UP:
        return and_(column >= value, or_(column > value, key > row_id))
    return and_(column <= value, or_(column < value, key < row_id))


def cursor_of(jobs: Sequence[BatchJob], order: JobOrder, limit: int = PAGE) -> str | None:
    """Return the cursor of the next page, or None if this is the last one."""
    if len(jobs) <= limit:
        return None
    last = jobs[limit - 1]
    value = getattr(last, _COLUMNS[order].name)
    if order in _BY_NAME | _BY_DURATION:
        return f"{last.id}~{value}"
    return paging.cursor(value, last.id)


def _parse_cursor(order: JobOrder, text: str) -> tuple[Any, str]:
    if order not in _BY_NAME | _BY_DURATION:
        return paging.read_cursor(text)
    row_id, divided, value = text.partition("~")
    is_duration = value.isascii() and value.isdigit() and len(value) < _INTEGER_DIGITS
    if not divided or (order in _BY_DURATION and not is_duration):
        raise invalid_input([FieldError("cursor", "This page cursor is invalid.")])
    return (value if order in _BY_NAME else int(value)), row_id
