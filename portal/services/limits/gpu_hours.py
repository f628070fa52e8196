"""Usage from Slurm's accounting: GPU-hours and CPU-hours by user, group and month.

Stored by UTC day. A day is read whole and replaces its earlier rows, so reading it again is
harmless: today every few minutes, with running jobs counted up to now, and each day once more after
it is over. A job over midnight counts in both days, and as started in the first.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from sqlalchemy import Select, delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncSession

from portal.context import AppContext
from portal.db import utcnow
from portal.models import GroupMembership, UsageDay, UsageRead, User
from spawner.slurm.parse_accounting import JobTime

EVERY_S = 300.0
SOONEST_S = 20.0
SETTLED = timedelta(hours=2)  # a day is final when it was read this long after its end
DAYS_AT_ONCE = 31
PAUSE = timedelta(seconds=5)  # between two queries about the past
HOUR = 3600


@dataclass(frozen=True)
class GpuHours:
    """Usage under one name."""

    name: str
    gpu_seconds: int
    cpu_seconds: int
    jobs: int


@dataclass(frozen=True)
class Totals:
    """Usage by name, and when the newest of it was read (None: never)."""

    rows: list[GpuHours]
    as_of: datetime | None
    complete_from: date | None


# --- reading ------------------------------------------------------------------------------------


async def step(context: AppContext) -> timedelta | None:
    """Read the next days; the next step follows soon while more of the past is due."""
    return PAUSE if await read_next(context, utcnow()) else None


async def read_next(context: AppContext, now: datetime) -> bool:
    """Read today and the next due days of the past. Return whether more of the past is due."""
    spans = await due(context, now)
    for first, last in spans[:2]:
        await context.watcher.afford()
        start, end = _midnight(first), min(_midnight(last + timedelta(days=1)), now)
        jobs = await context.accounting.accounting.job_times(start, end)
        days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
        found = await asyncio.to_thread(by_day, jobs, days, now)
        await _replace_days(context, days, found, now)
    return len(spans) > 2


async def due(context: AppContext, now: datetime) -> list[tuple[date, date]]:
    """Return the spans of days to read (first and last), newest first; adjacent days are merged."""
    today = now.astimezone(UTC).date()
    oldest = months_back(today, context.settings.usage_months - 1)
    async with context.db.session() as db:
        found = await db.execute(select(UsageRead.day, UsageRead.read_at))
        reads = {day: at for day, at in found.all()}  # noqa: C416 - rows, as a mapping
    days = [oldest + timedelta(days=n) for n in range((today - oldest).days + 1)]
    wanted = [day for day in days if not _is_final(day, reads.get(day))]
    spans: list[tuple[date, date]] = []
    for day in reversed(wanted):
        first, last = spans[-1] if spans else (day, day)
        if spans and first - day == timedelta(days=1) and (last - day).days < DAYS_AT_ONCE:
            spans[-1] = (day, last)
        else:
            spans.append((day, day))
    return spans


def _is_final(day: date, read_at: datetime | None) -> bool:
    return read_at is not None and read_at >= _midnight(day + timedelta(days=1)) + SETTLED


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def months_back(day: date, months: int) -> date:
    """Return the first day of the month `months` before that of `day`."""
    whole = day.year * 12 + day.month - 1 - months
    return date(whole // 12, whole % 12 + 1, 1)


Key = tuple[date, str, str]


def by_day(jobs: Iterable[JobTime], days: Iterable[date], now: datetime) -> dict[Key, GpuHours]:
    """Split the usage of these jobs by day, user and account. Pure."""
    found: dict[Key, list[int]] = {}
    wanted = {day: (_midnight(day), _midnight(day + timedelta(days=1))) for day in days}
    for job in jobs:
        end = min(job.end or now, now)
        for day in _iter_days(job.start, end):
            if day not in wanted:
                continue
            opens, closes = wanted[day]
            seconds = int((min(end, closes) - max(job.start, opens)).total_seconds())
            sums = found.setdefault((day, job.user, job.account), [0, 0, 0])
            sums[0] += max(0, seconds) * job.gpus
            sums[1] += max(0, seconds) * job.cpus
            sums[2] += opens <= job.start < closes
    return {key: GpuHours(key[1], *sums) for key, sums in found.items()}


def _iter_days(start: datetime, end: datetime) -> Iterable[date]:
    day = start.astimezone(UTC).date()
    while day <= end.astimezone(UTC).date():
        yield day
        day += timedelta(days=1)


async def _replace_days(
    context: AppContext, days: list[date], found: Mapping[Key, GpuHours], now: datetime
) -> None:
    """Replace the rows of these days in one transaction."""
    rows = [
        {
            "day": day,
            "username": user[:64],
            "account": account[:100],
            "gpu_seconds": used.gpu_seconds,
            "cpu_seconds": used.cpu_seconds,
            "jobs": used.jobs,
        }
        for (day, user, account), used in found.items()
    ]
    async with context.db.session() as db:
        for table, column in ((UsageDay, UsageDay.day), (UsageRead, UsageRead.day)):
            await db.execute(delete(table).where(column.in_(days)))
        if rows:
            await db.execute(insert(UsageDay), rows)
        await db.execute(insert(UsageRead), [{"day": day, "read_at": now} for day in days])
        await db.commit()


# --- queries ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class UsageQuery:
    """A usage query: months `first` to `last`, of one user, one group's members, or all users."""

    first: date
    last: date
    username: str | None = None
    group: str | None = None


