"""The limits that administrators and leaders have set, and what they leave for someone to do.

`services/limits/limit_rules.py` says which of them counts and what that refuses; Slurm hears of
them by services/limits/slurm_limits.py, which is woken by LIMITS.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

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
from portal.parts import Parts
from portal.services.limits.limit_rules import (
    FIELDS,
    Allowance,
    Figures,
    Together,
    effective,
    fitted,
    refusals,
    too_many,
    too_many_together,
    with_type,
)
from portal.services.slurm.feasible import impossible
from portal.settings import Settings
from spawner.model import Resources
from spawner.parse_accounting import InUse


def figures(row: Limit) -> Figures:
    """What a row says, as the rules want it."""
    return Figures(**{name: getattr(row, name) for name in FIELDS})


def account_of(settings: Settings, group: str) -> str:
    """The name of Slurm's account that belongs to a group, whether there is one or not."""
    names = settings.slurm_account_of_group
    return names.get(group) or names.get("*", "{group}").replace("{group}", group)


@dataclass(frozen=True)
class Limits:
    """All limits at once, for whoever asks about many people."""

    default: Figures | None
    members: dict[str, Figures]
    together: dict[str, Figures]
    people: dict[str, Figures]

    @property
    def groups(self) -> set[str]:
        """Groups whose members must be known."""
        return {*self.members, *self.together}

    def effective(self, username: str, groups: set[str], *, own: bool = True) -> dict[str, Any]:
        """What counts for someone in these groups, with or without a limit of their own."""
        mine = self.people.get(username) if own else None
        theirs = {name: self.members[name] for name in groups & self.members.keys()}
        return effective((username, mine) if mine else None, theirs, self.default)


def sort_out(rows: Sequence[Limit]) -> Limits:
    """Rows by whom they are for."""
    by_scope: dict[LimitScope, dict[str, Figures]] = {scope: {} for scope in LimitScope}
    for row in rows:
        by_scope[row.scope][row.name] = figures(row)
    return Limits(
        default=by_scope[LimitScope.DEFAULT].get(""),
        members=by_scope[LimitScope.MEMBER],
        together=by_scope[LimitScope.GROUP],
        people=by_scope[LimitScope.PERSON],
    )


async def every_limit(db: AsyncSession) -> Limits:
    return sort_out((await db.scalars(select(Limit))).all())


async def concerning(db: AsyncSession, username: str, groups: set[str]) -> list[Limit]:
    """The limits that may count for someone: their own, their groups', the default."""
    in_groups = Limit.scope.in_([LimitScope.MEMBER, LimitScope.GROUP]) & Limit.name.in_(groups)
    mine = (Limit.scope == LimitScope.PERSON) & (Limit.name == username)
    query = select(Limit).where(or_(Limit.scope == LimitScope.DEFAULT, mine, in_groups))
    return list((await db.scalars(query.order_by(Limit.scope, Limit.name))).all())


async def groups_of(db: AsyncSession, username: str) -> set[str]:
    """The groups that the directory was last heard to name for someone."""
    query = select(GroupMembership.name).join(User, User.id == GroupMembership.user_id)
    return set((await db.scalars(query.where(User.username == username))).all())


async def allowance(parts: Parts, username: str) -> Allowance:
    """All that limits someone at this moment."""
    async with parts.db.session() as db:
        groups = await groups_of(db, username)
        limits = sort_out(await concerning(db, username, groups))
    return Allowance(
        effective=limits.effective(username, groups),
        together=[
            Together(name, account_of(parts.settings, name), shared)
            for name, shared in sorted(limits.together.items())
        ],
    )


async def fit(
    parts: Parts, user: User, wanted: Resources, named: Iterable[str]
) -> tuple[Resources, Allowance]:
    """Resources as the limits let them be, `named` being what the user asked for themselves.
    Raises InvalidInput for what they, or the cluster, could never give."""
    allowed, cluster = await allowance(parts, user.username), parts.watcher.cluster
    found = fitted(wanted, named, allowed, lambda other: not impossible(other, cluster))
    found = with_type(found, allowed, cluster)
    problems = refusals(found, allowed, cluster)
    if any(problem.field == "resources.gpus" for problem in problems):
        problems = refusals(found, allowed, cluster, await held_gpus(parts, user.username))
    fields = {problem.field for problem in problems}
    problems += [p for p in impossible(found, cluster) if p.field not in fields]
    if problems:
        raise invalid_input(problems)
    return found, allowed


