"""What sessions use over time: their node programs tell it, and their owners look at it.

It is the user's own word, for the node program is the user's: bounded by the route that takes it,
shown to the owner, and nothing is decided by it. After the end Slurm's accounting stands beside it
(services/slurm/usage.py).
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


async def take(parts: Parts, session: Session, series: dict[str, Any]) -> timedelta:
    """Keep what a node program tells in the place of what it told before; how soon it should tell
    again: sooner while somebody looks."""
    now = utcnow()
    async with parts.db.session() as db:
        known = await db.get(SessionUse, session.id)
        if known is None:
            db.add(SessionUse(session_id=session.id, series=series, told_at=now))
        elif now - known.told_at >= LEAST:
            known.series, known.told_at = series, now
        await db.commit()
    looked = parts.looked_at.get(session.id)
    return WATCHED if looked and now - looked < STILL_LOOKING else AT_REST


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
