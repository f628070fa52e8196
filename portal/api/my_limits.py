"""Routes of limits and usage for users and group managers; managers set members' limits."""

import re
from datetime import date, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel

from portal.api.limit_deps import SlurmLimitsDep
from portal.api.limit_schemas import (
    CountedOut,
    LimitIn,
    LimitOut,
    LimitSet,
    MyLimitsOut,
    UseOut,
    counted_out,
    limit_out,
    slurm_out,
    use_out,
    user_limits_out,
)
from portal.api.limit_together import load_group_totals
from portal.api.user_schemas import GroupName
from portal.background.notifier import USE
from portal.context import AppContext
from portal.db import utcnow
from portal.errors import FieldError, invalid_input
from portal.models import GROUP_NAME_LENGTH
from portal.services.csv_cells import csv_lines
from portal.services.limits import gpu_hours as use
from portal.services.limits import limit_changes, limit_views, user_accounts
from portal.services.limits.allowances import account_of
from portal.services.limits.gpu_hours import HOUR
from portal.web.dependencies import (
    ByDep,
    ContextDep,
    CurrentUser,
    FreshGroupManager,
    GroupReader,
    Reader,
)

router = APIRouter(tags=["limits"])

Username = Annotated[str, Path(min_length=1, max_length=64)]
MONTH = re.compile(r"(\d{4})-(0[1-9]|1[0-2])")
MOST_MONTHS = 120
UsageBy = Literal["user", "group", "month"]
Span = tuple[str | None, str | None]


class MemberOut(BaseModel):
    """A member: their own limit, if any, the effective limits by field, and their present usage."""

    username: str
    display_name: str
    limit: LimitOut | None
    effective: dict[str, CountedOut]
    use: UseOut


class GroupLimitsOut(BaseModel):
    """A group's limits: the group total, the per-member limit, and the members.

    `ceiling` is the most that a group manager may grant, by field. `account` is the group's Slurm
    account.
    """

    group: str
    account: str
    together: LimitOut | None
    member: LimitOut | None
    ceiling: dict[str, CountedOut]
    use: UseOut
    members: list[MemberOut]


class UsageRow(BaseModel):
    """The usage of one row: a user, a group, or a month."""

    name: str
    gpu_hours: float
    cpu_hours: float
    jobs: int


class UsageTotals(BaseModel):
    """Usage between two months, inclusive.

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


@router.get("/me/limits")
async def get_my_limits(
    user: CurrentUser, context: ContextDep, slurm: SlurmLimitsDep
) -> MyLimitsOut:
    """Return the caller's effective limits, their sources, and the present usage."""
    found = await limit_views.load_user_limits(context, slurm, user.username)
    shown = user_limits_out(found, await load_group_totals(context, found.limits), slurm=False)
    problem = await user_accounts.explain_missing(context, user.username)
    return MyLimitsOut(**shown.model_dump(), problem=problem)


@router.get("/groups/{group}/limits")
async def get_group_limits(
    group: GroupName, _reader: GroupReader, context: ContextDep
) -> GroupLimitsOut:
    """Return a group's limits, and its members' limits and usage."""
    found = await limit_views.load_group_limits(context, group)
    return GroupLimitsOut(
        group=group,
        account=account_of(context.settings, group),
        together=limit_out(found.together) if found.together else None,
        member=limit_out(found.member) if found.member else None,
        ceiling={name: counted_out(counted) for name, counted in found.ceiling.items()},
        use=use_out(found.in_use),
        members=[
            MemberOut(
                username=one.username,
                display_name=one.display_name,
                limit=limit_out(one.limit) if one.limit else None,
                effective={name: counted_out(c) for name, c in one.effective.items()},
                use=use_out(one.in_use),
            )
            for one in found.members
        ],
    )


@router.put("/groups/{group}/limits/{username}")
async def put_member_limit(
    group: GroupName,
    username: Username,
    body: LimitIn,
    _manager: FreshGroupManager,
    context: ContextDep,
    slurm: SlurmLimitsDep,
    by: ByDep,
) -> LimitSet:
    """Set a member's own limit: at most the group's, and at most what an administrator set."""
    row = await limit_changes.put_as_manager(
        context, by, group, username, body.figures(), body.version
    )
    in_time = await slurm.settle()
    state = limit_views.state_of(context, slurm, row, ())
    if not in_time:
        state = limit_views.LimitSyncState("pending", limit_views.SYNC_PENDING)
    return LimitSet(limit=limit_out(row), slurm=slurm_out(state))


# --- usage --------------------------------------------------------------------------------------

