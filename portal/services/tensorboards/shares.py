"""Who besides its owner may look at the TensorBoard of a session or job: named people and groups,
until it is taken back.

The owner's word alone; viewers.py asks for every request.
"""

import re
from dataclasses import dataclass

from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from portal.errors import Conflict, FieldError, invalid_input
from portal.models import Job, Share, User
from portal.parts import Parts
from portal.services.audit import audit
from portal.services.people import people
from portal.services.people.people import People
from portal.services.tensorboards import tensorboards
from portal.settings import USERNAME_PATTERN

MOST = 50
NO_GROUP = "You are in no group of this name. You can share with the groups that you are in."


@dataclass(frozen=True)
class Whom:
    """A person by username, or a group by name: exactly one of the two."""

    username: str | None = None
    group: str | None = None

    @property
    def chosen(self) -> ColumnElement[bool]:
        if self.group is not None:
            return Share.group_name == self.group
        return Share.username == self.username


@dataclass(frozen=True)
class SharedWith:
    """Whom a TensorBoard is shared with, each in order of name."""

    people: list[str]
    groups: list[str]

    def has(self, whom: Whom) -> bool:
        return whom.group in self.groups or whom.username in self.people


async def of(parts: Parts, parent: Job) -> SharedWith:
    """With whom the TensorBoard of a session or job is shared."""
    query = select(Share.username, Share.group_name).where(Share.parent_id == parent.id)
    async with parts.db.session() as db:
        rows = (await db.execute(query)).all()
    return SharedWith(
        people=sorted(row.username for row in rows if row.username is not None),
        groups=sorted(row.group_name for row in rows if row.group_name is not None),
    )


async def add(
    parts: Parts, known: People, parent: Job, whom: Whom, *, by: User, ip: str = ""
) -> SharedWith:
    """Share with one more person or group; twice is once. A person need not have logged in yet;
    of groups one may choose those that one is in.

    Raises InvalidInput for a name that can't be shared with, Conflict for one too many.
    """
    shared = await of(parts, parent)
    if shared.has(whom):
        return shared
    if whom.group is not None:
        await _check_group(parts, known, by, whom.group)
    else:
        await _check_person(known, parent, whom.username or "")
    if len(shared.people) + len(shared.groups) >= MOST:
        raise Conflict(f"This is shared with {MOST} people and groups already.")
    await tensorboards.ensure(parts, parent, parent.user)
    async with parts.db.session() as db:
        db.add(Share(parent_id=parent.id, username=whom.username, group_name=whom.group))
        _record(db, audit.Action.SHARE_ADD, parent, whom, by, ip)
        try:
            await db.commit()
        except IntegrityError:  # asked for twice at once
            await db.rollback()
    return await of(parts, parent)


async def remove(parts: Parts, parent: Job, whom: Whom, *, by: User, ip: str = "") -> SharedWith:
    """Take it back, if it was given."""
    async with parts.db.session() as db:
        mine = delete(Share).where(Share.parent_id == parent.id, whom.chosen)
        if (await db.scalars(mine.returning(Share.id))).all():
            _record(db, audit.Action.SHARE_REMOVE, parent, whom, by, ip)
        await db.commit()
    return await of(parts, parent)


async def _check_person(known: People, parent: Job, username: str) -> None:
    if not re.fullmatch(USERNAME_PATTERN, username):
        raise invalid_input([FieldError("username", "This is no user name.")])
    if username == parent.user.username:
        raise invalid_input([FieldError("username", "It is yours already.")])
    if not await known.is_someone(username):
        text = "There is nobody of this user name. Check how it is written."
        raise invalid_input([FieldError("username", text)])


async def _check_group(parts: Parts, known: People, by: User, group: str) -> None:
    await known.freshen(by.id, by.username, by.groups_at)
    mine, _ = await people.groups_of(parts.db, by.id)
    if group not in mine:
        raise invalid_input([FieldError("group", NO_GROUP)])


def _record(
    db: AsyncSession, action: audit.Action, parent: Job, whom: Whom, by: User, ip: str
) -> None:
    target = f"{parent.user.username}/{parent.name}"
    detail = {"with": whom.username} if whom.group is None else {"with_group": whom.group}
    audit.record(db, action, actor=by, target=target, detail=detail, ip=ip)
