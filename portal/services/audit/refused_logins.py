"""Audit of refused logins, bounded so that a flood adds a limited number of rows.

The first few refusals for a name and address within the rate limit's window become one event each.
Further ones are counted and become one event when the window is over. Names and addresses beyond
MAX_KEYS at once share one counter.
"""

import ipaddress
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
MAX_KEYS = 200
FLUSHED_AT_ONCE = 100
SHOWN_CHARS = 2
UNKNOWN_ACTOR = "nobody"
"""The actor of the shared counter."""


def network_of(ip: str) -> str:
    """Return the network that counts as one address: the /64 for IPv6, else the address itself."""
    try:
        address = ipaddress.ip_address(ip)
    except ValueError:
        return ip
    if isinstance(address, ipaddress.IPv4Address):
        return ip
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((int(address), 64), strict=False))


async def note(
    database: Database,
    action: Action,
    name: str,
    *,
    ip: str,
    why: str,
    directory: Directory | None = None,
) -> None:
    """Record or count a refusal.

    `directory` is asked about users who have never logged in here.
    """
    shown = await _mask_unknown(database, name, directory)
    async with database.session() as db:
        await note_in(db, action, shown, ip=ip, detail={"why": why})
        await db.commit()


async def note_in(
    db: AsyncSession, action: Action, actor: User | str, *, ip: str, detail: Mapping[str, Any]
) -> None:
    """Record or count a refusal of this user, in the caller's transaction."""
    name, now = actor.username if isinstance(actor, User) else actor, utcnow()
    network = network_of(ip)
    if await _count(db, action, name, network, now):
        return
    row = await _lock_row(db, action, name, network)
    if row is None and await _is_full(db):
        first = _new_row(action, UNKNOWN_ACTOR, "", now, own_events=OWN_EVENTS, times=1)
        if not await _count(db, action, UNKNOWN_ACTOR, "", now) and not await _insert_row(
            db, first
        ):
            await _count(db, action, UNKNOWN_ACTOR, "", now)
        return
    if row is None and not await _insert_row(
        db, _new_row(action, name, network, now, own_events=1)
    ):
        row = await _lock_row(db, action, name, network)
    if row is not None:
        if row.own_events >= OWN_EVENTS:  # concurrent requests recorded theirs first
            await _count(db, action, name, network, now)
            return
        row.own_events += 1
    record(db, action, actor=actor, detail=detail, ip=ip)


async def _lock_row(db: AsyncSession, action: Action, name: str, ip: str) -> Refusals | None:
    """Load the counter row and lock it until the transaction ends."""
    key = (action.value, name, ip)
    return await db.get(Refusals, key, with_for_update=True, populate_existing=True)


async def flush(database: Database, now: datetime, window: timedelta) -> None:
    """Write the counts of windows that are over as audit events."""
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


async def _mask_unknown(database: Database, name: str, directory: Directory | None) -> str:
    """Return the name if it belongs to an account, else only its first characters.

    Users sometimes type their password into the name field.
    """
    async with database.session() as db:
        user_id = await db.scalar(select(User.id).where(User.username == name))
    if user_id is None and not await _exists(name, directory):
        return f"{name[:SHOWN_CHARS]}…"
    return name


async def _exists(name: str, directory: Directory | None) -> bool:
    if directory is None or not directory.can_look_up_users:
        return False
    try:
        return await directory.find(name) is not None
    except DirectoryUnavailable:
        return False


async def _insert_row(db: AsyncSession, row: Refusals) -> bool:
    """Insert a counter row. Return False if a concurrent request inserted it first."""
    try:
        async with db.begin_nested():
            db.add(row)
    except IntegrityError:
        return False
    return True


async def _count(db: AsyncSession, action: Action, name: str, ip: str, now: datetime) -> bool:
    """Count a refusal if this name and address have had their own events. Return whether it did."""
    same = (Refusals.action == action.value, Refusals.actor == name, Refusals.ip == ip)
    had = update(Refusals).where(*same, Refusals.own_events >= OWN_EVENTS)
    counted = had.values(times=Refusals.times + 1, last_at=now).returning(Refusals.times)
    return await db.scalar(counted) is not None


async def _is_full(db: AsyncSession) -> bool:
    return (await db.scalar(select(func.count()).select_from(Refusals)) or 0) >= MAX_KEYS


def _new_row(action: Action, name: str, ip: str, now: datetime, **numbers: int) -> Refusals:
    return Refusals(action=action.value, actor=name, ip=ip, since=now, last_at=now, **numbers)


def _record(db: AsyncSession, row: Refusals) -> None:
    detail = {
        "times": row.times,
        "since": row.since.isoformat(),
        "until": row.last_at.isoformat(),
    }
    record(db, Action(row.action), actor=row.actor, detail=detail, ip=row.ip)
