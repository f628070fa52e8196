"""What sessions use over time: their node programs tell it, and their owners look at it.

It is the user's own word, for the node program is the user's: bounded by the route that takes it,
shown to the owner, and nothing is decided by it: that a session is idle is only said. After the end
Slurm's accounting stands beside it (services/slurm/usage.py).
"""

import asyncio
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, select

from portal.db import utcnow
from portal.models import Session, SessionUse
from portal.parts import Parts

AT_REST = timedelta(seconds=30)
WATCHED = timedelta(seconds=10)
STILL_LOOKING = timedelta(seconds=60)
LEAST = timedelta(seconds=5)
"""What comes sooner than this after the last is not written down."""
KEPT = timedelta(days=30)
TIDY_S = 6 * 3600.0
MOST_LOOKED_AT = 5000
SILENT = timedelta(minutes=5)
"""Of a node program that has told nothing for so long nobody says that it is idle."""
SAME_REST = timedelta(minutes=1)


async def take(
    parts: Parts, session: Session, series: dict[str, Any], idle_s: int | None
) -> timedelta:
    """Keep what a node program tells in the place of what it told before; how soon it should tell
    again: sooner while somebody looks."""
    now = utcnow()
    warn_minutes = parts.settings.session_idle_warning_minutes
    async with parts.db.session() as db:
        known = await db.get(SessionUse, session.id)
        before = known.idle_since if known else None
        idle_since = before
        if known is None or now - known.told_at >= LEAST:
            idle_since = warned_of(before, idle_s, now, warn_minutes)
            told = known or SessionUse(session_id=session.id)
            told.series, told.told_at, told.idle_since = series, now, idle_since
            db.add(told)
        await db.commit()
    if idle_since != before:
        parts.changes.notify(session.user_id)
    looked = parts.looked_at.get(session.id)
    return WATCHED if looked and now - looked < STILL_LOOKING else AT_REST


def warned_of(
    before: datetime | None, idle_s: int | None, now: datetime, warn_minutes: float
) -> datetime | None:
    """Since when nothing has run, once that is worth a word; None before. It is told again and
    again, as an age: the same rest keeps the beginning that was told first, `before`."""
    rest = None if idle_s is None else timedelta(seconds=idle_s)
    if rest is None or warn_minutes == 0 or rest < timedelta(minutes=warn_minutes):
        return None
    since = now - rest
    return before if before is not None and abs(since - before) < SAME_REST else since


async def idle_since(parts: Parts, sessions: list[str]) -> dict[str, datetime]:
    """Those of some sessions, by their ids, that have been idle for long enough to be told so."""
    told = (SessionUse.session_id, SessionUse.idle_since)
    idle = SessionUse.idle_since.is_not(None), SessionUse.told_at > utcnow() - SILENT
    async with parts.db.session() as db:
        found = await db.execute(select(*told).where(SessionUse.session_id.in_(sessions), *idle))
        return {session_id: since for session_id, since in found if since is not None}


async def look(parts: Parts, session: Session) -> SessionUse | None:
    """What was told last; None if nothing was."""
    now = utcnow()
    parts.looked_at[session.id] = now
    if len(parts.looked_at) > MOST_LOOKED_AT:
        _forget_looks(parts, now)
    async with parts.db.session() as db:
        return await db.get(SessionUse, session.id)


def _forget_looks(parts: Parts, now: datetime) -> None:
    old = [key for key, at in parts.looked_at.items() if now - at > STILL_LOOKING]
    for key in old or list(parts.looked_at)[: MOST_LOOKED_AT // 2]:
        del parts.looked_at[key]


async def keep_tidy(parts: Parts) -> None:
    """Forget what is old now and then, until cancelled."""
    while True:
        await forget_old(parts)
        await asyncio.sleep(TIDY_S)


async def forget_old(parts: Parts) -> None:
    """Let go of what nobody has told anything new of for long, and of removed sessions'."""
    removed = select(Session.id).where(Session.removed_at.is_not(None))
    async with parts.db.session() as db:
        await db.execute(delete(SessionUse).where(SessionUse.told_at < utcnow() - KEPT))
        await db.execute(delete(SessionUse).where(SessionUse.session_id.in_(removed)))
        await db.commit()
