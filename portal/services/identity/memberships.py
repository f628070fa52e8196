"""Directory data of users between logins: group memberships, roles, and existence.

A user's groups, and the role that follows from them, are stored at each login. For users with
access through a group, and for those with more than the user role, they are looked up again when
older than GROUPS_MAX_AGE, so that leaving a group takes effect also for users who stay logged in.
While the directory does not answer, its last answer counts.
"""

import asyncio
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog
from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from portal.config.settings import Settings
from portal.db import Database, utcnow
from portal.directory.contract import MAX_GROUPS, Directory, DirectoryUser
from portal.errors import DirectoryUnavailable
from portal.models import GROUP_NAME_LENGTH, GroupMembership, User
from portal.services.identity import roles
from spawner.tasks import end_all

log = structlog.get_logger(__name__)

GROUPS_MAX_AGE = timedelta(minutes=10)
RETRY_DELAY = timedelta(minutes=1)  # retry delay after the directory did not answer
MAX_FAILURES = 1000  # remembered, by user
MAX_UIDS = 1000


def select_storable(names: Iterable[str]) -> set[str]:
    """Return the group names that can be stored: printable, not too long, at most MAX_GROUPS."""
    fit = {name for name in names if name.isprintable() and 0 < len(name) <= GROUP_NAME_LENGTH}
    return set(sorted(fit)[:MAX_GROUPS])


async def store_groups(db: AsyncSession, user: User, names: Iterable[str]) -> None:
    """Store the user's groups from the directory, in the caller's transaction."""
    user.groups_at = utcnow()
    await db.flush()  # locks the user's row: of two concurrent logins the second waits here
    own_rows = GroupMembership.user_id == user.id
    before = set((await db.scalars(select(GroupMembership.name).where(own_rows))).all())
    now = select_storable(names)
    if gone := before - now:
        await db.execute(delete(GroupMembership).where(own_rows, GroupMembership.name.in_(gone)))
    db.add_all(GroupMembership(user_id=user.id, name=name) for name in now - before)
    await db.flush()


async def store_groups_and_role(
    db: AsyncSession, settings: Settings, user: User, names: Iterable[str]
) -> None:
    """Store the user's groups and the role that follows, in the caller's transaction."""
    known = set(names)
    roles.refresh(settings, user, known)
    await store_groups(db, user, known)


def is_same(user: User, entry: DirectoryUser) -> bool:
    """Return whether a directory entry and a row are of the same user.

    A name may be reused; a uid identifies the owner of the files.
    """
    return user.uid is None or entry.uid is None or user.uid == entry.uid


async def load_names(db: AsyncSession, user_id: str) -> list[str]:
    """Return the user's groups as far as known."""
    query = select(GroupMembership.name).where(GroupMembership.user_id == user_id)
    return sorted((await db.scalars(query)).all())


async def load_groups(database: Database, user_id: str) -> tuple[list[str], datetime | None]:
    """Return the user's groups as far as known, and when the directory reported them."""
    async with database.session() as db:
        as_of = await db.scalar(select(User.groups_at).where(User.id == user_id))
        return await load_names(db, user_id), as_of


async def load_usernames(database: Database, numbers: Collection[int]) -> dict[int, str]:
    """Return the user names with these uids as far as known, of the first MAX_UIDS numbers.

    Existing users win over deleted ones.
    """
    query = select(User.uid, User.username).where(User.uid.in_(list(numbers)[:MAX_UIDS]))
    deleted_first = query.order_by(User.deleted_at.is_(None), User.created_at)
    async with database.session() as db:
        return {uid: name for uid, name in await db.execute(deleted_first) if uid is not None}


@dataclass(frozen=True)
class DirectoryUsers:
    """Looks users up in the directory; one instance per application."""

    database: Database
    directory: Directory
    settings: Settings
    _under_way: dict[str, asyncio.Task[bool]] = field(default_factory=dict)
    _failed_at: dict[str, datetime] = field(default_factory=dict)

    async def close(self) -> None:
        """Cancel lookups in progress."""
        await end_all(self._under_way.values())

    async def user_exists(self, username: str) -> bool:
        """Return whether there is a user of this name.

        Users who have logged in before are known; for others the directory is asked. Returns True
        if it does not answer.
        """
        async with self.database.session() as db:
            known = await db.scalar(select(User.id).where(User.username == username))
        if known is not None or not self.directory.can_look_up_users:
            return True
        try:
            entry = await self.directory.find(username)
        except DirectoryUnavailable:
            return True
        return entry is not None and entry.username == username

    async def refresh_if_old(self, user_id: str, username: str, known_at: datetime | None) -> bool:
        """Refresh a user's groups and role unless they are recent. Return whether it did.

        `known_at` is when they were read last. Returns False while the directory does not answer.
        Concurrent calls share one query.
        """
        now = utcnow()
        if known_at is not None and now - known_at < GROUPS_MAX_AGE:
            return False
        failed_at = self._failed_at.get(user_id)
        if not self.directory.can_look_up_users or (
            failed_at is not None and now - failed_at < RETRY_DELAY
        ):
            return False
        task = self._under_way.get(user_id)
        if task is None:
            task = asyncio.create_task(self._look_up(user_id, username))
            self._under_way[user_id] = task
            task.add_done_callback(lambda _: self._under_way.pop(user_id, None))
        return await asyncio.shield(task)

    async def _look_up(self, user_id: str, username: str) -> bool:
        try:
            entry = await self.directory.find(username)
        except DirectoryUnavailable as error:
            log.warning("groups can't be refreshed", username=username, cause=str(error)[:300])
            self._note_failure(user_id)
            return False
        async with self.database.session() as db:
            user = await db.get(User, user_id)
            if user is None:
                return False
            here = entry is not None and is_same(user, entry)
            await store_groups_and_role(
                db, self.settings, user, entry.groups if entry and here else ()
            )
            await db.commit()
        return True

    def _note_failure(self, user_id: str) -> None:
        if len(self._failed_at) >= MAX_FAILURES:
            self._failed_at.clear()
        self._failed_at[user_id] = utcnow()
