"""Routes of the usage report from Slurm's accounting: sums, and hours per day or month.

Users see their own, group managers that of their group's members, administrators and viewers all.
"""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from portal.api.user_schemas import GroupName
from portal.background.notifier import GPU_HOURS
from portal.context import AppContext
from portal.db import utcnow
from portal.errors import FieldError, invalid_input
from portal.models import GROUP_NAME_LENGTH
from portal.services.csv_cells import csv_lines
from portal.services.limits import gpu_hours, usage_history
from portal.services.limits.gpu_hours import HOUR, UsageKey, UsageQuery, UsageSum
from portal.services.limits.usage_history import MAX_PERIODS, UsageMeasure, UsageStep
from portal.web.dependencies import ContextDep, CurrentUser, GroupReader, Reader

router = APIRouter(tags=["limits"])

MONTH = re.compile(r"(\d{4})-(0[1-9]|1[0-2])")
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
MAX_MONTHS = 120
BAD_DATE = "Enter a month such as 2026-10, or a day such as 2026-10-31."
TOO_FINE = f"Choose at most {MAX_PERIODS} days, or months instead of days."
UsageBy = Literal["user", "group", "account", "month", "day"]
Span = tuple[str | None, str | None]


class UsageRow(BaseModel):
    """The usage of one row: a user, a group, a Slurm account, a month or a day."""

    name: str
    gpu_hours: float
    cpu_hours: float
    jobs: int


class UsageTotals(BaseModel):
    """Usage between two months or days, inclusive.

    `as_of` is when accounting was last read, null for never; `counted_from` the first day that was
    read. Running jobs count up to their present run time.
    """

    by: UsageBy
    first: str
    last: str
    items: list[UsageRow]
    total: UsageRow
    as_of: datetime | None
    counted_from: date | None


class UsageSeries(BaseModel):
    """The hours of a user, a group or a Slurm account, one value for each period."""

    name: str
    hours: list[float | None]


class UsageHistoryOut(BaseModel):
    """GPU-hours or CPU-hours per day or month, in UTC.

    Hours are null for a period of which nothing was read. `as_of` and `counted_from` are as in
    UsageTotals.
    """

    by: UsageKey
    step: UsageStep
    measure: UsageMeasure
    periods: list[str] = Field(description="Days such as 2026-10-31, or months such as 2026-10.")
    series: list[UsageSeries] = Field(description="The largest of the range, the largest first.")
    others: list[float | None] | None = Field(description="The sum of all others; null: none.")
    as_of: datetime | None
    counted_from: date | None


@dataclass(frozen=True)
class Period:
    """The days of a request, inclusive, and whether it names months."""

    first: date
    last: date
    months: bool

    def format(self, day: date) -> str:
        """Return a day in the form of the request."""
        return f"{day:%Y-%m}" if self.months else day.isoformat()


OutputFormat = Annotated[Literal["json", "csv"], Query(alias="format")]
From = Annotated[str | None, Query(alias="from", max_length=10)]
To = Annotated[str | None, Query(max_length=10)]
CSV_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"model": UsageTotals, "content": {"text/csv": {"schema": {"type": "string"}}}}
}


@router.get("/admin/usage", response_model=UsageTotals, responses=CSV_RESPONSES)
async def get_usage(
    _reader: Reader,
    context: ContextDep,
    from_: From = None,
    to: To = None,
    by: Annotated[UsageBy, Query()] = "user",
    format_: OutputFormat = "json",
    user: Annotated[str | None, Query(max_length=64)] = None,
    group: Annotated[str | None, Query(max_length=GROUP_NAME_LENGTH)] = None,
) -> UsageTotals | Response:
    """Return GPU-hours and CPU-hours of all users, or of one user or group, between two months or
    days.
    """
    return await _respond_usage(context, (from_, to), by, format_, user, group)


@router.get("/groups/{group}/usage", response_model=UsageTotals, responses=CSV_RESPONSES)
async def get_group_usage(
    group: GroupName,
    _reader: GroupReader,
    context: ContextDep,
    from_: From = None,
    to: To = None,
    by: Annotated[Literal["user", "account", "month", "day"], Query()] = "user",
    format_: OutputFormat = "json",
) -> UsageTotals | Response:
    """Return the usage of a group's members."""
    return await _respond_usage(context, (from_, to), by, format_, None, group)


@router.get("/me/usage", response_model=UsageTotals, responses=CSV_RESPONSES)
async def get_my_usage(
    user: CurrentUser,
    context: ContextDep,
    from_: From = None,
    to: To = None,
    by: Annotated[Literal["account", "month", "day"], Query()] = "month",
    format_: OutputFormat = "json",
) -> UsageTotals | Response:
    """Return the caller's usage."""
    return await _respond_usage(context, (from_, to), by, format_, user.username, None)


Step = Annotated[UsageStep, Query()]
Measure = Annotated[UsageMeasure, Query()]


@router.get("/admin/usage/history")
async def get_usage_history(
    _reader: Reader,
    context: ContextDep,
    from_: From = None,
    to: To = None,
    by: Annotated[UsageKey, Query()] = "user",
    step: Step = "day",
    measure: Measure = "gpu_hours",
) -> UsageHistoryOut:
    """Return the usage of all users over time."""
    query = _to_query(_parse_period((from_, to)))
    return await _load_history(context, query, by, step, measure)


