"""Who besides its owner may look at a job's TensorBoard: named people, until it is taken back.

The owner's word alone; the tensorboard proxy asks for every request.
"""

import re

from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from portal.errors import Conflict, FieldError, invalid_input
from portal.models import Job, Share, User
from portal.parts import Parts
from portal.services import audit
from portal.settings import USERNAME_PATTERN

MOST = 50


async def of(parts: Parts, parent: Job) -> list[str]:
    """With whom a job is shared."""
    query = select(Share.username).where(Share.parent_id == parent.id).order_by(Share.username)
    async with parts.db.session() as db:
        return [name for name in (await db.scalars(query)).all() if name is not None]


async def add(parts: Parts, parent: Job, username: str, *, by: User, ip: str = "") -> list[str]:
    """Share with one more person; twice is once. They need not have logged in yet."""
    if not re.fullmatch(USERNAME_PATTERN, username):
        raise invalid_input([FieldError("username", "This is no user name.")])
    if username == parent.user.username:
        raise invalid_input([FieldError("username", "It is yours already.")])
    shared = await of(parts, parent)
    if username in shared:
        return shared
    if len(shared) >= MOST:
        raise Conflict(f"This is shared with {MOST} people already.")
    async with parts.db.session() as db:
        db.add(Share(parent_id=parent.id, username=username))
        _record(db, audit.Action.SHARE_ADD, parent, username, by, ip)
        try:
            await db.commit()
        except IntegrityError:  # asked for twice at once
            await db.rollback()
    return await of(parts, parent)


async def remove(parts: Parts, parent: Job, username: str, *, by: User, ip: str = "") -> list[str]:
    """Take it back."""
    async with parts.db.session() as db:
        await db.execute(
            delete(Share).where(Share.parent_id == parent.id, Share.username == username)
        )
        _record(db, audit.Action.SHARE_REMOVE, parent, username, by, ip)
        await db.commit()
    return await of(parts, parent)


def _record(
    db: AsyncSession, action: audit.Action, parent: Job, username: str, by: User, ip: str
) -> None:
    target = f"{parent.user.username}/{parent.name}"
    audit.record(db, action, actor=by, target=target, detail={"with": username}, ip=ip)
