"""Lifecycle of sessions' named servers at the hub.

A server is started once a node program waits for it, and closed once its session has ended. Names
are reused: an ended session may still have its server at the hub while the next session of the same
name starts. So operations on one server are serialized, and the server of an earlier session is
closed before the next one is started.
"""

import asyncio
from weakref import WeakValueDictionary

from sqlalchemy import select

from portal.context import AppContext
from portal.hub.client import HubNotReady
from portal.models import JobState, Session
from portal.services.store import update_row

STOPPING_TRIES = 25
POLL_S = 0.2
MAX_SAME_NAME = 10
"""Number of sessions of one name to inspect, newest first; older ones were closed long ago."""

_LOCKS: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()


async def adopt(context: AppContext, session: Session) -> None:
    """Have the hub adopt the session as its named server. Raises HubError.

    The hub is asked to start the named server, but starts no process: its spawner hands the
    server's environment to the portal (`servers.start`), for the node program that waits already.
    """
    username, name = session.user.username, session.name
    async with _get_server_lock(session):
        for earlier in await _load_same_name(context, session):
            if earlier.state is JobState.ENDED and earlier.server_env is not None:
                await _wait_until_closed(context, earlier)
        await context.hub.ensure_user(username)
        await context.hub.start_server(username, name)


async def close(context: AppContext, session: Session) -> None:
    """Remove an ended session's server from the hub, and its token from our row.

    Once the next session of the same name has contacted the portal, the server belongs to that
    session, and `adopt` closes the earlier one first. Does nothing while the hub is still stopping
    the server: call it again. Raises HubError.
    """
    async with _get_server_lock(session):
        others = await _load_same_name(context, session)
        successor = next((other for other in others if other.state is not JobState.ENDED), None)
        if successor is None or successor.target_port is None:
            await _try_close(context, session)
        elif successor.server_env is not None:
            await _clear_server_env(context, session)


def _get_server_lock(session: Session) -> asyncio.Lock:
    return _LOCKS.setdefault(f"{session.user_id}/{session.name}", asyncio.Lock())


async def _load_same_name(context: AppContext, session: Session) -> list[Session]:
    """Return the owner's other sessions of this name, newest first."""
    query = (
        select(Session)
        .where(
            Session.user_id == session.user_id,
            Session.name == session.name,
            Session.id != session.id,
        )
        .order_by(Session.created_at.desc())
        .limit(MAX_SAME_NAME)
    )
    async with context.db.session() as db:
        return list((await db.scalars(query)).all())


async def _wait_until_closed(context: AppContext, session: Session) -> None:
    for _ in range(STOPPING_TRIES):
        if await _try_close(context, session):
            return
        await asyncio.sleep(POLL_S)
    username, name = session.user.username, session.name
    raise HubNotReady(f"{username}/{name}: the earlier one is still stopping")


async def _try_close(context: AppContext, session: Session) -> bool:
    """Stop and remove the server; return False while the hub is still stopping it."""
    username, name = session.user.username, session.name
    if not await context.hub.stop_server(username, name, remove=True):
        return False
    await _clear_server_env(context, session)
    return True


async def _clear_server_env(context: AppContext, session: Session) -> None:
    def modify(row: Session) -> None:
        row.server_env = None

    await update_row(context.db, Session, session.id, modify)
