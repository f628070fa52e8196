"""Roles given and taken in the portal, group leaders, and that an administrator is always left.

Who might cost the portal its last administrator goes through `keeping_one`: it lets one such act
run at a time, asks the directory whether another administrator can log in, and refuses if none can.
What is an act of the database alone looks once more inside its transaction, after `hold`: of two
portals, too, the second sees what the first has done.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog
from sqlalchemy import CursorResult, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from portal import errors
from portal.db import utcnow
from portal.models import GroupLeader, Mark, Role, User
from portal.services.audit.audit import Action, By, record
from portal.services.changes import Changes
from portal.services.login.accounts import Accounts
from portal.services.people import people, persons, roles

log = structlog.get_logger(__name__)

MARK = "admins"
MOST_LOOKED_UP = 20
NONE_LEFT = (
    "Nobody else who can log in administers this portal. Make someone else an administrator first."
)
NO_USE = (
    "{name} isn't in a group that may use this portal, so a role would mean nothing. Put them in"
    " such a group first."
)

Able = frozenset[str] | None
"""Ids of administrators of whom the directory says that they can log in; None: it wasn't asked."""


@asynccontextmanager
async def keeping_one(accounts: Accounts, username: str) -> AsyncIterator[Able]:
    """Around whatever may take an administrator away: raises LastAdmin unless another is left. Does
    nothing for those who are none. Not to be entered twice."""
    async with accounts.admins:
        async with accounts.database.session() as db:
            user = await persons.user_of(db, username)
        able: Able = None
        if user is not None and counts(user):
            able = await _able(accounts, user)
            async with accounts.database.session() as db:
                await check(db, user, able)
        yield able


def counts(user: User) -> bool:
    """Whether this is an administrator whom the portal would let in."""
    gone = user.disabled_at or user.deleted_at or user.missing_since
    return user.role is Role.ADMIN and gone is None


async def hold(db: AsyncSession) -> None:
    """Wait for everyone else who may take an administrator away, until this transaction ends. To be
    called first in it: what was read before may be old."""
    held = await db.execute(update(Mark).where(Mark.name == MARK).values(at=utcnow()))
    if isinstance(held, CursorResult) and held.rowcount == 0:  # a database put together by hand
        db.add(Mark(name=MARK, at=utcnow()))
        await db.flush()


async def check(db: AsyncSession, user: User, able: Able) -> None:
    """Raises LastAdmin if nobody else is left who administers; nothing for those who don't."""
    if not counts(user):
        return
    others = {other.id for other in await _others(db, user)}
    if not (others if able is None else others & able):
        raise errors.LastAdmin(NONE_LEFT)


async def _others(db: AsyncSession, user: User) -> list[User]:
    query = select(User).where(
        User.id != user.id,
        User.role == Role.ADMIN,
        User.disabled_at.is_(None),
        User.deleted_at.is_(None),
        User.missing_since.is_(None),
    )
    newest = query.order_by(User.last_login_at.desc()).limit(MOST_LOOKED_UP)
    return list((await db.scalars(newest)).all())


async def _able(accounts: Accounts, user: User) -> Able:
    """Another administrator who can log in, as the directory says now; those who log in most are
    looked up first. None while it doesn't answer: then the portal's memory counts."""
    if not accounts.directory.finds:
        return None
    async with accounts.database.session() as db:
        others = await _others(db, user)
    for other in others:
        try:
            person = await accounts.directory.find(other.username)
        except errors.DirectoryUnavailable as error:
            log.warning("administrators are not known anew", cause=error.cause[:300])
            return None
        here = person is not None and people.is_same(other, person)
        groups = person.groups if person is not None and here else frozenset()
        async with accounts.database.session() as db:
            row = await db.get_one(User, other.id)
            await people.learn(db, accounts.settings, row, groups)
            await db.commit()
        in_order = person is not None and not (person.locked or person.disabled)
        if in_order and row.role is Role.ADMIN:
            return frozenset({other.id})
    return frozenset()


def not_oneself(by: By, username: str, words: str) -> None:
    """Raises Conflict for what nobody may do to themselves: `words` end "You can't …"."""
    if isinstance(by.actor, User) and by.actor.username == username:
        raise errors.Conflict(f"You can't {words}. Another administrator can do this.")


