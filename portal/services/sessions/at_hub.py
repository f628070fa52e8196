"""Sessions' named servers at the hub: started once a program waits, closed once it has ended.

A name is used again: a session that has ended may still have its server at the hub while the next
one of that name starts. So whatever concerns one server goes one after the other, and what an
earlier session has left there is closed before the next one is handed over.
"""

import asyncio
from weakref import WeakValueDictionary

from sqlalchemy import select

from portal.hub import HubUnavailable
from portal.models import JobState, Session
from portal.parts import Parts
from portal.services.store import change

STOPPING_TRIES = 25
ASK_S = 0.2
EARLIER = 10
"""So many sessions of a name are looked at, the newest first: older ones were closed long ago."""

_LOCKS: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()


async def adopt(parts: Parts, session: Session) -> None:
    """Have the hub start the named server; it then asks the portal for it. Raises HubError."""
    username, name = session.user.username, session.name
    async with _one_at_a_time(session):
        for earlier in await _of_this_name(parts, session):
            if earlier.state is JobState.ENDED and earlier.server_env is not None:
                await _close_soon(parts, earlier)
        await parts.hub.ensure_user(username)
        await parts.hub.start_server(username, name)


async def close(parts: Parts, session: Session) -> None:
    """An ended session leaves no server at the hub, and no token here. Once the next session of its
    name has called home the server is that one's, and `adopt` closes the earlier first. Does
    nothing while the hub still stops it: to be asked for again. Raises HubError."""
    async with _one_at_a_time(session):
        others = await _of_this_name(parts, session)
        successor = next((one for one in others if one.state is not JobState.ENDED), None)
        if successor is None or successor.target_port is None:
            await _close(parts, session)
        elif successor.server_env is not None:
            await _forget(parts, session)


def _one_at_a_time(session: Session) -> asyncio.Lock:
    return _LOCKS.setdefault(f"{session.user_id}/{session.name}", asyncio.Lock())


async def _of_this_name(parts: Parts, session: Session) -> list[Session]:
    """The owner's other sessions of this name, the newest first."""
    query = (
        select(Session)
        .where(
            Session.user_id == session.user_id,
            Session.name == session.name,
            Session.id != session.id,
        )
        .order_by(Session.created_at.desc())
        .limit(EARLIER)
    )
    async with parts.db.session() as db:
        return list((await db.scalars(query)).all())


async def _close_soon(parts: Parts, session: Session) -> None:
    for _ in range(STOPPING_TRIES):
        if await _close(parts, session):
            return
        await asyncio.sleep(ASK_S)
    username, name = session.user.username, session.name
    raise HubUnavailable(f"{username}/{name}: the earlier one is still stopping")


async def _close(parts: Parts, session: Session) -> bool:
    """Whether the hub has let go of it."""
    username, name = session.user.username, session.name
    if not await parts.hub.stop_server(username, name, remove=True):
        return False
    await _forget(parts, session)
    return True


async def _forget(parts: Parts, session: Session) -> None:
    def apply(row: Session) -> None:
        row.server_env = None

    await change(parts.db, Session, session.id, apply)