@router.get("/groups/{group}/usage/history")
async def get_group_usage_history(
    group: GroupName,
    _reader: GroupReader,
    context: ContextDep,
    from_: From = None,
    to: To = None,
    by: Annotated[Literal["user", "account"], Query()] = "user",
    step: Step = "day",
    measure: Measure = "gpu_hours",
) -> UsageHistoryOut:
    """Return the usage of a group's members over time."""
    query = _to_query(_parse_period((from_, to)), group=group)
    return await _load_history(context, query, by, step, measure)


@router.get("/me/usage/history")
async def get_my_usage_history(
    user: CurrentUser,
    context: ContextDep,
    from_: From = None,
    to: To = None,
    step: Step = "day",
    measure: Measure = "gpu_hours",
) -> UsageHistoryOut:
    """Return the caller's usage over time, by Slurm account."""
    query = _to_query(_parse_period((from_, to)), username=user.username)
    return await _load_history(context, query, "account", step, measure)


async def _load_history(
    context: AppContext, query: UsageQuery, by: UsageKey, step: UsageStep, measure: UsageMeasure
) -> UsageHistoryOut:
    """Return the history up to today. Raises InvalidInput with the field `step`."""
    if step == "day" and (query.last - query.first).days >= MAX_PERIODS:
        raise invalid_input([FieldError("step", TOO_FINE)])
    history = await usage_history.load_usage_history(context, query, by, step, measure)
    return UsageHistoryOut(
        by=by,
        step=step,
        measure=measure,
        periods=history.periods,
        series=[UsageSeries(name=name, hours=_hours(row)) for name, row in history.series.items()],
        others=None if history.others is None else _hours(history.others),
        as_of=history.as_of,
        counted_from=history.first_read_day,
    )


def _hours(seconds: list[int | None]) -> list[float | None]:
    return [None if value is None else round(value / HOUR, 3) for value in seconds]


def _to_query(period: Period, username: str | None = None, group: str | None = None) -> UsageQuery:
    """Return a query for a history, which ends today at the latest."""
    last = max(period.first, min(period.last, utcnow().date()))
    return UsageQuery(period.first, last, username, group)


async def _respond_usage(
    context: ContextDep,
    span: Span,
    by: UsageBy,
    format_: str,
    user: str | None,
    group: str | None,
) -> UsageTotals | Response:
    totals = await usage_totals(context, span, by, user, group)
    if format_ != "csv":
        return totals
    name = f"usage-{totals.first}-{totals.last}-{by}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return Response(usage_csv(totals), media_type="text/csv; charset=utf-8", headers=headers)


async def usage_totals(
    context: AppContext, span: Span, by: UsageBy, user: str | None, group: str | None
) -> UsageTotals:
    """Return the usage between two months or days as given in the request, by default the current
    month.

    Raises InvalidInput with the field `from` or `to`.
    """
    period = _parse_period(span)
    query = UsageQuery(period.first, period.last, user, group)
    match by:
        case "month" | "day":
            totals = await gpu_hours.sum_by_time(context, query, months=by == "month")
        case _:
            totals = await gpu_hours.sum_by_name(context, query, by)
    if period.last >= utcnow().date():
        context.notifier.notify(GPU_HOURS)  # a repeated request shows newer numbers
    return UsageTotals(
        by=by,
        first=period.format(period.first),
        last=period.format(period.last),
        items=[_to_usage_row(used) for used in totals.rows],
        total=_to_usage_row(_sum_usage(totals.rows)),
        as_of=totals.as_of,
        counted_from=totals.first_read_day,
    )


def _parse_period(span: Span) -> Period:
    """Return the period of a request, by default the current month. Raises InvalidInput."""
    this_month = utcnow().date().replace(day=1)
    first, last = _parse_date("from", span[0]), _parse_date("to", span[1], end=True)
    last = last or _end_of_month(this_month)
    first = first or min(this_month, last.replace(day=1))
    months = 12 * (last.year - first.year) + last.month - first.month
    if first > last or months > MAX_MONTHS:
        text = f"Choose a range of at most {MAX_MONTHS} months that doesn't end before it starts."
        raise invalid_input([FieldError("from", text)])
    return Period(first, last, not any(DAY.fullmatch(text or "") for text in span))


def _parse_date(field: str, text: str | None, *, end: bool = False) -> date | None:
    """Parse a day, or a month as its first or last day. Raises InvalidInput."""
    if not text:
        return None
    try:
        if match := MONTH.fullmatch(text):
            first = date(int(match[1]), int(match[2]), 1)
            return _end_of_month(first) if end else first
        if DAY.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:  # a year 0, or a month without this day
        pass
    raise invalid_input([FieldError(field, BAD_DATE)])


def _end_of_month(day: date) -> date:
    return day.replace(day=monthrange(day.year, day.month)[1])


def _to_usage_row(used: UsageSum) -> UsageRow:
    return UsageRow(
        name=used.name,
        gpu_hours=round(used.gpu_seconds / HOUR, 3),
        cpu_hours=round(used.cpu_seconds / HOUR, 3),
        jobs=used.jobs,
    )


def _sum_usage(rows: list[UsageSum]) -> UsageSum:
    gpu, cpu = sum(row.gpu_seconds for row in rows), sum(row.cpu_seconds for row in rows)
    return UsageSum("", gpu, cpu, sum(row.jobs for row in rows))


def usage_csv(totals: UsageTotals) -> str:
    """Convert usage to CSV for spreadsheets."""
    rows = [(row.name, row.gpu_hours, row.cpu_hours, row.jobs) for row in totals.items]
    return csv_lines([(totals.by, "gpu_hours", "cpu_hours", "jobs"), *rows])
