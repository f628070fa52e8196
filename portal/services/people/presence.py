"""Whether the portal's people are still in the directory: looked at every few minutes.

Who has left is not told to the portal: their entry is deleted, or switched off, by somebody else.
Whom two looks in a row don't find, and who is found switched off, is shut out here as by an
administrator (services/people/offboarding.py), their batch jobs left; when they are found again,
the same person and in order, they are let in again. An administrator's own decision is never
undone. Who is still there and in no group that lets in any more is another matter:
services/people/admission.py.

Nobody is shut out for what the directory doesn't say: a look that fails means nothing, one in which
a fifth of all are gone is not believed, and each person is asked for once more by name.
"""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import structlog
from sqlalchemy import or_, select

from portal.db import utcnow
from portal.directory.contract import Person
from portal.errors import DirectoryUnavailable
from portal.models import JobsPolicy, User
from portal.parts import Parts
from portal.services.audit.audit import Action, record
from portal.services.changes import CLOSING
from portal.services.login.accounts import Accounts
from portal.services.people import admission, closing, offboarding, people
from portal.services.people.offboarding import THE_DIRECTORY

log = structlog.get_logger(__name__)

AT_ONCE = 500
FEW = 3
"""Fewer than these may always be gone, however few people there are."""
GONE = "The directory doesn't know this person any more."
OFF = "Switched off in the directory."


@dataclass
class Findings:
    """What a look has found out about the portal's people. `others`: those who have a name of ours
    and another number count as gone."""

    well: list[User] = field(default_factory=list)
    gone: list[User] = field(default_factory=list)
    off: list[User] = field(default_factory=list)

    def credible(self) -> bool:
        """Whether so many can have left at once."""
        left, stayed = len(self.gone) + len(self.off), len(self.well)
        return left == 0 or (stayed > 0 and (left < FEW or 5 * left < left + stayed))


def findings(users: Collection[User], found: dict[str, Person]) -> Findings:
    """What the directory's answer means for each. Pure."""
    said = Findings()
    for user in users:
        person = found.get(user.username)
        if person is None or not people.is_same(user, person):
            said.gone.append(user)
        elif person.disabled:
            said.off.append(user)
        else:
            said.well.append(user)
    return said


class Presence:
    """The loop, for the application's lifespan: `run` until cancelled."""

    def __init__(self, parts: Parts, accounts: Accounts) -> None:
        self._parts, self._accounts = parts, accounts

    async def run(self) -> None:
        """Look every few minutes, and not at the start: two looks are never close together."""
        pause = timedelta(minutes=self._parts.settings.directory_sweep_minutes)
        while True:
            await asyncio.sleep(pause.total_seconds())
            try:
                await self.look()
            except DirectoryUnavailable as error:
                log.warning("nobody knows who is in the directory", cause=error.cause[:300])

    async def look(self) -> None:
        """Look once. Raises DirectoryUnavailable, and then nothing is concluded of the rest."""
        if not self._accounts.directory.finds:
            return
        users = await self._users()
        found = await self._found([user.username for user in users])
        active = [user for user in users if user.disabled_at is None]
        said = findings(active, found)
        if not said.credible():
            log.error("too many are gone at once", gone=len(said.gone), off=len(said.off))
            return
        for user in (*said.gone, *said.off):
            await self._look_closer(user)
        for user in said.well:
            if user.missing_since is not None:
                await self._found_again(user)
        back = findings([user for user in users if user.disabled_at is not None], found)
        for user in back.well:
            await self._let_in(user)
        await self._retire()
        await admission.look(self._accounts, said.well)

    async def _users(self) -> Sequence[User]:
        """Everyone about whom the directory may decide."""
        query = select(User).where(
            User.deleted_at.is_(None),
            User.directory_wants.is_(None),
            or_(User.disabled_at.is_(None), User.disabled_by == THE_DIRECTORY),
        )
        async with self._parts.db.session() as db:
            return (await db.scalars(query)).all()

    async def _found(self, names: Sequence[str]) -> dict[str, Person]:
        found: dict[str, Person] = {}
        for start in range(0, len(names), AT_ONCE):
            some = names[start : start + AT_ONCE]
            found |= await self._accounts.directory.find_many(some)
        return found

    async def _look_closer(self, user: User) -> None:
        """Someone seems to have left: ask for them alone, and write down what is so."""
        person = await self._accounts.directory.find(user.username)
        said = findings([user], {} if person is None else {user.username: person})
        if said.off:
            await self._shut_out(user, OFF)
        elif said.gone and user.missing_since is not None:
            await self._shut_out(user, GONE)
        elif said.gone:
            async with self._parts.db.session() as db:
                row = await db.get_one(User, user.id)
                row.missing_since = utcnow()
                await db.commit()

    async def _shut_out(self, user: User, why: str) -> None:
        async with self._parts.db.session() as db:
            row = await db.get_one(User, user.id)
            if row.disabled_at is not None or row.directory_wants is not None:
                return  # an administrator was quicker
            await offboarding.shut_out(db, row, JobsPolicy.LEAVE, why, THE_DIRECTORY)
            detail = {"jobs": JobsPolicy.LEAVE.value, "why": why}
            name = user.username
            record(db, Action.PERSON_DISABLE, actor=THE_DIRECTORY, target=name, detail=detail)
            await db.commit()
        self._parts.changes.notify(CLOSING, user.id)

    async def _found_again(self, user: User) -> None:
        async with self._parts.db.session() as db:
            row = await db.get_one(User, user.id)
            row.missing_since = None
            await db.commit()

    async def _let_in(self, user: User) -> None:
        async with self._parts.db.session() as db:
            row = await db.get_one(User, user.id)
            if row.disabled_by != THE_DIRECTORY or row.directory_wants is not None:
                return
            await offboarding.let_in(db, row)
            record(db, Action.PERSON_ENABLE, actor=THE_DIRECTORY, target=user.username)
            await db.commit()
        self._parts.changes.notify(CLOSING, user.id)

    async def _retire(self) -> None:
        """Names of the deleted that others may have from now on."""
        query = select(User.id).where(User.deleted_at.is_not(None), User.former_username.is_(None))
        async with self._parts.db.session() as db:
            ids = (await db.scalars(query)).all()
        for user_id in ids:
            await closing.retire(self._accounts, user_id)
