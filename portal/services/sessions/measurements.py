"""Measurements of sessions over time, reported by their node programs and shown to their owners.

The data is untrusted, because the node program runs as the user: it is bounded by the route that
receives it, shown to the owner only, and no decision depends on it. That a session is idle is only
displayed. After the end, the totals of Slurm's accounting are shown beside it
(services/slurm/accounting_totals.py).
"""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError

from portal.context import AppContext
from portal.db import utcnow
from portal.models import Session, SessionMeasurements

REPORT_EVERY = timedelta(seconds=30)
REPORT_EVERY_VIEWED = timedelta(seconds=10)
VIEWED_WITHIN = timedelta(seconds=60)
MIN_INTERVAL = timedelta(seconds=5)
"""Reports that arrive sooner than this after the last one are not saved."""
KEPT = timedelta(days=30)
DELETE_OLD_EVERY_S = 6 * 3600.0
MAX_VIEWED = 5000
SILENT = timedelta(minutes=5)
"""A session whose node program has not reported for this long is not shown as idle."""
SAME_IDLE_PERIOD = timedelta(minutes=1)  # if the computed starts differ by less than this


async def save_report(
    context: AppContext, session: Session, series: dict[str, Any], idle_s: int | None
) -> timedelta:
    """Save a node program's report in place of the last one; return the interval until the next
    report, which is shorter while a user is viewing the usage.
    """
    now = utcnow()
    warn_minutes = context.settings.session_idle_warning_minutes
    async with context.db.session() as db:
        previous = await db.get(SessionMeasurements, session.id)
        before = previous.idle_since if previous else None
        idle_since = before
        if previous is None or now - previous.reported_at >= MIN_INTERVAL:
            idle_since = idle_warning_since(before, idle_s, now, warn_minutes)
            report = previous or SessionMeasurements(session_id=session.id)
            report.series, report.reported_at, report.idle_since = series, now, idle_since
            db.add(report)
        try:
            await db.commit()
        except IntegrityError:  # the first report, sent twice: the other one is kept
            idle_since = before
    if idle_since != before:
        context.notifier.notify(session.user_id)
    viewed_at = context.usage_requested_at.get(session.id)
    is_viewed = viewed_at is not None and now - viewed_at < VIEWED_WITHIN
    return REPORT_EVERY_VIEWED if is_viewed else REPORT_EVERY


def idle_warning_since(
    before: datetime | None, idle_s: int | None, now: datetime, warn_minutes: float
) -> datetime | None:
    """Return the start of the idle period once it is long enough for a warning, else None.

    Node programs report idleness repeatedly, as an age: for the same idle period the start that was
    computed first, `before`, is kept.
    """
    idle = None if idle_s is None else timedelta(seconds=idle_s)
    if idle is None or warn_minutes == 0 or idle < timedelta(minutes=warn_minutes):
        return None
    since = now - idle
    return before if before is not None and abs(since - before) < SAME_IDLE_PERIOD else since


async def load_idle_since(context: AppContext, sessions: list[str]) -> dict[str, datetime]:
    """Return, by session ID, since when each of these sessions has been idle, if long enough for a
    warning.
    """
    columns = (SessionMeasurements.session_id, SessionMeasurements.idle_since)
    idle = (
        SessionMeasurements.idle_since.is_not(None),
        SessionMeasurements.reported_at > utcnow() - SILENT,
    )
    async with context.db.session() as db:
        rows = await db.execute(
            select(*columns).where(SessionMeasurements.session_id.in_(sessions), *idle)
        )
        return {session_id: since for session_id, since in rows if since is not None}


async def load_reports(context: AppContext, sessions: list[str]) -> dict[str, SessionMeasurements]:
    """Return the last reports of these sessions, by session ID; this doesn't count as viewing, so
    reports don't become more frequent.
    """
    query = select(SessionMeasurements).where(SessionMeasurements.session_id.in_(sessions))
    async with context.db.session() as db:
        return {report.session_id: report for report in (await db.scalars(query)).all()}


async def load_measurements(context: AppContext, session: Session) -> SessionMeasurements | None:
    """Return the last report, None if there is none; record that a user is viewing it."""
    now = utcnow()
    context.usage_requested_at[session.id] = now
    if len(context.usage_requested_at) > MAX_VIEWED:
        _forget_views(context, now)
    async with context.db.session() as db:
        return await db.get(SessionMeasurements, session.id)


def _forget_views(context: AppContext, now: datetime) -> None:
    old = [key for key, at in context.usage_requested_at.items() if now - at > VIEWED_WITHIN]
    for key in old or list(context.usage_requested_at)[: MAX_VIEWED // 2]:
        del context.usage_requested_at[key]


async def delete_old_reports(context: AppContext) -> None:
    """Delete reports that have not been updated for KEPT, and those of sessions that were removed
    from the list.
    """
    removed = select(Session.id).where(Session.removed_at.is_not(None))
    async with context.db.session() as db:
        await db.execute(
            delete(SessionMeasurements).where(SessionMeasurements.reported_at < utcnow() - KEPT)
        )
        await db.execute(
            delete(SessionMeasurements).where(SessionMeasurements.session_id.in_(removed))
        )
        await db.commit()
