"""Usage over time: GPU or CPU seconds per day or month of the largest users, groups or accounts."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

from sqlalchemy import case, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from portal.context import AppContext
from portal.models import UsageRead
from portal.services.limits.gpu_hours import UsageKey, UsageQuery, load_coverage, select_usage

MAX_SERIES = 8
MAX_PERIODS = 400

UsageStep = Literal["day", "month"]
UsageMeasure = Literal["gpu_hours", "cpu_hours"]
_SECONDS: dict[UsageMeasure, str] = {"gpu_hours": "gpu_seconds", "cpu_hours": "cpu_seconds"}


@dataclass(frozen=True)
class UsageHistory:
    """Seconds by period, one value for each; None for a period of which nothing was read.

    `series` are the largest, by name, the largest first; `others` is the sum of the rest, None if
    there is none. `as_of` and `first_read_day` are as in Totals.
    """

    periods: list[str]
    series: dict[str, list[int | None]]
    others: list[int | None] | None
    as_of: datetime | None
    first_read_day: date | None


async def load_usage_history(
    context: AppContext,
    requested: UsageQuery,
    key: UsageKey,
    step: UsageStep,
    measure: UsageMeasure,
) -> UsageHistory:
    """Return usage by period and key. A user in several groups counts in each of them."""
    periods = list_periods(requested.first, requested.last, step)
    async with context.db.session() as db:
        largest = await _find_largest(db, requested, key, measure)
        sums = await _load_sums(db, requested, key, measure, largest)
        read = {
            to_period(day, step)
            for day in await db.scalars(
                select(UsageRead.day).where(UsageRead.day.between(requested.first, requested.last))
            )
        }
        as_of, first = await load_coverage(db, requested)
    by_name: dict[str | None, dict[str, int]] = {name: {} for name in largest}
    for day, name, seconds in sums:
        by_period = by_name.setdefault(name, {})
        period = to_period(day, step)
        by_period[period] = by_period.get(period, 0) + seconds

    def values(name: str | None) -> list[int | None]:
        return [by_name[name].get(period, 0) if period in read else None for period in periods]

    return UsageHistory(
        periods=periods,
        series={name: values(name) for name in largest},
        others=values(None) if None in by_name else None,
        as_of=as_of,
        first_read_day=first,
    )


async def _find_largest(
    db: AsyncSession, requested: UsageQuery, key: UsageKey, measure: UsageMeasure
) -> list[str]:
    rows = select_usage(requested, key)
    total = func.sum(rows.c[_SECONDS[measure]])
    query = select(rows.c.name).group_by(rows.c.name).having(total > 0)
    return [*await db.scalars(query.order_by(total.desc(), rows.c.name).limit(MAX_SERIES))]


async def _load_sums(
    db: AsyncSession,
    requested: UsageQuery,
    key: UsageKey,
    measure: UsageMeasure,
    largest: list[str],
) -> list[tuple[date, str | None, int]]:
    """Return seconds by day and name; None is the name of all that are not among the largest."""
    rows = select_usage(requested, key, by_day=True)
    seconds = rows.c[_SECONDS[measure]]
    name = case((rows.c.name.in_(largest), rows.c.name)).label("name")
    # a query of its own, as PostgreSQL can't group by an expression with parameters
    named = select(rows.c.day, name, seconds.label("seconds")).where(seconds > 0).subquery()
    query = select(named.c.day, named.c.name, func.sum(named.c.seconds))
    sums = await db.execute(query.group_by(named.c.day, named.c.name))
    return [(day, name, int(total)) for day, name, total in sums]


def list_periods(first: date, last: date, step: UsageStep) -> list[str]:
    """Return the days or months from the first to the last day."""
    return list(dict.fromkeys(to_period(day, step) for day in _iter_days(first, last)))


def _iter_days(first: date, last: date) -> Iterator[date]:
    for number in range((last - first).days + 1):
        yield first + timedelta(days=number)


def to_period(day: date, step: UsageStep) -> str:
    """Return the name of the period: `2026-10-31`, or the month, `2026-10`."""
    return f"{day:%Y-%m}" if step == "month" else day.isoformat()
