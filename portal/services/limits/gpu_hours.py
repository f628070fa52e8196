"""Usage from Slurm's accounting: GPU-hours and CPU-hours by user, group, account and time.

Stored by UTC day. A day is read whole and replaces its earlier rows, so reading it again is
harmless: today every few minutes, with running jobs counted up to now, and each day once more after
it is over. A job over midnight counts in both days, and as started in the first.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal

import structlog
from sqlalchemy import ColumnElement, Subquery, delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncSession

from portal.context import AppContext
from portal.db import utcnow
from portal.models import GroupMembership, UsageDay, UsageRead, User
from portal.services.limits.accounting_cache import DAYS_AT_ONCE, AccountingCache
from spawner.errors import QueryTooLarge, SlurmError
from spawner.slurm.model import JobInfo
from spawner.slurm.parse_accounting import JobTime

log = structlog.get_logger(__name__)

EVERY_S = 300.0
MIN_PAUSE_S = 20.0  # a signal starts no step sooner than this after the last one
SETTLED = timedelta(hours=2)  # a day is final when it was read this long after its end
LATE = timedelta(days=7)  # so long after its end a day is read again, once a day
LATE_READ_INTERVAL = timedelta(days=1)
RUNAWAY_AFTER = timedelta(days=1)
SHORTEST_SPAN = timedelta(hours=1)  # that is read at once, of a day that is too large
PAUSE = timedelta(seconds=5)  # between two queries about the past
HOUR = 3600


@dataclass(frozen=True)
class UsageSum:
    """Usage under one name."""

    name: str
    gpu_seconds: int
    cpu_seconds: int
    jobs: int


Key = tuple[date, str, str]
"""Day, user and account."""


@dataclass(frozen=True)
class Totals:
    """Usage by name, and when the newest of it was read (None: never).

    `first_read_day` is the first of the requested days that was read; None: none.
    """

    rows: list[UsageSum]
    as_of: datetime | None
    first_read_day: date | None


# --- reading ------------------------------------------------------------------------------------


async def step(context: AppContext) -> timedelta | None:
    """Read the next days; the next step follows soon while more of the past is due."""
    return PAUSE if await read_next(context, utcnow()) else None


async def read_next(context: AppContext, now: datetime) -> bool:
    """Read today and the next due days of the past, each even if the other fails. Return whether
    more of the past is due.
    """
    spans = await list_due_spans(context, now)
    failures: list[SlurmError] = []
    for first, last in spans[:2]:
        answered = True
        try:
            await _read_days(context, first, last, now)
        except SlurmError as error:
            failures.append(error)
            answered = False
        if last < now.astimezone(UTC).date():
            _adapt_days_at_once(context.accounting, answered=answered)
    if failures:
        raise failures[0]
    return len(spans) > 2


def _adapt_days_at_once(accounting: AccountingCache, *, answered: bool) -> None:
    """Read fewer days of the past at once after no answer, which may have been too slow."""
    days = accounting.days_at_once
    accounting.days_at_once = min(2 * days, DAYS_AT_ONCE) if answered else max(1, days // 2)


async def _read_days(context: AppContext, first: date, last: date, now: datetime) -> None:
    """Read these days, or the newer half and then the older one if their answer is too large."""
    start, end = _midnight(first), min(_midnight(last + timedelta(days=1)), now)
    try:
        hours = await _read_span(context, start, end, now)
    except QueryTooLarge:
        if first == last:
            raise
        middle = first + (last - first) / 2
        await _read_days(context, middle + timedelta(days=1), last, now)
        await _read_days(context, first, middle, now)
        return
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    await _replace_days(context, days, hours, now)


async def _read_span(
    context: AppContext, start: datetime, end: datetime, now: datetime
) -> dict[Key, UsageSum]:
    """Return the usage between these times, of a day in parts if its answer is too large."""
    await context.watcher.wait_for_call_budget()
    try:
        jobs = await context.accounting.accounting.job_times(start, end)
    except QueryTooLarge:
        if not SHORTEST_SPAN < end - start <= timedelta(days=1):
            raise
        middle = (start + (end - start) / 2).replace(microsecond=0)
        parts = [
            await _read_span(context, start, middle, now),
            await _read_span(context, middle, end, now),
        ]
        return {
            key: _add(key[1], [part[key] for part in parts if key in part])
            for key in parts[0].keys() | parts[1].keys()
        }
    shown = context.watcher.jobs if context.watcher.stale_since is None else None
    kept = [job for job in jobs if not is_runaway(job, shown, now)]
    lost = set(jobs) - set(kept)
    if end == now:  # that is today, which is read every few minutes
        context.accounting.runaways = sorted({job.job_id for job in lost})
    elif lost:
        log.warning(
            "jobs without an end that Slurm does not have are not counted",
            jobs=len(lost),
            users=sorted({job.user for job in lost})[:10],
        )
    return await asyncio.to_thread(split_by_day, kept, start, end, now)


def is_runaway(job: JobTime, shown: Mapping[int, JobInfo] | None, now: datetime) -> bool:
    """Return whether accounting never received the end of this job: it has none, started more
    than a day ago, and is not in Slurm, which may have given its ID to a later one. `shown` is None
    while Slurm does not answer. Its day is read again if its end arrives later.
    """
    if job.end is not None or shown is None or now - job.start < RUNAWAY_AFTER:
        return False
    info = shown.get(job.job_id)
    if info is None or info.user != job.user:
        return True
    return info.submit_time is not None and info.submit_time > job.start


def _add(name: str, parts: Iterable[UsageSum]) -> UsageSum:
    numbers = [(part.gpu_seconds, part.cpu_seconds, part.jobs) for part in parts]
    return UsageSum(name, *map(sum, zip(*numbers, strict=True)))


async def list_due_spans(context: AppContext, now: datetime) -> list[tuple[date, date]]:
    """Return the spans of days to read (first and last), newest first: first today, with yesterday
    until that is settled, because these stay due. Adjacent days before them are merged.
    """
    today = now.astimezone(UTC).date()
    unsettled_from = (now.astimezone(UTC) - SETTLED).date()
    oldest = subtract_months(today, context.settings.usage_months - 1)
    async with context.db.session() as db:
        rows = await db.execute(select(UsageRead.day, UsageRead.read_at))
        reads = {day: at for day, at in rows.all()}  # noqa: C416 - rows, as a mapping
    days = [oldest + timedelta(days=n) for n in range((today - oldest).days + 1)]
    unread = [day for day in days if _is_due(day, reads.get(day), now)]
    spans: list[tuple[date, date]] = []
    for day in reversed(unread):
        first, last = spans[-1] if spans else (day, day)
        adjacent = first - day == timedelta(days=1) and first != unsettled_from
        if spans and adjacent and (last - day).days < context.accounting.days_at_once:
            spans[-1] = (day, last)
        else:
            spans.append((day, day))
    return spans


def _is_due(day: date, read_at: datetime | None, now: datetime) -> bool:
    """Return whether a day is to be read: not yet settled, or recent enough that slurmdbd may have
    received more of its jobs since it was read a day ago.
    """
    over_at = _midnight(day + timedelta(days=1))
    if read_at is None or read_at < over_at + SETTLED:
        return True
    last_read = over_at + LATE + LATE_READ_INTERVAL
    return now - read_at >= LATE_READ_INTERVAL and read_at < over_at + LATE and now < last_read


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def subtract_months(day: date, months: int) -> date:
    """Return the first day of the month `months` before that of `day`."""
    total = day.year * 12 + day.month - 1 - months
    return date(total // 12, total % 12 + 1, 1)


def split_by_day(
    jobs: Iterable[JobTime], start: datetime, end: datetime, now: datetime
) -> dict[Key, UsageSum]:
    """Split the usage of these jobs between two times by day, user and account. Pure."""
    totals: dict[Key, list[int]] = {}
    for job in jobs:
        begins, ends = max(job.start, start), min(job.end or now, now, end)
        for day in _iter_days(begins, ends):
            opens, closes = _midnight(day), _midnight(day + timedelta(days=1))
            if ends < begins or opens >= end:
                continue
            seconds = int((min(ends, closes) - max(begins, opens)).total_seconds())
            sums = totals.setdefault((day, job.user, job.account), [0, 0, 0])
            sums[0] += seconds * job.gpus
            sums[1] += seconds * job.cpus
            sums[2] += max(opens, start) <= job.start < min(closes, end)
    return {key: UsageSum(key[1], *sums) for key, sums in totals.items()}


def _iter_days(start: datetime, end: datetime) -> Iterable[date]:
    day = start.astimezone(UTC).date()
    while day <= end.astimezone(UTC).date():
        yield day
        day += timedelta(days=1)


async def _replace_days(
    context: AppContext, days: list[date], hours: Mapping[Key, UsageSum], now: datetime
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
        for (day, user, account), used in hours.items()
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
    """A usage query: days `first` to `last`, of one user, one group's members, or all users."""

    first: date
    last: date
    username: str | None = None
    group: str | None = None


