"""Routes of limits for users and group managers; managers set members' limits."""

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel

from portal.api.limit_group_totals import load_group_totals
from portal.api.limit_schemas import (
    EffectiveValueOut,
    GroupUseOut,
    LimitIn,
    LimitOut,
    LimitSet,
    MyLimitsOut,
    UseOut,
    effective_value_out,
    limit_out,
    slurm_out,
    use_out,
    user_limits_out,
)
from portal.api.user_schemas import GroupName
from portal.services.limits import limit_changes, limit_views, user_accounts
from portal.services.limits.all_limits import get_account
from portal.services.limits.allowances import explain_no_session
from portal.web.dependencies import (
    ByDep,
    ContextDep,
    CurrentUser,
    GroupReader,
    RecentPasswordGroupManager,
)

router = APIRouter(tags=["limits"])

Username = Annotated[str, Path(min_length=1, max_length=64)]


class MemberOut(BaseModel):
    """A member: their own limit, if any, the effective limits by field, and their present usage."""

    username: str
    display_name: str
    limit: LimitOut | None
    effective: dict[str, EffectiveValueOut]
    use: UseOut


class GroupLimitsOut(BaseModel):
    """A group's limits: `together` is the group total, `member` the per-member limit.

    `ceiling` is the most that a group manager may grant, by field. `account` is the group's Slurm
    account.
    """

    group: str
    account: str
    together: LimitOut | None
    member: LimitOut | None
    ceiling: dict[str, EffectiveValueOut]
    use: UseOut
    members: list[MemberOut]


@router.get("/me/limits")
async def get_my_limits(user: CurrentUser, context: ContextDep) -> MyLimitsOut:
    """Return the caller's effective limits, their sources, and the present usage."""
    limits = await limit_views.load_user_limits(context, user.username)
    shown = user_limits_out(limits, await load_group_totals(context, limits.limits), slurm=False)
    problem = await user_accounts.explain_missing(context, user.username)
    no_session = problem or await explain_no_session(context, user)
    return MyLimitsOut(
        **shown.model_dump(),
        problem=problem,
        no_session=no_session,
        group_use=[
            GroupUseOut(group=group, use=use_out(in_use))
            for group, in_use in await limit_views.load_group_use(context, limits)
        ],
    )


@router.get("/groups/{group}/limits")
async def get_group_limits(
    group: GroupName, _reader: GroupReader, context: ContextDep
) -> GroupLimitsOut:
    """Return a group's limits, and its members' limits and usage."""
    limits = await limit_views.load_group_limits(context, group)
    return GroupLimitsOut(
        group=group,
        account=get_account(context.settings, group),
        together=limit_out(limits.group_total) if limits.group_total else None,
        member=limit_out(limits.per_member) if limits.per_member else None,
        ceiling={name: effective_value_out(limit) for name, limit in limits.ceiling.items()},
        use=use_out(limits.in_use),
        members=[
            MemberOut(
                username=member.username,
                display_name=member.display_name,
                limit=limit_out(member.limit) if member.limit else None,
                effective={
                    name: effective_value_out(limit) for name, limit in member.effective.items()
                },
                use=use_out(member.in_use),
            )
            for member in limits.members
        ],
    )


@router.put("/groups/{group}/limits/{username}")
async def put_member_limit(
    group: GroupName,
    username: Username,
    body: LimitIn,
    _manager: RecentPasswordGroupManager,
    context: ContextDep,
    by: ByDep,
) -> LimitSet:
    """Set a member's own limit: at most the group's, and at most what an administrator set."""
    row = await limit_changes.put_as_manager(
        context, by, group, username, body.to_limit_values(), body.version
    )
    in_time = await context.slurm_limits.wait_for_comparison()
    state = limit_views.compare_with_slurm(context, row, ())
    if not in_time:
        state = limit_views.LimitSyncState("pending", limit_views.SYNC_PENDING)
    return LimitSet(limit=limit_out(row), slurm=slurm_out(state))