# --- grants ---------------------------------------------------------------------------------------


async def grant(
    accounts: Accounts, changes: Changes, username: str, role: Role | None, by: By
) -> None:
    """Give someone a role in the portal beside the directory's, or take it away (None). It counts
    at their next request.

    Raises NotFound, LastAdmin; Conflict for the deleted, where somebody would lower themselves, and
    for a role given to someone in no group that lets them in, of whom it would mean nothing.
    """
    await ensure(accounts, username)
    if role is not None:
        await _look_outside(accounts, username)
    async with keeping_one(accounts, username) as able, accounts.database.session() as db:
        await hold(db)
        user = await row_of(db, username)
        if role is not None and not roles.is_admitted(user):
            raise errors.Conflict(NO_USE.format(name=username))
        before, granted = user.role, user.granted_role
        role_then = roles.effective(user.directory_role, role)
        if before is Role.ADMIN and role_then is not Role.ADMIN:
            not_oneself(by, username, "take your own administrator's role away")
            await check(db, user, able)
        now = utcnow() if role is not None else None
        user.granted_role, user.granted_at = role, now
        user.granted_by = by.name if role is not None else None
        user.role = role_then
        detail = {"granted": _words(granted, role), "role": _words(before, role_then)}
        action = Action.ROLE_GRANT if role is not None else Action.ROLE_REVOKE
        record(db, action, actor=by.actor, target=username, detail=detail, ip=by.ip)
        await db.commit()
    changes.notify(user.id)


async def _look_outside(accounts: Accounts, username: str) -> None:
    """Someone who is in no group that lets them in may have been put in one elsewhere."""
    async with accounts.database.session() as db:
        admitted = roles.is_admitted(await row_of(db, username))
    if not admitted and accounts.directory.finds:
        await persons.note_groups(accounts, username)


def _words(old: Role | None, new: Role | None) -> dict[str, str | None]:
    return {"old": old.value if old else None, "new": new.value if new else None}


async def add_leader(accounts: Accounts, group: str, username: str, by: By) -> None:
    """Have someone see what a group's members use, and set their limits. Raises NotFound."""
    await ensure(accounts, username)
    if accounts.directory.finds and await accounts.directory.group(group) is None:
        raise errors.NotFound(f"There is no group {group[:64]} in the directory.")
    async with accounts.database.session() as db:
        user = await row_of(db, username)
        if await db.get(GroupLeader, (group, user.id)) is not None:
            return
        db.add(GroupLeader(group_name=group, user_id=user.id, created_by=by.name))
        detail = {"leader": username}
        record(db, Action.LEADER_ADD, actor=by.actor, target=group, detail=detail, ip=by.ip)
        await db.commit()


async def remove_leader(accounts: Accounts, group: str, username: str, by: By) -> None:
    """Undo `add_leader`; who leads nothing is left as they are."""
    async with accounts.database.session() as db:
        user = await row_of(db, username)
        leader = await db.get(GroupLeader, (group, user.id))
        if leader is None:
            return
        await db.delete(leader)
        detail = {"leader": username}
        record(db, Action.LEADER_REMOVE, actor=by.actor, target=group, detail=detail, ip=by.ip)
        await db.commit()


# --- rows -----------------------------------------------------------------------------------------


async def ensure(accounts: Accounts, username: str) -> None:
    """That the portal has a row of someone: whoever is named by an administrator gets one. Raises
    NotFound, Conflict for whom the portal doesn't manage."""
    async with accounts.database.session() as db:
        if await persons.user_of(db, username) is not None:
            return
    person = await persons.person_of(accounts, username)
    async with accounts.database.session() as db:
        await persons.ensure(db, accounts.settings, person)
        await db.commit()


async def row_of(db: AsyncSession, username: str) -> User:
    """The row of someone who hasn't been deleted, read anew. Raises NotFound, Conflict."""
    query = select(User).where(User.username == username)
    user = await db.scalar(query.execution_options(populate_existing=True))
    if user is None:
        raise errors.NotFound(f"There is nobody called {username[:64]}.")
    if user.deleted_at is not None:
        raise errors.Conflict(f"The account {username} was deleted.")
    return user