async def held_gpus(parts: Parts, username: str) -> int | None:
    """The GPUs that someone's running jobs hold; None where nobody knows."""
    used = await in_use_by(parts, username)
    return used.gpus if used else None


async def in_use_by(parts: Parts, username: str) -> InUse | None:
    """What someone's running jobs hold with all accounts together; None where nobody knows."""
    found = await parts.books.in_use()
    if found is None:
        return None
    return sum((use for (_, user), use in found.items() if user == username), InUse())


# --- counting what waits or runs ----------------------------------------------------------------


async def take_turn(db: AsyncSession, user: User, allowed: Allowance) -> None:
    """Wait for others who count for the same person, or the same group, until this transaction
    ends: the row is written as it is, which locks it in PostgreSQL, and the database in SQLite."""
    await db.execute(update(User).where(User.id == user.id).values(username=User.username))
    for shared in allowed.together:  # in the order of their names, so that nobody waits in a ring
        whole = (Limit.scope == LimitScope.GROUP) & (Limit.name == shared.group)
        await db.execute(update(Limit).where(whole).values(name=Limit.name))


async def check_room(
    db: AsyncSession, user: User, allowed: Allowance, *, sessions: int = 0, jobs: int = 0
) -> None:
    """Raise LimitReached unless so many more may be begun; inside the transaction that adds them,
    so that of two at once the second sees the first."""
    await take_turn(db, user, allowed)
    for name, kind, more in (("sessions", "session", sessions), ("jobs", "job", jobs)):
        limit = allowed.effective.get(name)
        if more and limit is not None:
            have = await _live(db, name, [user.username])
            _refuse(name, too_many(kind, have, more, limit))
        for shared in allowed.together if more else ():
            most = getattr(shared.figures, name)
            if most is not None:
                have = await _live(db, name, members_query(shared.group))
                _refuse(name, too_many_together(kind, have, more, most, shared.group))


def _refuse(name: str, text: str | None) -> None:
    if text is not None:
        raise LimitReached(name, text)


def members_query(group: str) -> Any:
    """Usernames of the members that the portal knows."""
    query = select(User.username).join(GroupMembership, GroupMembership.user_id == User.id)
    return query.where(GroupMembership.name == group)


async def _live(db: AsyncSession, name: str, usernames: Any) -> int:
    """How many of these people's sessions or jobs wait or run. Each task of an array counts, as in
    Slurm; what is to end counts until it has."""
    people = select(User.id).where(User.username.in_(usernames))
    if name == "sessions":
        query = select(func.count()).select_from(Session)
        query = query.where(Session.user_id.in_(people), Session.state != JobState.ENDED)
        # one whose end nobody could be told of yet, and which its owner never saw
        return int(await db.scalar(query.where(Session.removed_at.is_(None))) or 0)
    live = (BatchJob.user_id.in_(people), BatchJob.state != JobState.ENDED)
    single = select(func.count()).select_from(BatchJob)
    count = int(await db.scalar(single.where(*live, BatchJob.array_size.is_(None))) or 0)
    arrays = await db.execute(
        select(BatchJob.array_size, BatchJob.tasks).where(*live, BatchJob.array_size.is_not(None))
    )
    return count + sum(_live_tasks(size, tasks) for size, tasks in arrays)


def _live_tasks(size: int, tasks: list[Any] | None) -> int:
    if not tasks:
        return size
    return sum(task.get("state") != JobState.ENDED for task in tasks)


async def live_counts(parts: Parts, usernames: Any) -> dict[str, int]:
    """Sessions and jobs of these people that wait or run."""
    async with parts.db.session() as db:
        return {name: await _live(db, name, usernames) for name in ("sessions", "jobs")}
