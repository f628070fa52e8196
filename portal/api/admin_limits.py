"""Administrators' routes of limits for users, groups and the default, and of drift in Slurm."""

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel

from portal.api.limit_group_totals import load_group_totals
from portal.api.limit_schemas import (
    LimitChoices,
    LimitIn,
    Limits,
    LimitSet,
    UserLimitsOut,
    drift_words,
    limit_out,
    slurm_out,
    user_limits_out,
)
from portal.db import utcnow
from portal.models import GROUP_NAME_LENGTH, LimitScope
from portal.services.limits import limit_changes, limit_views, slurm_drift, user_accounts
from portal.services.limits.associations import label
from portal.services.limits.slurm_drift import Drift
from portal.web.dependencies import ByDep, ContextDep, Reader, RecentPasswordAdmin

router = APIRouter(prefix="/admin", tags=["limits"])

MIN_REFRESH_INTERVAL = timedelta(seconds=3)
LimitName = Annotated[str, Path(min_length=1, max_length=GROUP_NAME_LENGTH)]
Version = Annotated[int | None, Query(ge=0)]


class DriftItem(BaseModel):
    """One field of an association in Slurm that differs from what the portal applied.

    `username` is empty for an account's own association, `partition` for one that applies to every
    partition. `accepted`: an administrator accepted the difference.
    """

    id: str
    account: str
    username: str
    partition: str
    since: datetime | None
    field: str
    wanted: str
    found: str
    accepted: bool


class DriftOut(BaseModel):
    """The drift, oldest first.

    `checked_at` is when Slurm was last read; `trouble` is the reason why it cannot be read.
    """

    items: list[DriftItem]
    checked_at: datetime | None
    trouble: str | None


@router.get("/limits")
async def list_limits(_reader: Reader, context: ContextDep) -> Limits:
    """Return every limit with its state in Slurm."""
    rows = await limit_changes.list_limits(context)
    members = await limit_views.load_members(context, rows)
    items = [
        limit_out(row, limit_views.compare_with_slurm(context, row, members.get(row.name, ())))
        for row in rows
    ]
    return Limits(items=items)


@router.get("/limits/choices")
async def list_limit_choices(_reader: Reader, context: ContextDep) -> LimitChoices:
    """Return the partitions, accounts and QOS that a limit can name."""
    accounts = await user_accounts.list_accounts(context)
    cluster, facts = context.watcher.cluster, context.accounting.facts
    return LimitChoices(
        partitions=sorted(p.name for p in cluster.partitions) if cluster else None,
        accounts=accounts,
        qos=sorted(facts.qos) if facts and accounts is not None else None,
    )


@router.put("/limits/default")
async def put_default_limit(
    body: LimitIn, _admin: RecentPasswordAdmin, context: ContextDep, by: ByDep
) -> LimitSet:
    """Set the default limit."""
    return await _put(LimitScope.DEFAULT, "", body, context, by)


@router.delete("/limits/default", status_code=204)
async def delete_default_limit(
    _admin: RecentPasswordAdmin, context: ContextDep, by: ByDep, version: Version = None
) -> None:
    """Delete the default limit."""
    await limit_changes.remove(context, by, LimitScope.DEFAULT, "", version)


@router.put("/limits/{scope}/{name}")
async def put_limit(
    scope: LimitScope,
    name: LimitName,
    body: LimitIn,
    _admin: RecentPasswordAdmin,
    context: ContextDep,
    by: ByDep,
) -> LimitSet:
    """Set all fields of a limit. The response comes once Slurm has it, or after a short time."""
    return await _put(scope, name, body, context, by)


@router.delete("/limits/{scope}/{name}", status_code=204)
async def delete_limit(
    scope: LimitScope,
    name: LimitName,
    _admin: RecentPasswordAdmin,
    context: ContextDep,
    by: ByDep,
    version: Version = None,
) -> None:
    """Delete a limit; what the portal applied to Slurm for it is reverted."""
    await limit_changes.remove(context, by, scope, name, version)


async def _put(
    scope: LimitScope, name: str, body: LimitIn, context: ContextDep, by: ByDep
) -> LimitSet:
    name = "" if scope is LimitScope.DEFAULT else name
    change = limit_changes.LimitRequest(
        (scope, name), body.to_limit_values(), body.version, body.create_account
    )
    row = await limit_changes.put(context, by, change)
    in_time = await context.slurm_limits.wait_for_comparison()
    members = (await limit_views.load_members(context, [row])).get(name, set())
    state = limit_views.compare_with_slurm(context, row, members)
    if not in_time:
        state = limit_views.LimitSyncState("pending", limit_views.SYNC_PENDING)
    return LimitSet(limit=limit_out(row), slurm=slurm_out(state))


@router.get("/users/{username}/limits")
async def get_user_limits(
    username: LimitName, _reader: Reader, context: ContextDep
) -> UserLimitsOut:
    """Return a user's effective limits, their sources, the usage, and the state in Slurm."""
    limits = await limit_views.load_user_limits(context, username)
    return user_limits_out(limits, await load_group_totals(context, limits.limits), slurm=True)


@router.get("/drift")
async def get_drift(_reader: Reader, context: ContextDep, fresh: bool = False) -> DriftOut:
    """Return drift in Slurm, including accepted differences; at most a minute old, or with `fresh`
    a few seconds.
    """
    at = context.accounting.at
    if fresh and (at is None or utcnow() - at > MIN_REFRESH_INTERVAL):
        await context.slurm_limits.wait_for_comparison()
    return _drift_out(context)


@router.post("/drift/{drift_id}/mend")
async def mend_drift(
    drift_id: str, _admin: RecentPasswordAdmin, context: ContextDep, by: ByDep
) -> DriftOut:
    """Apply the portal's value to Slurm again, also for an accepted difference."""
    await slurm_drift.revert(context, by, drift_id)
    await context.slurm_limits.wait_for_comparison()
    return _drift_out(context)


@router.post("/drift/{drift_id}/accept")
async def accept_drift(
    drift_id: str, _admin: RecentPasswordAdmin, context: ContextDep, by: ByDep
) -> DriftOut:
    """Accept a value that was set in Slurm outside the portal, until the limit changes."""
    await slurm_drift.accept(context, by, drift_id)
    await context.slurm_limits.wait_for_comparison()
    return _drift_out(context)


def _drift_out(context: ContextDep) -> DriftOut:
    items = [drift_item(drift) for drift in slurm_drift.list_drift(context)]
    return DriftOut(
        items=items, checked_at=context.accounting.at, trouble=context.slurm_limits.trouble
    )


def drift_item(drift: Drift) -> DriftItem:
    """Convert a drift to its form for administrators."""
    association, name = drift.association, drift.name
    account, username, partition = association.key
    return DriftItem(
        id=association.drift_id(name),
        account=account,
        username=username,
        partition=partition,
        since=association.drift_since if not drift.accepted else None,
        field=label(name),
        wanted=drift_words(association, name, drift.applied),
        found=drift_words(association, name, drift.actual),
        accepted=drift.accepted,
    )
