"""Limits of people, groups and everybody, for administrators; what somebody changed in Slurm."""

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel

from portal.api.deps import AccountsDep, ByDep, FreshAdmin, PartsDep, Reader
from portal.api.limit_deps import SlurmLimitsDep
from portal.api.limit_schemas import (
    LimitIn,
    LimitOut,
    Limits,
    LimitSet,
    PersonLimitsOut,
    drift_words,
    limit_out,
    person_out,
    slurm_out,
)
from portal.api.limit_together import together_of
from portal.db import utcnow
from portal.models import GROUP_NAME_LENGTH, LimitScope
from portal.services.limits import limit_changes, limit_views, slurm_drift
from portal.services.limits.associations import label
from portal.services.limits.slurm_drift import Drift

router = APIRouter(prefix="/admin", tags=["limits"])

SETTLE_S = 12.0
"""A change is answered when Slurm has it, or after this."""
FRESH = timedelta(seconds=3)
LimitName = Annotated[str, Path(min_length=1, max_length=GROUP_NAME_LENGTH)]
Version = Annotated[int | None, Query(ge=0)]


class DriftItem(BaseModel):
    """One figure of an association that isn't what the portal told Slurm. `username` is empty for
    an account's own, `partition` for one that holds in every partition. `accepted`: it stands."""

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
    """What differs, the oldest first. `checked_at` is when Slurm was last looked at; `trouble` says
    why it can't be."""

    items: list[DriftItem]
    checked_at: datetime | None
    trouble: str | None


@router.get("/limits")
async def list_limits(_reader: Reader, parts: PartsDep, slurm: SlurmLimitsDep) -> Limits:
    """Every limit, with how it stands with Slurm."""
    rows = await limit_changes.every(parts)
    members = await limit_views.members(parts, rows)
    items = [
        limit_out(row, limit_views.state_of(parts, slurm, row, members.get(row.name, ())))
        for row in rows
    ]
    return Limits(items=items)


@router.get("/limits/default")
async def get_default_limit(_reader: Reader, parts: PartsDep) -> LimitOut:
    """The limit for everybody."""
    return limit_out(await limit_changes.one(parts, LimitScope.DEFAULT, ""))


@router.put("/limits/default")
async def put_default_limit(
    body: LimitIn,
    _admin: FreshAdmin,
    parts: PartsDep,
    accounts: AccountsDep,
    slurm: SlurmLimitsDep,
    by: ByDep,
) -> LimitSet:
    """Set the limit for everybody."""
    return await _put(LimitScope.DEFAULT, "", body, parts, accounts, slurm, by)


@router.delete("/limits/default", status_code=204)
async def delete_default_limit(
    _admin: FreshAdmin, parts: PartsDep, by: ByDep, version: Version = None
) -> None:
    """End the limit for everybody."""
    await limit_changes.remove(parts, by, LimitScope.DEFAULT, "", version)


@router.get("/limits/{scope}/{name}")
async def get_limit(
    scope: LimitScope, name: LimitName, _reader: Reader, parts: PartsDep
) -> LimitOut:
    """The limit of a person, of each member of a group, or of a group together."""
    return limit_out(await limit_changes.one(parts, scope, name))


@router.put("/limits/{scope}/{name}")
async def put_limit(
    scope: LimitScope,
    name: LimitName,
    body: LimitIn,
    _admin: FreshAdmin,
    parts: PartsDep,
    accounts: AccountsDep,
    slurm: SlurmLimitsDep,
    by: ByDep,
) -> LimitSet:
    """Set all fields of a limit. The answer comes when Slurm has it, or soon."""
    return await _put(scope, name, body, parts, accounts, slurm, by)


@router.delete("/limits/{scope}/{name}", status_code=204)
async def delete_limit(
    scope: LimitScope,
    name: LimitName,
    _admin: FreshAdmin,
    parts: PartsDep,
    by: ByDep,
    version: Version = None,
) -> None:
    """End a limit; what the portal told Slurm for it is taken back."""
    await limit_changes.remove(parts, by, scope, name, version)


async def _put(
    scope: LimitScope,
    name: str,
    body: LimitIn,
    parts: PartsDep,
    accounts: AccountsDep,
    slurm: SlurmLimitsDep,
    by: ByDep,
) -> LimitSet:
    name = "" if scope is LimitScope.DEFAULT else name
    wish = limit_changes.Wish((scope, name), body.figures(), body.version, body.create_account)
    row = await limit_changes.put(parts, accounts.directory, by, wish)
    in_time = await slurm.settle(SETTLE_S)
    members = (await limit_views.members(parts, [row])).get(name, set())
    state = limit_views.state_of(parts, slurm, row, members)
    if not in_time:
        state = limit_views.SlurmState("pending", limit_views.STILL_BEING_TOLD)
    return LimitSet(limit=limit_out(row), slurm=slurm_out(state))


@router.get("/users/{username}/limits")
async def get_user_limits(
    username: LimitName, _reader: Reader, parts: PartsDep, slurm: SlurmLimitsDep
) -> PersonLimitsOut:
    """What counts for someone, where it comes from, what they use, and how Slurm has it."""
    found = await limit_views.of_person(parts, slurm, username)
    return person_out(found, await together_of(parts, found.limits), slurm=True)


@router.get("/drift")
async def get_drift(
    _reader: Reader, parts: PartsDep, slurm: SlurmLimitsDep, fresh: bool = False
) -> DriftOut:
    """What somebody has changed in Slurm by hand, and what of it was accepted; as seen less than a
    minute ago, or, with `fresh`, a few seconds."""
    at = parts.books.at
    if fresh and (at is None or utcnow() - at > FRESH):
        await slurm.settle(SETTLE_S)
    return _drift_out(parts, slurm)


@router.post("/drift/{drift_id}/mend")
async def mend_drift(
    drift_id: str, _admin: FreshAdmin, parts: PartsDep, slurm: SlurmLimitsDep, by: ByDep
) -> DriftOut:
    """Tell Slurm again what the portal has told it before; for what was accepted too."""
    await slurm_drift.mend(slurm, by, drift_id)
    await slurm.settle(SETTLE_S)
    return _drift_out(parts, slurm)


@router.post("/drift/{drift_id}/accept")
async def accept_drift(
    drift_id: str, _admin: FreshAdmin, parts: PartsDep, slurm: SlurmLimitsDep, by: ByDep
) -> DriftOut:
    """Let stand what somebody has set in Slurm, until the limit changes."""
    await slurm_drift.accept(slurm, by, drift_id)
    await slurm.settle(SETTLE_S)
    return _drift_out(parts, slurm)


def _drift_out(parts: PartsDep, slurm: SlurmLimitsDep) -> DriftOut:
    items = [drift_item(drift) for drift in slurm_drift.every(slurm)]
    return DriftOut(items=items, checked_at=parts.books.at, trouble=slurm.trouble)


def drift_item(drift: Drift) -> DriftItem:
    """One of them as administrators see it."""
    one, name = drift.standing, drift.name
    account, username, partition = one.place
    return DriftItem(
        id=one.drift_id(name),
        account=account,
        username=username,
        partition=partition,
        since=one.drift_since if not drift.accepted else None,
        field=label(name),
        wanted=drift_words(one, name, drift.wanted),
        found=drift_words(one, name, drift.found),
        accepted=drift.accepted,
    )
