"""Due e-mail notifications: rows of `mails`, at most one for each event of a session or job.

Only jobs written since the last round are queried, so that the work does not grow with the table.
The time of the last round is kept in a mark, so that nothing is missed while the portal is down. A
user's current preferences decide whether a notification is sent.
"""

from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from portal.db import Database
from portal.models import Job, JobKind, JobState, Mail, Mark, Session, User
from portal.services.identity import preferences
from portal.services.mail.messages import WARNING, MailKind, warn_at

MARK = "mails"
MAX_EVENT_AGE = timedelta(hours=6)
"""Older events are not notified: the portal was down, or Slurm reported the end late."""
OVERLAP = timedelta(seconds=60)
"""Margin for rows that are written slightly after the time they carry."""
PAGE = 500
_RUNNING = (JobState.RUNNING, JobState.SUSPENDED)


@dataclass(frozen=True)
class Event:
    """An event that its user may want an e-mail about. `key` identifies it within the job."""

    user_id: str
    subject_id: str
    kind: MailKind
    key: str


async def enqueue(database: Database, now: datetime) -> int:
    """Insert rows for the e-mails that are due. Return the number of new rows."""
    since = await _load_start(database, now)
    new = 0
    async for rows in _iter_changed_rows(database, since):
        new += await _insert_new(database, _list_events(rows, now), now)
    new += await _insert_new(
        database, _list_events(await _load_ending_soon(database, now), now), now
    )
    await _save_mark(database, now)
    return new


def is_enabled(kept: dict[str, Any] | None, kind: MailKind) -> bool:
    """Return whether stored preferences ask for an e-mail about this kind of event."""
    return bool(getattr(preferences.read(kept).notify.email, kind.value))


# --- internals ------------------------------------------------------------------------------------


async def _load_start(database: Database, now: datetime) -> datetime:
    """Return the time from which rows are examined.

    On the very first round that is now: there are no past events to notify.
    """
    async with database.session() as db:
        mark = await db.get(Mark, MARK)
    return max(mark.at if mark else now, now - MAX_EVENT_AGE) - OVERLAP


async def _save_mark(database: Database, now: datetime) -> None:
    async with database.session() as db:
        await db.merge(Mark(name=MARK, at=now))
        await db.commit()


def _select_rows() -> Select[Any]:
    """Select the columns that events are made of, for users who may want e-mails."""
    sessions = Session.__table__
    return (
        select(
            Job.id,
            Job.kind,
            Job.user_id,
            Job.state,
            Job.changed_at,
            Job.started_at,
            Job.ended_at,
            Job.expires_at,
            sessions.c.ready_at,
            User.preferences,
        )
        .join(User, User.id == Job.user_id)
        .outerjoin(sessions, sessions.c.id == Job.id)
        .where(
            User.preferences.is_not(None),
            User.email.is_not(None),
            User.disabled_at.is_(None),
            Job.removed_at.is_(None),
            Job.kind.in_((JobKind.SESSION, JobKind.JOB)),
        )
    )


async def _iter_changed_rows(database: Database, since: datetime) -> AsyncIterator[Sequence[Any]]:
    """Yield pages of rows written since then."""
    after: ColumnElement[bool] = Job.changed_at >= since
    while True:
        query = _select_rows().where(after).order_by(Job.changed_at, Job.id).limit(PAGE)
        async with database.session() as db:
            rows = (await db.execute(query)).all()
        yield rows
        if len(rows) < PAGE:
            return
        at, last = rows[-1].changed_at, rows[-1].id
        after = or_(Job.changed_at > at, and_(Job.changed_at == at, Job.id > last))


async def _load_ending_soon(database: Database, now: datetime) -> Sequence[Any]:
    """Return running jobs and sessions that end soon."""
    soon = and_(Job.expires_at > now, Job.expires_at <= now + WARNING)
    async with database.session() as db:
        rows: Sequence[Any] = (
            await db.execute(_select_rows().where(Job.state.in_(_RUNNING), soon))
        ).all()
    return rows


def _list_events(rows: Sequence[Any], now: datetime) -> list[Event]:
    """Return the events of these rows that their owners want e-mails about."""
    return [
        Event(row.user_id, row.id, kind, key)
        for row in rows
        for kind, key in _detect_events(row, now)
        if is_enabled(row.preferences, kind)
    ]


def _detect_events(row: Any, now: datetime) -> Iterator[tuple[MailKind, str]]:
    """Yield the kind and key of each event that this row shows.

    The key separates events of the same kind: a requeued session starts again, and after an
    extension the remaining time runs short again.
    """
    ready = row.state is JobState.RUNNING and row.ready_at is not None
    if ready and row.started_at and now - row.ready_at < MAX_EVENT_AGE:
        yield MailKind.SESSION_STARTED, _event_key(MailKind.SESSION_STARTED, row.started_at)
    ended = row.state is JobState.ENDED and row.kind is JobKind.JOB
    if ended and row.ended_at and now - row.ended_at < MAX_EVENT_AGE:
        yield MailKind.JOB_ENDED, MailKind.JOB_ENDED.value
    runs = row.state in _RUNNING and row.started_at and row.expires_at
    if runs and warn_at(row.started_at, row.expires_at) <= now < row.expires_at:
        yield MailKind.TIME_SHORT, _event_key(MailKind.TIME_SHORT, row.expires_at)


def _event_key(kind: MailKind, at: datetime) -> str:
    return f"{kind.value}.{int(at.timestamp()) // 60}"


def kind_of(key: str) -> MailKind | None:
    """Return the kind of event of a row of `mails`; None for one that the loop does not send."""
    word = key.partition(".")[0]
    return MailKind(word) if word in set(MailKind) else None


def is_current(job: Job, kind: MailKind, key: str, now: datetime) -> bool:
    """Return whether a queued event is still current and worth sending."""
    if job.removed_at is not None:
        return False
    match kind:
        case MailKind.SESSION_STARTED:
            return job.state is JobState.RUNNING
        case MailKind.JOB_ENDED:
            return job.state is JobState.ENDED
        case MailKind.TIME_SHORT:
            end = job.expires_at
            runs = job.state in _RUNNING and end is not None and now < end
            return runs and end is not None and key == _event_key(kind, end)


async def _insert_new(database: Database, events: list[Event], now: datetime) -> int:
    """Insert the events that have no row yet. Return the number inserted.

    If another portal process on this database inserts one of them at the same time, nothing is
    inserted, and the next round adds the rest.
    """
    if not events:
        return 0
    async with database.session() as db:
        existing = await _load_existing(db, {event.subject_id for event in events})
        fresh = {(e.subject_id, e.key): e for e in events if (e.subject_id, e.key) not in existing}
        db.add_all(
            Mail(
                user_id=event.user_id,
                subject_id=event.subject_id,
                event=event.key,
                created_at=now,
                next_try_at=now,
            )
            for event in fresh.values()
        )
        try:
            await db.commit()
        except IntegrityError:
            return 0
    return len(fresh)


async def _load_existing(db: AsyncSession, ids: Collection[str]) -> set[tuple[str, str]]:
    query = select(Mail.subject_id, Mail.event).where(Mail.subject_id.in_(ids))
    return {(subject, key) for subject, key in await db.execute(query)}