UsageKey = Literal["user", "group", "account"]


async def sum_by_name(context: AppContext, requested: UsageQuery, key: UsageKey) -> Totals:
    """Return usage by user, by Slurm account, or by the users' current groups as far as known; most
    GPU-hours first. A user in two groups counts in both.
    """
    async with context.db.session() as db:
        sums = await _load_sums(db, select_usage(requested, key))
        return await _build_totals(db, requested, sorted(sums, key=_sort_key))


async def sum_by_time(context: AppContext, requested: UsageQuery, *, months: bool) -> Totals:
    """Return usage by day with any usage, as `2026-10-31`, or by month, as `2026-10`."""
    async with context.db.session() as db:
        periods: dict[str, UsageSum] = {}
        for day in await _load_sums(db, select_usage(requested, "day")):
            period = f"{day.name:%Y-%m}" if months else f"{day.name}"
            so_far = periods.get(period, UsageSum(period, 0, 0, 0))
            periods[period] = UsageSum(
                period,
                so_far.gpu_seconds + day.gpu_seconds,
                so_far.cpu_seconds + day.cpu_seconds,
                so_far.jobs + day.jobs,
            )
        return await _build_totals(db, requested, [periods[name] for name in sorted(periods)])


async def _load_sums(db: AsyncSession, rows: Subquery) -> list[UsageSum]:
    numbers = (rows.c.gpu_seconds, rows.c.cpu_seconds, rows.c.jobs)
    query = select(rows.c.name, *(func.sum(number) for number in numbers))
    sums = (await db.execute(query.group_by(rows.c.name))).all()
    return [UsageSum(name, int(gpu), int(cpu), int(jobs)) for name, gpu, cpu, jobs in sums]


