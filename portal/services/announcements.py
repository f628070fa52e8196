"""Sentences of the administrators to everyone, each shown for a while.

They are changed here; whoever is logged in reads them from `Board` (board.py). Whoever has changed
one in a running portal calls `news`; a change by the command line is seen within REFRESH_S.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import and_, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm.exc import StaleDataError

from portal.db import Database, utcnow
from portal.errors import ChangedMeanwhile, FieldError, NotFound, invalid_input
from portal.models import Announcement, AnnouncementLevel
from portal.parts import Parts
from portal.services.audit.audit import Action, By, changed, record
from portal.services.changes import EVERYONE

PAGE = 50
MAX_TITLE, MAX_TEXT = 200, 4000
REFRESH_S = 10.0
FIELDS = ("level", "title", "text", "starts_at", "ends_at", "public")


class Phase(StrEnum):
    PLANNED = "planned"
    SHOWN = "shown"
    ENDED = "ended"


def phase(row: Announcement, now: datetime) -> Phase:
    """Whether it is shown at this moment."""
    if row.ends_at is not None and row.ends_at <= now:
        return Phase.ENDED
    return Phase.PLANNED if row.starts_at > now else Phase.SHOWN


@dataclass(frozen=True)
class Wish:
    """What an announcement is to be. `starts_at` None is now; `ends_at` None is until it is
    deleted or given an end."""

    title: str
    level: AnnouncementLevel = AnnouncementLevel.INFO
    text: str = ""
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    public: bool = False


async def keep_fresh(parts: Parts) -> None:
    """What begins or ends, and what another portal on this database was told, reaches the pages."""
    while True:
        await news(parts)
        await asyncio.sleep(REFRESH_S)


async def news(parts: Parts) -> None:
    """Have every open page show what is on now."""
    if await parts.board.refresh(parts.db):
        parts.changes.notify(EVERYONE)


async def add(database: Database, wish: Wish, by: By) -> Announcement:
    """Announce something. Raises InvalidInput."""
    starts_at = wish.starts_at or utcnow()
    row = Announcement(**{**vars(wish), "starts_at": starts_at})
    row.title = _checked_title(row.title)
    row.created_by = row.updated_by = by.name
    _check_times(row)
    async with database.session() as db:
        db.add(row)
        await db.flush()
        detail = {"id": row.id, **{name: _plain(value) for name, value in _values(row).items()}}
        _record(db, Action.ANNOUNCEMENT_ADD, row, by, detail)
        await db.commit()
    return row


async def edit(
    database: Database, announcement_id: str, version: int, values: Mapping[str, Any], by: By
) -> Announcement:
    """Change these fields of the one that had this version. Raises InvalidInput, NotFound, and
    ChangedMeanwhile, which says by whom and when, if it has another version now."""
    try:
        return await _edit(database, announcement_id, version, values, by)
    except StaleDataError as error:  # somebody was quicker by a moment
        raise _meanwhile(await get(database, announcement_id)) from error


async def _edit(
    database: Database, announcement_id: str, version: int, values: Mapping[str, Any], by: By
) -> Announcement:
    async with database.session() as db:
        row = await db.get(Announcement, announcement_id)
        if row is None:
            raise NotFound("There is no such announcement.")
        if row.version != version:
            raise _meanwhile(row)
        before = _values(row)
        for name in values.keys() & {*FIELDS}:
            setattr(row, name, values[name])
        row.title = _checked_title(row.title)
        _check_times(row)
        after = _values(row)
        if before != after:
            row.updated_by = by.name
            plain = ({name: _plain(old) for name, old in side.items()} for side in (before, after))
            _record(db, Action.ANNOUNCEMENT_EDIT, row, by, {"id": row.id, **changed(*plain)})
            await db.commit()
        return row


async def delete(database: Database, announcement_id: str, by: By) -> None:
    """Take it away for good. Raises NotFound."""
    async with database.session() as db:
        row = await db.get(Announcement, announcement_id)
        if row is None:
            raise NotFound("There is no such announcement.")
        detail = {"id": row.id, "level": row.level.value, "text": row.text}
        _record(db, Action.ANNOUNCEMENT_DELETE, row, by, detail)
        await db.delete(row)
        try:
            await db.commit()
        except StaleDataError as error:
            raise _meanwhile(await get(database, announcement_id)) from error


async def get(database: Database, announcement_id: str) -> Announcement:
    async with database.session() as db:
        found = await db.get(Announcement, announcement_id)
    if found is None:
        raise NotFound("There is no such announcement.")
    return found


async def page(
    database: Database, before: tuple[datetime, str] | None = None
) -> list[Announcement]:
    """All there are, the newest first; at most one more than PAGE."""
    query = select(Announcement)
    if before is not None:
        at, last = before
        same = and_(Announcement.created_at == at, Announcement.id < last)
        query = query.where(or_(Announcement.created_at < at, same))
    query = query.order_by(Announcement.created_at.desc(), Announcement.id.desc())
    async with database.session() as db:
        return list((await db.scalars(query.limit(PAGE + 1))).all())


# --- inside ---------------------------------------------------------------------------------------


def _checked_title(title: str) -> str:
    found = " ".join(title.split())
    if not found:
        raise invalid_input([FieldError("title", "Say in a few words what it is about.")])
    return found


def _check_times(row: Announcement) -> None:
    if row.ends_at is not None and row.ends_at <= row.starts_at:
        raise invalid_input([FieldError("ends_at", "It must end after it begins.")])


def _values(row: Announcement) -> dict[str, Any]:
    return {name: getattr(row, name) for name in FIELDS}


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _record(
    db: AsyncSession, action: Action, row: Announcement, by: By, detail: dict[str, Any]
) -> None:
    record(db, action, actor=by.actor, target=row.title, detail=detail, ip=by.ip)


def _meanwhile(row: Announcement) -> ChangedMeanwhile:
    return ChangedMeanwhile(
        f"{row.updated_by} changed this announcement on {row.updated_at:%d %B %Y at %H:%M} UTC,"
        " after you opened it. Look at what is there now, and make your change again.",
        extension={"changed_by": row.updated_by, "changed_at": row.updated_at.isoformat()},
    )
