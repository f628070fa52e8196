"""Limits set by administrators and group managers, and checks of requests against them.

Effective limits and refusals are computed in `services/limits/limit_rules.py`.
services/limits/slurm_limits.py writes the limits to Slurm; the topic LIMITS wakes it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from portal.config.settings import Settings
from portal.context import AppContext
from portal.errors import LimitReached, invalid_input
from portal.models import (
    BatchJob,
    GroupMembership,
    JobState,
    Limit,
    LimitScope,
    Session,
    User,
)
from portal.services.catalog.feasible import impossible
from portal.services.limits.limit_rules import (
    FIELDS,
    Allowance,
    Figures,
    GroupTotal,
    apply_limits,
    effective,
    refusals,
    too_many,
    too_many_together,
    with_type,
)
from spawner.slurm.model import ClusterInfo, Resources
from spawner.slurm.parse_accounting import InUse


def figures(row: Limit) -> Figures:
    """Convert a row to the type that the rules use."""
    return Figures(**{name: getattr(row, name) for name in FIELDS})


def account_of(settings: Settings, group: str) -> str:
    """Return the name of the Slurm account that belongs to a group, whether or not it exists."""
    names = settings.slurm_account_of_group
    return names.get(group) or names.get("*", "{group}").replace("{group}", group)


@dataclass(frozen=True)
class AllLimits:
    """All limits at once, for callers that evaluate many users."""

    default: Figures | None
    members: dict[str, Figures]
    together: dict[str, Figures]
    users: dict[str, Figures]

    @property
    def groups(self) -> set[str]:
        """The groups whose members are needed to evaluate these limits."""
        return {*self.members, *self.together}

    def effective(self, username: str, groups: set[str], *, own: bool = True) -> dict[str, Any]:
        """Return a user's effective limits in these groups, with or without their own limit."""
        mine = self.users.get(username) if own else None
        theirs = {name: self.members[name] for name in groups & self.members.keys()}
        return effective((username, mine) if mine else None, theirs, self.default)


def sort_out(rows: Sequence[Limit]) -> AllLimits:
    """Group rows by scope."""
    by_scope: dict[LimitScope, dict[str, Figures]] = {scope: {} for scope in LimitScope}
    for row in rows:
        by_scope[row.scope][row.name] = figures(row)
    return AllLimits(
        default=by_scope[LimitScope.DEFAULT].get(""),
        members=by_scope[LimitScope.MEMBER],
        together=by_scope[LimitScope.GROUP],
        users=by_scope[LimitScope.USER],
    )


async def every_limit(db: AsyncSession) -> AllLimits:
    return sort_out((await db.scalars(select(Limit))).all())


async def concerning(db: AsyncSession, username: str, groups: set[str]) -> list[Limit]:
    """Return the limits that may apply to a user: their own, their groups' and the default."""
    in_groups = Limit.scope.in_([LimitScope.MEMBER, LimitScope.GROUP]) & Limit.name.in_(groups)
    mine = (Limit.scope == LimitScope.USER) & (Limit.name == username)
    query = select(Limit).where(or_(Limit.scope == LimitScope.DEFAULT, mine, in_groups))
    return list((await db.scalars(query.order_by(Limit.scope, Limit.name))).all())


async def groups_of(db: AsyncSession, username: str) -> set[str]:
    """Return the user's groups as the directory last reported them."""
    query = select(GroupMembership.name).join(User, User.id == GroupMembership.user_id)
    return set((await db.scalars(query.where(User.username == username))).all())


async def allowance(context: AppContext, username: str) -> Allowance:
    """Return everything that limits a user now."""
    async with context.db.session() as db:
        groups = await groups_of(db, username)
        limits = sort_out(await concerning(db, username, groups))
    return Allowance(
        effective=limits.effective(username, groups),
        together=[
            GroupTotal(name, account_of(context.settings, name), shared)
            for name, shared in sorted(limits.together.items())
        ],
    )


async def fit(
    context: AppContext, user: User, wanted: Resources, named: Iterable[str]
) -> tuple[Resources, Allowance]:
    """Adjust resources to the user's limits. `named` are the fields that the user set.

    Raises InvalidInput for resources that the limits or the cluster could never provide.
    """
    allowed, cluster = await allowance(context, user.username), context.watcher.cluster
    found = adjust(wanted, named, allowed, cluster)
    problems = refusals(found, allowed, cluster)
    if any(problem.field == "resources.gpus" for problem in problems):
        problems = refusals(found, allowed, cluster, await held_gpus(context, user.username))
    fields = {problem.field for problem in problems}
    problems += [p for p in impossible(found, cluster) if p.field not in fields]
    if problems:
        raise invalid_input(problems)
    return found, allowed