async def by_user(context: AppContext, requested: UsageQuery) -> Totals:
    """Return usage by user, most GPU-hours first."""
    async with context.db.session() as db:
        query = _select_sums(requested, UsageDay.username)
        return await _build_totals(
            db, requested, sorted(await _load_rows(db, query), key=_sort_key)
        )


async def by_month(context: AppContext, requested: UsageQuery) -> Totals:
    """Return usage by month with any usage, as `2026-10`."""
    async with context.db.session() as db:
        months: dict[str, GpuHours] = {}
        for day in await _load_rows(db, _select_sums(requested, UsageDay.day)):
            month = f"{day.name:%Y-%m}"
            so_far = months.get(month, GpuHours(month, 0, 0, 0))
            months[month] = GpuHours(
                month,
                so_far.gpu_seconds + day.gpu_seconds,
                so_far.cpu_seconds + day.cpu_seconds,
                so_far.jobs + day.jobs,
            )
        return await _build_totals(db, requested, [months[month] for month in sorted(months)])


async def by_group(context: AppContext, requested: UsageQuery) -> Totals:
    """Return usage by the users' current groups, as far as known.

    A user in two groups counts in both.
    """
    async with context.db.session() as db:
        query = _select_sums(requested, GroupMembership.name)
        query = query.join(User, User.username == UsageDay.username)
        query = query.join(GroupMembership, GroupMembership.user_id == User.id)
        return await _build_totals(
            db, requested, sorted(await _load_rows(db, query), key=_sort_key)
        )


async def _load_rows(db: AsyncSession, query: Select[Any]) -> list[GpuHours]:
    found = (await db.execute(query)).all()
    return [GpuHours(name, int(gpu), int(cpu), int(jobs)) for name, gpu, cpu, jobs in found]


def _sort_key(used: GpuHours) -> tuple[int, int, str]:
    return -used.gpu_seconds, -used.cpu_seconds, used.name


def _select_sums(requested: UsageQuery, name: Any) -> Select[Any]:
    numbers = (UsageDay.gpu_seconds, UsageDay.cpu_seconds, UsageDay.jobs)
    query: Select[Any] = select(name, *(func.sum(number) for number in numbers)).group_by(name)
    end = months_back(requested.last, -1)
    query = query.where(UsageDay.day >= requested.first, UsageDay.day < end)
    if requested.username is not None:
        query = query.where(UsageDay.username == requested.username)
    if requested.group is not None:
        members = select(User.username).join(GroupMembership, GroupMembership.user_id == User.id)
        members = members.where(GroupMembership.name == requested.group)
        query = query.where(UsageDay.username.in_(members))
    return query


async def _build_totals(db: AsyncSession, requested: UsageQuery, rows: list[GpuHours]) -> Totals:
    end = months_back(requested.last, -1)
    asked = select(func.max(UsageRead.read_at), func.min(UsageRead.day))
    as_of, first = (
        await db.execute(asked.where(UsageRead.day >= requested.first, UsageRead.day < end))
    ).one()
    return Totals(rows, as_of, first)