def _sort_key(used: UsageSum) -> tuple[int, int, str]:
    return -used.gpu_seconds, -used.cpu_seconds, used.name


_NUMBERS = (UsageDay.gpu_seconds, UsageDay.cpu_seconds, UsageDay.jobs)
_NAMES: dict[str, Any] = {
    "user": UsageDay.username,
    "account": UsageDay.account,
    "day": UsageDay.day,
}


def select_usage(
    requested: UsageQuery, key: UsageKey | Literal["day"], *, by_day: bool = False
) -> Subquery:
    """Return the rows to sum up by `name`: `gpu_seconds`, `cpu_seconds` and `jobs`; with `day` if
    they are to be summed up by day, too.

    The rows of each user are summed up before they are multiplied by the user's groups.
    """
    days = (UsageDay.day,) if by_day else ()
    if key != "group":
        rows = select(_NAMES[key].label("name"), *days, *_NUMBERS)
        return rows.where(*_conditions(requested)).subquery()
    keys = (UsageDay.username, *days)
    sums = (func.sum(number).label(number.key) for number in _NUMBERS)
    users = select(*keys, *sums).where(*_conditions(requested)).group_by(*keys).subquery()
    values = [column for column in users.c if column.key != UsageDay.username.key]
    rows = select(GroupMembership.name.label("name"), *values).select_from(users)
    rows = rows.join(User, User.username == users.c.username)
    return rows.join(GroupMembership, GroupMembership.user_id == User.id).subquery()


def _conditions(requested: UsageQuery) -> list[ColumnElement[bool]]:
    days = UsageDay.day.between(requested.first, requested.last)
    conditions: list[ColumnElement[bool]] = [days]
    if requested.username is not None:
        conditions.append(UsageDay.username == requested.username)
    if requested.group is not None:
        members = select(User.username).join(GroupMembership, GroupMembership.user_id == User.id)
        members = members.where(GroupMembership.name == requested.group)
        conditions.append(UsageDay.username.in_(members))
    return conditions


async def _build_totals(db: AsyncSession, requested: UsageQuery, rows: list[UsageSum]) -> Totals:
    as_of, first = await load_coverage(db, requested)
    return Totals(rows, as_of, first)


async def load_coverage(
    db: AsyncSession, requested: UsageQuery
) -> tuple[datetime | None, date | None]:
    """Return when the newest of these days was read, and the first that was; None: none yet."""
    coverage = select(func.max(UsageRead.read_at), func.min(UsageRead.day))
    days = UsageRead.day.between(requested.first, requested.last)
    as_of, first = (await db.execute(coverage.where(days))).one()
    return as_of, first