By = Annotated[UsageBy, Query()]
Form = Annotated[Literal["json", "csv"], Query(alias="format")]
From = Annotated[str | None, Query(alias="from", max_length=7)]
To = Annotated[str | None, Query(max_length=7)]
CSV: dict[int | str, dict[str, Any]] = {
    200: {"model": UsageTotals, "content": {"text/csv": {"schema": {"type": "string"}}}}
}


@router.get("/admin/usage", response_model=UsageTotals, responses=CSV)
async def get_usage(
    _reader: Reader,
    context: ContextDep,
    from_: From = None,
    to: To = None,
    by: By = "user",
    form: Form = "json",
    user: Annotated[str | None, Query(max_length=64)] = None,
    group: Annotated[str | None, Query(max_length=GROUP_NAME_LENGTH)] = None,
) -> UsageTotals | Response:
    """Return GPU-hours and CPU-hours of all users, or of one user or group, in whole months."""
    return await _respond_usage(context, (from_, to), by, form, user, group)


@router.get("/groups/{group}/usage", response_model=UsageTotals, responses=CSV)
async def get_group_usage(
    group: GroupName,
    _reader: GroupReader,
    context: ContextDep,
    from_: From = None,
    to: To = None,
    by: Annotated[Literal["user", "month"], Query()] = "user",
    form: Form = "json",
) -> UsageTotals | Response:
    """Return the usage of a group's members."""
    return await _respond_usage(context, (from_, to), by, form, None, group)


@router.get("/me/usage", response_model=UsageTotals, responses=CSV)
async def get_my_usage(
    user: CurrentUser,
    context: ContextDep,
    from_: From = None,
    to: To = None,
    form: Form = "json",
) -> UsageTotals | Response:
    """Return the caller's usage, by month."""
    return await _respond_usage(context, (from_, to), "month", form, user.username, None)


async def _respond_usage(
    context: ContextDep,
    span: Span,
    by: UsageBy,
    form: str,
    user: str | None,
    group: str | None,
) -> UsageTotals | Response:
    found = await usage_totals(context, span, by, user, group)
    if form != "csv":
        return found
    name = f"usage-{found.first}-{found.last}-{by}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return Response(usage_csv(found), media_type="text/csv; charset=utf-8", headers=headers)


async def usage_totals(
    context: AppContext, span: Span, by: UsageBy, user: str | None, group: str | None
) -> UsageTotals:
    """Return the usage between two months as given in the request, by default the current month.

    Raises InvalidInput with the field `from` or `to`.
    """
    this = utcnow().date().replace(day=1)
    last = _parse_month("to", span[1]) or this
    first = _parse_month("from", span[0]) or min(last, this)
    if first > last or use.months_back(last, MOST_MONTHS) > first:
        text = f"Choose a range of at most {MOST_MONTHS} months that doesn't end before it starts."
        raise invalid_input([FieldError("from", text)])
    ask = {"user": use.by_user, "group": use.by_group, "month": use.by_month}[by]
    totals = await ask(context, use.UsageQuery(first, last, user, group))
    if last >= this:
        context.notifier.notify(USE)  # a repeated request shows newer numbers
    return UsageTotals(
        by=by,
        first=f"{first:%Y-%m}",
        last=f"{last:%Y-%m}",
        items=[_to_usage_row(used) for used in totals.rows],
        total=_to_usage_row(_sum_usage(totals.rows)),
        as_of=totals.as_of,
        counted_from=totals.complete_from,
    )


def _parse_month(field: str, text: str | None) -> date | None:
    if not text:
        return None
    match = MONTH.fullmatch(text)
    if match is None or match[1] == "0000":
        raise invalid_input([FieldError(field, "Enter a month such as 2026-10.")])
    return date(int(match[1]), int(match[2]), 1)


def _to_usage_row(used: use.GpuHours) -> UsageRow:
    return UsageRow(
        name=used.name,
        gpu_hours=round(used.gpu_seconds / HOUR, 3),
        cpu_hours=round(used.cpu_seconds / HOUR, 3),
        jobs=used.jobs,
    )


def _sum_usage(rows: list[use.GpuHours]) -> use.GpuHours:
    gpu, cpu = sum(one.gpu_seconds for one in rows), sum(one.cpu_seconds for one in rows)
    return use.GpuHours("", gpu, cpu, sum(one.jobs for one in rows))


def usage_csv(found: UsageTotals) -> str:
    """Convert usage to CSV for spreadsheets."""
    rows = [(row.name, row.gpu_hours, row.cpu_hours, row.jobs) for row in found.items]
    return csv_lines([(found.by, "gpu_hours", "cpu_hours", "jobs"), *rows])
