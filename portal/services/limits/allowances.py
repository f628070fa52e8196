"""Limits of one user, and checks of requests against them.

Effective limits and refusals are computed in `services/limits/limit_rules.py`.
"""

from collections.abc import Iterable

from sqlalchemy.ext.asyncio import AsyncSession

from portal.context import AppContext
from portal.db import lock_rows
from portal.errors import FieldError, LimitReached, invalid_input
from portal.models import Limit, LimitScope, User
from portal.services.catalog.feasible import find_impossible
from portal.services.limits.all_limits import (
    get_account,
    group_by_scope,
    load_for_user,
    load_groups,
)
from portal.services.limits.limit_rules import (
    Allowance,
    GroupTotal,
    apply_limits,
    explain_too_many,
    explain_too_many_in_group,
    list_refusals,
    set_gpu_type,
)
from portal.services.limits.live_counts import build_members_query, count_live_kind
from spawner.slurm.model import ClusterInfo, Resources
from spawner.slurm.parse_accounting import InUse


async def load_allowance(context: AppContext, username: str) -> Allowance:
    """Return everything that limits a user now."""
    async with context.db.session() as db:
        groups = await load_groups(db, username)
        limits = group_by_scope(await load_for_user(db, username, groups))
    return Allowance(
        effective=limits.merge(username, groups),
        group_totals=[
            GroupTotal(name, get_account(context.settings, name), shared)
            for name, shared in sorted(limits.group_totals.items())
        ],
    )


async def adjust_and_check(
    context: AppContext, user: User, requested: Resources, explicit: Iterable[str]
) -> tuple[Resources, Allowance]:
    """Adjust resources to the user's limits. `explicit` are the fields that the user set.

    Raises InvalidInput for resources that the limits or the cluster could never provide.
    """
    allowed = await load_allowance(context, user.username)
    adjusted = adjust(requested, explicit, allowed, context.watcher.cluster)
    if problems := await list_problems(context, user, adjusted, allowed):
        raise invalid_input(problems)
    return adjusted, allowed


async def list_problems(
    context: AppContext, user: User, resources: Resources, allowed: Allowance
) -> list[FieldError]:
    """Return why the limits or the cluster could never provide these resources."""
    cluster = context.watcher.cluster
    problems = list_refusals(resources, allowed, cluster)
    if any(problem.field == "resources.gpus" for problem in problems):
        problems = list_refusals(
            resources, allowed, cluster, await count_gpus_in_use(context, user.username)
        )
    fields = {problem.field for problem in problems}
    return [*problems, *(p for p in find_impossible(resources, cluster) if p.field not in fields)]


def adjust(
    requested: Resources, explicit: Iterable[str], allowed: Allowance, cluster: ClusterInfo | None
) -> Resources:
    """Adjust those fields that the user did not set to the limits."""
    adjusted = apply_limits(
        requested, explicit, allowed, lambda candidate: not find_impossible(candidate, cluster)
    )
    return set_gpu_type(adjusted, allowed, cluster)


async def count_gpus_in_use(context: AppContext, username: str) -> int | None:
    """Return the GPUs that the user's running jobs hold; None while unknown."""
    used = await load_in_use(context, username)
    return used.gpus if used else None


async def load_in_use(context: AppContext, username: str) -> InUse | None:
    """Return what the user's running jobs hold in all accounts; None while unknown."""
    usage = await context.accounting.in_use()
    if usage is None:
        return None
    return sum((use for (_, user), use in usage.items() if user == username), InUse())


# --- limits on numbers of sessions and jobs -------------------------------------------------------


async def lock_user(db: AsyncSession, user_id: str) -> None:
    """Lock the user until this transaction ends: others that count what they have wait."""
    await lock_rows(db, User, User.id == user_id)


async def lock_limits(db: AsyncSession, user: User, allowed: Allowance) -> None:
    """Lock the user and the group totals until this transaction ends."""
    await lock_user(db, user.id)
    for shared in allowed.group_totals:  # ordered by name, so that transactions cannot deadlock
        is_group_total = (Limit.scope == LimitScope.GROUP) & (Limit.name == shared.group)
        await lock_rows(db, Limit, is_group_total)


async def check_room(
    db: AsyncSession, user: User, allowed: Allowance, *, sessions: int = 0, jobs: int = 0
) -> None:
    """Raise LimitReached unless this many more sessions or jobs may be started.

    Must run inside the transaction that adds them, so that of two concurrent requests the second
    sees the first.
    """
    await lock_limits(db, user, allowed)
    for name, count in (("sessions", sessions), ("jobs", jobs)):
        if count and (text := await _find_excess(db, user, allowed, name, count)):
            raise LimitReached(name, text)


async def explain_no_session(context: AppContext, user: User) -> str | None:
    """Return why the limits allow this user no further session now, or None."""
    allowed = await load_allowance(context, user.username)
    async with context.db.session() as db:
        return await _find_excess(db, user, allowed, "sessions", 1)


async def _find_excess(
    db: AsyncSession, user: User, allowed: Allowance, name: str, added: int
) -> str | None:
    """Return why `added` sessions or jobs (`name`) would be too many, or None."""
    kind = name.removesuffix("s")
    limit = allowed.effective.get(name)
    if limit is not None:
        have = await count_live_kind(db, name, [user.username])
        if text := explain_too_many(kind, have, added, limit):
            return text
    for shared in allowed.group_totals:
        most = getattr(shared.values, name)
        if most is not None:
            have = await count_live_kind(db, name, build_members_query(shared.group))
            if text := explain_too_many_in_group(kind, have, added, most, shared.group):
                return text
    return None
