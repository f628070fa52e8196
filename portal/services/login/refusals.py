"""Refused logins on their way into the audit: a flood of them stays a bounded number of rows.

Of one name from one address the first few within the window of the rate limit become an event each;
those that follow are counted, and become one event together when the window is over. Names and
addresses beyond MOST_KEYS at once are counted together, whosever they are.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from portal.db import Database, utcnow
from portal.directory.contract import Directory
from portal.errors import DirectoryUnavailable
from portal.models import Refusals, User
from portal.services.audit.audit import Action, record

OWN_EVENTS = 3
MOST_KEYS = 200
FLUSHED_AT_ONCE = 100
SHOWN_CHARS = 2
NOBODY = "nobody"
"""The actor of what is counted together."""


async def note(
    database: Database,
    action: Action,
    name: str,
    *,
    ip: str,
    why: str,
    directory: Directory | None = None,
) -> None:
    """Write a refusal down, or count it. `directory` knows people who have never been here."""
    shown = await _shown(database, name, directory)
    async with database.session() as db:
        await note_in(db, action, shown, ip=ip, detail={"why": why})
        await db.commit()


async def note_in(
    db: AsyncSession, action: Action, actor: User | str, *, ip: str, detail: Mapping[str, Any]
) -> None:
    """The same of somebody known, in the caller's transaction."""
    name, now = actor.username if isinstance(actor, User) else actor, utcnow()
    if await _count(db, action, name, ip, now):
        return
    row = await _held(db, action, name, ip)
    if row is None and await _are_many(db):
        first = _row(action, NOBODY, "", now, own_events=OWN_EVENTS, times=1)
        if not await _count(db, action, NOBODY, "", now) and not await _added(db, first):
            await _count(db, action, NOBODY, "", now)
        return
    if row is None and not await _added(db, _row(action, name, ip, now, own_events=1)):
        row = await _held(db, action, name, ip)
    if row is not None:
        if row.own_events >= OWN_EVENTS:  # others were quicker
            await _count(db, action, name, ip, now)
            return
        row.own_events += 1
    record(db, action, actor=actor, detail=detail, ip=ip)


async def _held(db: AsyncSession, action: Action, name: str, ip: str) -> Refusals | None:
    """The row as it is now, and ours until the transaction ends."""
    key = (action.value, name, ip)
    return await db.get(Refusals, key, with_for_update=True, populate_existing=True)


async def flush(database: Database, now: datetime, window: timedelta) -> None:
    """Make events of what was counted in windows that are over."""
    over = select(Refusals).where(Refusals.since < now - window).order_by(Refusals.since)
    while True:
        async with database.session() as db:
            rows = (await db.scalars(over.limit(FLUSHED_AT_ONCE).with_for_update())).all()
            for row in rows:
                if row.times:
                    _record(db, row)
                await db.delete(row)
            await db.commit()
        if len(rows) < FLUSHED_AT_ONCE:
            return


async def _shown(database: Database, name: str, directory: Directory | None) -> str:
    """The name, if it is somebody's. What nobody is called is kept in part only: people type their
    password there."""
    async with database.session() as db:
        known = await db.scalar(select(User.id).where(User.username == name))
    if known is None and not await _exists(name, directory):
        return f"{name[:SHOWN_CHARS]}…"
    return name


async def _exists(name: str, directory: Directory | None) -> bool:
    if directory is None or not directory.finds:
        return False
    try:
        return await directory.find(name) is not None
    except DirectoryUnavailable:
        return False


async def _added(db: AsyncSession, row: Refusals) -> bool:
    """Whether it is the first of its kind: another request may have been, at the same moment."""
    try:
        async with db.begin_nested():
            db.add(row)
    except IntegrityError:
        return False
    return True


async def _count(db: AsyncSession, action: Action, name: str, ip: str, now: datetime) -> bool:
    """Count it, if this name and address have had their own events."""
    mine = (Refusals.action == action.value, Refusals.actor == name, Refusals.ip == ip)
    had = update(Refusals).where(*mine, Refusals.own_events >= OWN_EVENTS)
    counted = had.values(times=Refusals.times + 1, last_at=now).returning(Refusals.times)
    return await db.scalar(counted) is not None


async def _are_many(db: AsyncSession) -> bool:
    return (await db.scalar(select(func.count()).select_from(Refusals)) or 0) >= MOST_KEYS


def _row(action: Action, name: str, ip: str, now: datetime, **numbers: int) -> Refusals:
    return Refusals(action=action.value, actor=name, ip=ip, since=now, last_at=now, **numbers)


def _record(db: AsyncSession, row: Refusals) -> None:
    detail = {
        "times": row.times,
        "since": row.since.isoformat(),
        "until": row.last_at.isoformat(),
    }
    record(db, Action(row.action), actor=row.actor, detail=detail, ip=row.ip)
