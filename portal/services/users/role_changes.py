"""Granted roles, group managers, and the guarantee that at least one administrator is left.

Every action that might remove the last administrator goes through `guard_last_admin`. It serializes
such actions, asks the directory whether another administrator can log in, and refuses if none can.
Actions on the database alone check once more inside their transaction, after `lock_admins`, so that
with two portal processes the second sees what the first has done.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog
from sqlalchemy import CursorResult, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from portal import errors
from portal.context import AppContext
from portal.db import utcnow
from portal.models import GroupManager, Mark, Role, User
from portal.services.audit.audit import Action, Actor, record
from portal.services.identity import memberships, roles
from portal.services.users import lookup

log = structlog.get_logger(__name__)

ADMIN_LOCK_ROW = "admins"
MAX_LOOKED_UP = 20
NONE_LEFT = (
    "No other administrator of this portal can log in. Make another user an administrator first."
)
NO_USE = (
    "{name} isn't in a group that is allowed to use this portal, so a role has no effect. "
    "Add the user to such a group first."
)

VerifiedAdmins = frozenset[str] | None
"""IDs of other administrators who can log in according to the directory; None: it was not asked, or
did not answer.
"""


@asynccontextmanager
async def guard_last_admin(context: AppContext, username: str) -> AsyncIterator[VerifiedAdmins]:
    """Guard an action that may remove an administrator. Raises LastAdmin unless another is left.

    Yields the value for `require_other_admin`, which an action on the database calls in its own
    transaction. Does nothing for users who are not administrators. Not reentrant.
    """
    async with context.admin_changes:
        async with context.db.session() as db:
            user = await lookup.load_user(db, username)
        verified: VerifiedAdmins = None
        if user is not None and is_active_admin(user):
            verified = await _verify_other_admin(context, user)
            async with context.db.session() as db:
                await require_other_admin(db, user, verified)
        yield verified


def is_active_admin(user: User) -> bool:
    """Return whether this is an administrator who can use the portal."""
    gone = user.disabled_at or user.deleted_at or user.missing_since
    return user.role is Role.ADMIN and gone is None


async def lock_admins(db: AsyncSession) -> None:
    """Wait for all other actions that may remove an administrator, until this transaction ends.

    Call it first in the transaction: what was read before may be outdated.
    """
    # update one row of `marks` only for its lock; it is created on first use
    query = update(Mark).where(Mark.name == ADMIN_LOCK_ROW).values(at=utcnow())
    updated = await db.execute(query)
    if isinstance(updated, CursorResult) and updated.rowcount == 0:
        db.add(Mark(name=ADMIN_LOCK_ROW, at=utcnow()))
        await db.flush()


async def require_other_admin(db: AsyncSession, user: User, verified: VerifiedAdmins) -> None:
    """Raise LastAdmin if the user is an administrator and no other is left in the database; unless
    `verified` is None, only those in it count.
    """
    if not is_active_admin(user):
        return
    others = {other.id for other in await _list_other_admins(db, user)}
    if not (others if verified is None else others & verified):
        raise errors.LastAdmin(NONE_LEFT)


async def _list_other_admins(db: AsyncSession, user: User) -> list[User]:
    query = select(User).where(
        User.id != user.id,
        User.role == Role.ADMIN,
        User.disabled_at.is_(None),
        User.deleted_at.is_(None),
        User.missing_since.is_(None),
    )
    newest = query.order_by(User.last_login_at.desc()).limit(MAX_LOOKED_UP)
    return list((await db.scalars(newest)).all())


async def _verify_other_admin(context: AppContext, user: User) -> VerifiedAdmins:
    """Return another administrator who can log in according to the directory.

    Those who logged in last are looked up first. Returns None while the directory does not answer:
    then the portal's own data counts.
    """
    if not context.directory.can_look_up_users:
        return None
    async with context.db.session() as db:
        others = await _list_other_admins(db, user)
    for other in others:
        try:
            entry = await context.directory.find(other.username)
        except errors.DirectoryUnavailable as error:
            log.warning("administrators can't be refreshed", cause=error.cause[:300])
            return None
        here = entry is not None and memberships.is_same(other, entry)
        groups = entry.groups if entry is not None and here else frozenset()
        async with context.db.session() as db:
            row = await db.get_one(User, other.id)
            await memberships.store_groups_and_role(db, context.settings, row, groups)
            await db.commit()
        in_order = entry is not None and not (entry.locked or entry.disabled)
        if in_order and row.role is Role.ADMIN:
            return frozenset({other.id})
    return frozenset()


def refuse_oneself(by: Actor, username: str, words: str) -> None:
    """Raise Conflict for actions users may not take on themselves. `words` end "You can't …"."""
    if isinstance(by.actor, User) and by.actor.username == username:
        raise errors.Conflict(f"You can't {words}. Another administrator can do this.")


# --- grants ---------------------------------------------------------------------------------------


async def grant(context: AppContext, username: str, role: Role | None, by: Actor) -> None:
    """Grant a role beside the directory's, or revoke it (None). Effective with the next request.

    Raises NotFound, LastAdmin; Conflict for deleted users, for administrators who would lower their
    own role, and for a grant to a user in no admitted group, where it would have no effect.
    """
    await ensure(context, username)
    if role is not None:
        await _refresh_if_not_admitted(context, username)
    async with guard_last_admin(context, username) as verified, context.db.session() as db:
        await lock_admins(db)
        user = await load_row(db, username)
        if role is not None and not roles.is_admitted(user):
            raise errors.Conflict(NO_USE.format(name=username))
        before, granted = user.role, user.granted_role
        role_then = roles.choose_higher(user.directory_role, role)
        if before is Role.ADMIN and role_then is not Role.ADMIN:
            refuse_oneself(by, username, "remove your own administrator role")
            await require_other_admin(db, user, verified)
        now = utcnow() if role is not None else None
        user.granted_role, user.granted_at = role, now
        user.granted_by = by.name if role is not None else None
        user.role = role_then
        detail = {"granted": _to_change(granted, role), "role": _to_change(before, role_then)}
        action = Action.ROLE_GRANT if role is not None else Action.ROLE_REVOKE
        record(db, action, actor=by.actor, target=username, detail=detail, ip=by.ip)
        await db.commit()
    context.notifier.notify(user.id)


async def _refresh_if_not_admitted(context: AppContext, username: str) -> None:
    """Refresh the groups of a user who is not admitted: they may have been added to one."""
    async with context.db.session() as db:
        admitted = roles.is_admitted(await load_row(db, username))
    if not admitted and context.directory.can_look_up_users:
        await lookup.refresh_after_group_change(context, username)


def _to_change(old: Role | None, new: Role | None) -> dict[str, str | None]:
    return {"old": old.value if old else None, "new": new.value if new else None}


async def add_manager(context: AppContext, group: str, username: str, by: Actor) -> None:
    """Make a user a group manager, who sees the members' usage and sets their limits.

    Raises NotFound.
    """
    await ensure(context, username)
    if context.directory.can_look_up_users and await context.directory.group(group) is None:
        raise errors.NotFound(f"There is no group {group[:64]} in the directory.")
    async with context.db.session() as db:
        user = await load_row(db, username)
        if await db.get(GroupManager, (group, user.id)) is not None:
            return
        db.add(GroupManager(group_name=group, user_id=user.id, created_by=by.name))
        detail = {"manager": username}
        record(db, Action.MANAGER_ADD, actor=by.actor, target=group, detail=detail, ip=by.ip)
        await db.commit()


async def remove_manager(context: AppContext, group: str, username: str, by: Actor) -> None:
    """Undo `add_manager`. Does nothing for a user who does not manage the group."""
    async with context.db.session() as db:
        user = await load_row(db, username)
        manager = await db.get(GroupManager, (group, user.id))
        if manager is None:
            return
        await db.delete(manager)
        detail = {"manager": username}
        record(db, Action.MANAGER_REMOVE, actor=by.actor, target=group, detail=detail, ip=by.ip)
        await db.commit()


# --- rows -----------------------------------------------------------------------------------------


async def ensure(context: AppContext, username: str) -> None:
    """Create the portal's row of a user if there is none.

    Raises NotFound, Conflict for users that the portal does not manage.
    """
    async with context.db.session() as db:
        if await lookup.load_user(db, username) is not None:
            return
    entry = await lookup.fetch_entry(context, username)
    async with context.db.session() as db:
        await lookup.ensure(db, context.settings, entry)
        await db.commit()


async def load_row(db: AsyncSession, username: str) -> User:
    """Return the row of a user, read again. Raises NotFound, Conflict for a deleted one."""
    query = select(User).where(User.username == username)
    user = await db.scalar(query.execution_options(populate_existing=True))
    if user is None:
        raise errors.NotFound(f"There is no user {username[:64]}.")
    if user.deleted_at is not None:
        raise errors.Conflict(f"The account {username} was deleted.")
    return user
