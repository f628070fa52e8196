"""Limits set by administrators and group managers, as stored.

services/limits/slurm_limits.py writes them to Slurm; the topic LIMITS wakes it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from portal.config.settings import Settings
from portal.models import GroupMembership, Limit, LimitScope, User
from portal.services.limits.limit_rules import FIELDS, LimitValues, merge_limits


def to_limit_values(row: Limit) -> LimitValues:
    """Convert a row to the type that the rules use."""
    return LimitValues(**{name: getattr(row, name) for name in FIELDS})


def get_account(settings: Settings, group: str) -> str:
    """Return the name of the Slurm account that belongs to a group, whether or not it exists."""
    names = settings.slurm_account_of_group
    return names.get(group) or names.get("*", "{group}").replace("{group}", group)


@dataclass(frozen=True)
class AllLimits:
    """All limits at once, for callers that evaluate many users.

    `per_member` and `group_totals` are by group name: what each member, and all members together,
    may use.
    """

    default: LimitValues | None
    per_member: dict[str, LimitValues]
    group_totals: dict[str, LimitValues]
    users: dict[str, LimitValues]

    @property
    def groups(self) -> set[str]:
        """The groups whose members are needed to evaluate these limits."""
        return {*self.per_member, *self.group_totals}

    def merge(self, username: str, groups: set[str], *, own: bool = True) -> dict[str, Any]:
        """Return a user's effective limits in these groups, with or without their own limit."""
        own_limit = self.users.get(username) if own else None
        theirs = {name: self.per_member[name] for name in groups & self.per_member.keys()}
        return merge_limits((username, own_limit) if own_limit else None, theirs, self.default)


def group_by_scope(rows: Sequence[Limit]) -> AllLimits:
    """Group rows by scope."""
    by_scope: dict[LimitScope, dict[str, LimitValues]] = {scope: {} for scope in LimitScope}
    for row in rows:
        by_scope[row.scope][row.name] = to_limit_values(row)
    return AllLimits(
        default=by_scope[LimitScope.DEFAULT].get(""),
        per_member=by_scope[LimitScope.MEMBER],
        group_totals=by_scope[LimitScope.GROUP],
        users=by_scope[LimitScope.USER],
    )


async def load_all(db: AsyncSession) -> AllLimits:
    return group_by_scope((await db.scalars(select(Limit))).all())


async def load_for_user(db: AsyncSession, username: str, groups: set[str]) -> list[Limit]:
    """Return the limits that may apply to a user: their own, their groups' and the default."""
    in_groups = Limit.scope.in_([LimitScope.MEMBER, LimitScope.GROUP]) & Limit.name.in_(groups)
    is_own = (Limit.scope == LimitScope.USER) & (Limit.name == username)
    query = select(Limit).where(or_(Limit.scope == LimitScope.DEFAULT, is_own, in_groups))
    return list((await db.scalars(query.order_by(Limit.scope, Limit.name))).all())


async def load_groups(db: AsyncSession, username: str) -> set[str]:
    """Return the user's groups as the directory last reported them."""
    query = select(GroupMembership.name).join(User, User.id == GroupMembership.user_id)
    return set((await db.scalars(query.where(User.username == username))).all())
