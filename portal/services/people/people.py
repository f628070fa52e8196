"""What the directory says of people between their logins: their groups, and that there are such.

A person's groups, and the role that follows, are written down at each login. Who comes to something
by way of a group, and whoever is more than a user, has them looked up again when they were read
longer than FRESH ago, so that leaving a group counts also for someone who stays logged in. While
the directory doesn't answer, what it said last goes on.
"""

import asyncio
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog
from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from portal.db import Database, utcnow
from portal.directory.contract import MAX_GROUPS, Directory, Person
from portal.errors import DirectoryUnavailable
from portal.models import GROUP_NAME_LENGTH, GroupMembership, User
from portal.services.people import roles
from portal.settings import Settings
from spawner.tasks import end_all

log = structlog.get_logger(__name__)

FRESH = timedelta(minutes=10)
AGAIN = timedelta(minutes=1)  # after the directory hasn't answered
REMEMBERED = 1000


def usable(names: Iterable[str]) -> set[str]:
    """Those of the directory's group names that can be kept: so many, and so long."""
    fit = {name for name in names if name.isprintable() and 0 < len(name) <= GROUP_NAME_LENGTH}
    return set(sorted(fit)[:MAX_GROUPS])


async def remember(db: AsyncSession, user: User, names: Iterable[str]) -> None:
    """Write down the groups that the directory names, in the caller's transaction."""
    user.groups_at = utcnow()
    await db.flush()  # holds the user's row: of two logins at once the second waits here
    mine = GroupMembership.user_id == user.id
    before = set((await db.scalars(select(GroupMembership.name).where(mine))).all())
    now = usable(names)
    if gone := before - now:
        await db.execute(delete(GroupMembership).where(mine, GroupMembership.name.in_(gone)))
    db.add_all(GroupMembership(user_id=user.id, name=name) for name in now - before)
    await db.flush()


async def learn(db: AsyncSession, settings: Settings, user: User, names: Iterable[str]) -> None:
    """As `remember`, and the role that follows; in the caller's transaction."""
    known = set(names)
    roles.refresh(settings, user, known)
    await remember(db, user, known)


def is_same(user: User, person: Person) -> bool:
    """Whether an entry of the directory is whom a row is about: a name may be given again, a
    number belongs to one person's files."""
    return user.uid is None or person.uid is None or user.uid == person.uid


async def names_of(db: AsyncSession, user_id: str) -> list[str]:
    """The groups that someone is in as far as is known."""
    query = select(GroupMembership.name).where(GroupMembership.user_id == user_id)
    return sorted((await db.scalars(query)).all())


async def groups_of(database: Database, user_id: str) -> tuple[list[str], datetime | None]:
    """The groups that someone is in as far as is known, and when the directory said so."""
    async with database.session() as db:
        as_of = await db.scalar(select(User.groups_at).where(User.id == user_id))
        return await names_of(db, user_id), as_of


async def names_of_numbers(database: Database, numbers: Collection[int]) -> dict[int, str]:
    """Who had these numbers, as far as the portal knows them; of two the one who isn't deleted."""
    query = select(User.uid, User.username).where(User.uid.in_(list(numbers)[:REMEMBERED]))
    deleted_first = query.order_by(User.deleted_at.is_(None), User.created_at)
    async with database.session() as db:
        return {uid: name for uid, name in await db.execute(deleted_first) if uid is not None}


@dataclass(frozen=True)
class People:
    """Looks people up; one instance per application."""

    database: Database
    directory: Directory
    settings: Settings
    _under_way: dict[str, asyncio.Task[bool]] = field(default_factory=dict)
    _tried: dict[str, datetime] = field(default_factory=dict)

    async def close(self) -> None:
        """End what is looked up at this moment."""
        await end_all(self._under_way.values())

    async def is_someone(self, username: str) -> bool:
        """Whether there is a person of this name. One who has logged in before is known; of anyone
        else the directory says. True where that can't be asked at the moment."""
        async with self.database.session() as db:
            known = await db.scalar(select(User.id).where(User.username == username))
        if known is not None or not self.directory.finds:
            return True
        try:
            found = await self.directory.find(username)
        except DirectoryUnavailable:
            return True
        return found is not None and found.username == username

    async def freshen(self, user_id: str, username: str, known_at: datetime | None) -> bool:
        """Look up someone's groups and role again, unless they were read a moment ago, `known_at`.
        Whether they have been: not while the directory doesn't answer. Many who wait ask once."""
        now = utcnow()
        if known_at is not None and now - known_at < FRESH:
            return False
        tried = self._tried.get(user_id)
        if not self.directory.finds or (tried is not None and now - tried < AGAIN):
            return False
        task = self._under_way.get(user_id)
        if task is None:
            task = asyncio.create_task(self._look_up(user_id, username))
            self._under_way[user_id] = task
            task.add_done_callback(lambda _: self._under_way.pop(user_id, None))
        return await asyncio.shield(task)

    async def _look_up(self, user_id: str, username: str) -> bool:
        try:
            person = await self.directory.find(username)
        except DirectoryUnavailable as error:
            log.warning("groups are not known anew", username=username, cause=str(error)[:300])
            self._note_failure(user_id)
            return False
        async with self.database.session() as db:
            user = await db.get(User, user_id)
            if user is None:
                return False
            here = person is not None and is_same(user, person)
            await learn(db, self.settings, user, person.groups if person and here else ())
            await db.commit()
        return True

    def _note_failure(self, user_id: str) -> None:
        if len(self._tried) >= REMEMBERED:
            self._tried.clear()
        self._tried[user_id] = utcnow()
