"""Directory poll: check every few minutes whether the portal's users still exist there.

The directory does not notify the portal about removed or disabled users. A user who is missing in
two polls in a row, or found disabled, is disabled here as by an administrator
(services/deprovision/offboarding.py), with their batch jobs left running. If the same user is
found again and enabled, they are enabled again. An administrator's decision is never undone. Users
who still exist but are in no admitted group are handled by services/users/admission.py.

Missing answers never disable a user: a failed poll has no effect; one in which a fifth or more of
all users (and at least three), or every user, are missing or disabled is rejected; and each missing
or disabled user is looked up once more by name.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import structlog
from sqlalchemy import or_, select

from portal.background.notifier import DEPROVISION
from portal.context import AppContext
from portal.db import utcnow
from portal.directory.contract import DirectoryUser
from portal.models import JobsPolicy, User
from portal.services.audit.audit import Action, record
from portal.services.deprovision import deprovision, offboarding
from portal.services.deprovision.offboarding import THE_DIRECTORY
from portal.services.identity import memberships
from portal.services.users import admission

log = structlog.get_logger(__name__)

MAX_NAMES_PER_SEARCH = 500
ALWAYS_CREDIBLE = 3
"""Fewer missing or disabled users than this are credible, however few users there are, unless no
active user is left.
"""
MISSING_IN_DIRECTORY = "This user is no longer in the directory."
DISABLED_IN_DIRECTORY = "Disabled in the directory."


@dataclass
class PolledUsers:
    """Users by the directory's answer: active, missing and disabled there.

    An entry with the name of one of our users and another uid counts as missing.
    """

    active: list[User] = field(default_factory=list)
    missing: list[User] = field(default_factory=list)
    disabled: list[User] = field(default_factory=list)

    def is_credible(self) -> bool:
        """Return whether it is plausible that so many users have left at once."""
        left, stayed = len(self.missing) + len(self.disabled), len(self.active)
        return left == 0 or (stayed > 0 and (left < ALWAYS_CREDIBLE or 5 * left < left + stayed))


def classify_users(users: Collection[User], entries: dict[str, DirectoryUser]) -> PolledUsers:
    """Classify users by the directory's answer. Pure."""
    result = PolledUsers()
    for user in users:
        entry = entries.get(user.username)
        if entry is None or not memberships.is_same(user, entry):
            result.missing.append(user)
        elif entry.disabled:
            result.disabled.append(user)
        else:
            result.active.append(user)
    return result


class DirectorySync:
    """The directory poll: `poll` is one step."""

    def __init__(self, context: AppContext) -> None:
        self._context = context

    async def poll(self) -> None:
        """Poll once. Raises DirectoryUnavailable; the remaining users are then not changed."""
        if not self._context.directory.can_look_up_users:
            return
        users = await self._load_users()
        entries = await self._find_many([user.username for user in users])
        enabled = [user for user in users if user.disabled_at is None]
        result = classify_users(enabled, entries)
        if not result.is_credible():
            log.error(
                "directory poll rejected: too many users missing or disabled at once",
                missing=len(result.missing),
                disabled=len(result.disabled),
            )
            return
        for user in (*result.missing, *result.disabled):
            await self._recheck(user)
        for user in result.active:
            if user.missing_since is not None:
                await self._clear_missing(user)
        returned = classify_users([user for user in users if user.disabled_at is not None], entries)
        for user in returned.active:
            await self._enable(user)
        await self._release_names()
        await admission.refresh_admission(self._context, result.active)

    async def _load_users(self) -> Sequence[User]:
        """Load all users that the poll may disable or enable."""
        query = select(User).where(
            User.deleted_at.is_(None),
            User.directory_wants.is_(None),
            or_(User.disabled_at.is_(None), User.disabled_by == THE_DIRECTORY),
        )
        async with self._context.db.session() as db:
            return (await db.scalars(query)).all()

    async def _find_many(self, names: Sequence[str]) -> dict[str, DirectoryUser]:
        entries: dict[str, DirectoryUser] = {}
        for start in range(0, len(names), MAX_NAMES_PER_SEARCH):
            some = names[start : start + MAX_NAMES_PER_SEARCH]
            entries |= await self._context.directory.find_many(some)
        return entries

    async def _recheck(self, user: User) -> None:
        """Look up a missing or disabled user by name, and store the result."""
        entry = await self._context.directory.find(user.username)
        result = classify_users([user], {} if entry is None else {user.username: entry})
        if result.disabled:
            await self._disable(user, DISABLED_IN_DIRECTORY)
        elif result.missing and user.missing_since is not None:
            await self._disable(user, MISSING_IN_DIRECTORY)
        elif result.missing:
            async with self._context.db.session() as db:
                row = await db.get_one(User, user.id)
                row.missing_since = utcnow()
                await db.commit()

    async def _disable(self, user: User, why: str) -> None:
        async with self._context.db.session() as db:
            row = await db.get_one(User, user.id)
            if row.disabled_at is not None or row.directory_wants is not None:
                return  # an administrator acted first
            await offboarding.disable_in_portal(db, row, JobsPolicy.LEAVE, why, THE_DIRECTORY)
            detail = {"jobs": JobsPolicy.LEAVE.value, "why": why}
            name = user.username
            record(db, Action.USER_DISABLE, actor=THE_DIRECTORY, target=name, detail=detail)
            await db.commit()
        self._context.notifier.notify(DEPROVISION, user.id)

    async def _clear_missing(self, user: User) -> None:
        async with self._context.db.session() as db:
            row = await db.get_one(User, user.id)
            row.missing_since = None
            await db.commit()

    async def _enable(self, user: User) -> None:
        async with self._context.db.session() as db:
            row = await db.get_one(User, user.id)
            if row.disabled_by != THE_DIRECTORY or row.directory_wants is not None:
                return
            await offboarding.restore_access(db, row)
            record(db, Action.USER_ENABLE, actor=THE_DIRECTORY, target=user.username)
            await db.commit()
        self._context.notifier.notify(DEPROVISION, user.id)

    async def _release_names(self) -> None:
        """Release the names of deleted users where possible."""
        query = select(User.id).where(User.deleted_at.is_not(None), User.former_username.is_(None))
        async with self._context.db.session() as db:
            ids = (await db.scalars(query)).all()
        for user_id in ids:
            await deprovision.release_username(self._context, user_id)