def adjust(
    wanted: Resources, named: Iterable[str], allowed: Allowance, cluster: ClusterInfo | None
) -> Resources:
    """Adjust those fields that the user did not set to the limits."""
    found = apply_limits(wanted, named, allowed, lambda other: not impossible(other, cluster))
    return with_type(found, allowed, cluster)


async def held_gpus(context: AppContext, username: str) -> int | None:
    """Return the GPUs that the user's running jobs hold; None while unknown."""
    used = await in_use_by(context, username)
    return used.gpus if used else None


async def in_use_by(context: AppContext, username: str) -> InUse | None:
    """Return what the user's running jobs hold in all accounts; None while unknown."""
    found = await context.accounting.in_use()
    if found is None:
        return None
    return sum((use for (_, user), use in found.items() if user == username), InUse())


# --- counting live sessions and jobs --------------------------------------------------------------


async def take_turn(db: AsyncSession, user: User, allowed: Allowance) -> None:
    """Lock the user and the shared group limits until this transaction ends.

    Concurrent transactions that count for the same user or group wait. The rows are updated without
    a change, which locks the row in PostgreSQL and the database in SQLite.
    """
    await db.execute(update(User).where(User.id == user.id).values(username=User.username))
    for shared in allowed.together:  # ordered by name, so that transactions cannot deadlock
        whole = (Limit.scope == LimitScope.GROUP) & (Limit.name == shared.group)
        await db.execute(update(Limit).where(whole).values(name=Limit.name))


async def check_room(
    db: AsyncSession, user: User, allowed: Allowance, *, sessions: int = 0, jobs: int = 0
) -> None:
    """Raise LimitReached unless this many more sessions or jobs may be started.

    Must run inside the transaction that adds them, so that of two concurrent requests the second
    sees the first.
    """
    await take_turn(db, user, allowed)
    for name, kind, more in (("sessions", "session", sessions), ("jobs", "job", jobs)):
        limit = allowed.effective.get(name)
        if more and limit is not None:
            have = await _count_live(db, name, [user.username])
            _raise_if_refused(name, too_many(kind, have, more, limit))
        for shared in allowed.together if more else ():
            most = getattr(shared.figures, name)
            if most is not None:
                have = await _count_live(db, name, members_query(shared.group))
                _raise_if_refused(name, too_many_together(kind, have, more, most, shared.group))


def _raise_if_refused(name: str, text: str | None) -> None:
    if text is not None:
        raise LimitReached(name, text)


def members_query(group: str) -> Any:
    """Select the user names of the group members that the portal knows."""
    query = select(User.username).join(GroupMembership, GroupMembership.user_id == User.id)
    return query.where(GroupMembership.name == group)


async def _count_live(db: AsyncSession, name: str, usernames: Any) -> int:
    """Count the pending and running sessions or jobs of these users.

    Each task of an array counts, as in Slurm. A session or job that is being stopped counts until
    it has ended.
    """
    users = select(User.id).where(User.username.in_(usernames))
    if name == "sessions":
        query = select(func.count()).select_from(Session)
        query = query.where(Session.user_id.in_(users), Session.state != JobState.ENDED)
        # A removed session never became visible to its owner; its end isn't confirmed yet.
        return int(await db.scalar(query.where(Session.removed_at.is_(None))) or 0)
    live = (BatchJob.user_id.in_(users), BatchJob.state != JobState.ENDED)
    single = select(func.count()).select_from(BatchJob)
    count = int(await db.scalar(single.where(*live, BatchJob.array_size.is_(None))) or 0)
    arrays = await db.execute(
        select(BatchJob.array_size, BatchJob.tasks).where(*live, BatchJob.array_size.is_not(None))
    )
    return count + sum(_count_live_tasks(size, tasks) for size, tasks in arrays)


def _count_live_tasks(size: int, tasks: list[Any] | None) -> int:
    if not tasks:
        return size
    return sum(task.get("state") != JobState.ENDED for task in tasks)


async def live_counts(context: AppContext, usernames: Any) -> dict[str, int]:
    """Count the pending and running sessions and jobs of these users."""
    async with context.db.session() as db:
        return {name: await _count_live(db, name, usernames) for name in ("sessions", "jobs")}
