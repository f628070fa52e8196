"""Announcements: messages that administrators show to all users for a given period.

This module stores and changes them; logged-in users read them from `AnnouncementCache`
(cache.py). Code that changes one inside a running portal calls `refresh`; a change made on the
command line appears within REFRESH_S seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm.exc import StaleDataError

from portal.background.notifier import EVERYONE
from portal.context import AppContext
from portal.db import Database, utcnow
from portal.errors import EditConflict, FieldError, NotFound, invalid_input
from portal.models import Announcement, AnnouncementLevel
from portal.services import paging
from portal.services.audit.audit import Action, Actor, list_changes, record

PAGE = 50
MAX_TITLE, MAX_TEXT = 200, 4000
REFRESH_S = 10.0
FIELDS = ("level", "title", "text", "starts_at", "ends_at", "public")


class AnnouncementPhase(StrEnum):
    PLANNED = "planned"
    SHOWN = "shown"
    ENDED = "ended"


def phase(row: Announcement, now: datetime) -> AnnouncementPhase:
    """Return whether the announcement is planned, shown or over at `now`."""
    if row.ends_at is not None and row.ends_at <= now:
        return AnnouncementPhase.ENDED
    return AnnouncementPhase.PLANNED if row.starts_at > now else AnnouncementPhase.SHOWN


@dataclass(frozen=True)
class AnnouncementRequest:
    """The fields of a new announcement.

    `starts_at` None means now. `ends_at` None means until the announcement is deleted or given an
    end.
    """

    title: str
    level: AnnouncementLevel = AnnouncementLevel.INFO
    text: str = ""
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    public: bool = False


async def refresh(context: AppContext) -> None:
    """Reload the announcements and, if they changed, notify every open page.

    A loop calls this, too, for announcements that begin or end, and for changes made by other
    portal processes.
    """
    if await context.announcements.refresh(context.db):
        context.notifier.notify(EVERYONE)


async def add(database: Database, request: AnnouncementRequest, by: Actor) -> Announcement:
    """Create an announcement. Raises InvalidInput."""
    starts_at = request.starts_at or utcnow()
    row = Announcement(**{**vars(request), "starts_at": starts_at})
    row.title = _checked_title(row.title)
    row.created_by = row.updated_by = by.name
    _check_times(row)
    async with database.session() as db:
        db.add(row)
        await db.flush()
        detail = {"id": row.id, **{name: _to_json(value) for name, value in _values(row).items()}}
        _record(db, Action.ANNOUNCEMENT_ADD, row, by, detail)
        await db.commit()
    return row


async def edit(
    database: Database, announcement_id: str, version: int, values: Mapping[str, Any], by: Actor
) -> Announcement:
    """Update fields of an announcement if it still has this version.

    Raises InvalidInput, NotFound, and EditConflict (with the author and time of the newer
    change) if the version differs.
    """
    try:
        return await _edit(database, announcement_id, version, values, by)
    except StaleDataError as error:  # a concurrent change was committed first
        raise _conflict_error(await get(database, announcement_id)) from error


async def _edit(
    database: Database, announcement_id: str, version: int, values: Mapping[str, Any], by: Actor
) -> Announcement:
    async with database.session() as db:
        row = await db.get(Announcement, announcement_id)
        if row is None:
            raise NotFound("There is no such announcement.")
        if row.version != version:
            raise _conflict_error(row)
        before = _values(row)
        for name in values.keys() & {*FIELDS}:
            setattr(row, name, values[name])
        row.title = _checked_title(row.title)
        _check_times(row)
        after = _values(row)
        if before != after:
            row.updated_by = by.name
            plain = (
                {name: _to_json(old) for name, old in side.items()} for side in (before, after)
            )
            _record(db, Action.ANNOUNCEMENT_EDIT, row, by, {"id": row.id, **list_changes(*plain)})
            await db.commit()
        return row


async def delete(database: Database, announcement_id: str, by: Actor) -> None:
    """Delete an announcement permanently. Raises NotFound."""
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
            raise _conflict_error(await get(database, announcement_id)) from error


async def get(database: Database, announcement_id: str) -> Announcement:
    async with database.session() as db:
        announcement = await db.get(Announcement, announcement_id)
    if announcement is None:
        raise NotFound("There is no such announcement.")
    return announcement


async def page(database: Database, cursor: str | None = None) -> list[Announcement]:
    """Return announcements, newest first: up to PAGE + 1, to show whether more exist."""
    query = select(Announcement)
    if cursor:
        query = query.where(
            paging.build_after_condition(Announcement.created_at, Announcement.id, cursor)
        )
    query = query.order_by(Announcement.created_at.desc(), Announcement.id.desc())
    async with database.session() as db:
        return list((await db.scalars(query.limit(PAGE + 1))).all())


# --- internals ------------------------------------------------------------------------------------


def _checked_title(title: str) -> str:
    checked = " ".join(title.split())
    if not checked:
        raise invalid_input([FieldError("title", "Enter a title.")])
    return checked


def _check_times(row: Announcement) -> None:
    if row.ends_at is not None and row.ends_at <= row.starts_at:
        raise invalid_input([FieldError("ends_at", "The end must be after the start.")])


def _values(row: Announcement) -> dict[str, Any]:
    return {name: getattr(row, name) for name in FIELDS}


def _to_json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _record(
    db: AsyncSession, action: Action, row: Announcement, by: Actor, detail: dict[str, Any]
) -> None:
    record(db, action, actor=by.actor, target=row.title, detail=detail, ip=by.ip)


def _conflict_error(row: Announcement) -> EditConflict:
    return EditConflict(
        f"{row.updated_by} changed this announcement on {row.updated_at:%d %B %Y at %H:%M} "
        "UTC, after you opened it. Review the current version, then make your change "
        "again.",
        extension={"changed_by": row.updated_by, "changed_at": row.updated_at.isoformat()},
    )
