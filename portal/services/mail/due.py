"""Which e-mails are due: rows of `mails`, one for each event of a session or job, never two.

The table of jobs is asked for what was written since the last look, so that the work doesn't grow
with what is there; for how long that was is kept in a mark, so that nothing is missed while the
portal is down. Whether somebody wants to be told is what they want now.
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
from portal.services.mail.letters import WARNING, Kind, warn_at
from portal.services.people import preferences

MARK = "mails"
FRESH = timedelta(hours=6)
"""What is older isn't told any more: the portal was down, or Slurm said late how a job ended."""
OVERLAP = timedelta(seconds=60)
"""A row is written down a little after the moment that it names."""
PAGE = 500
_RUNNING = (JobState.RUNNING, JobState.SUSPENDED)


@dataclass(frozen=True)
class Event:
    """Something that somebody may want to be told. `key` tells it from all others of this job."""

    user_id: str
    job_id: str
    kind: Kind
    key: str


async def note(database: Database, now: datetime) -> int:
    """Write down which e-mails are due; how many are new."""
    since = await _since(database, now)
    new = 0
    async for rows in _changed(database, since):
        new += await _add(database, _events(rows, now), now)
    new += await _add(database, _events(await _short(database, now), now), now)
    await _go_on(database, now)
    return new


def wanted(kept: dict[str, Any] | None, kind: Kind) -> bool:
    """Whether someone with these preferences wants an e-mail about it."""
    return bool(getattr(preferences.read(kept).notify.email, kind.value))


# --- inside ---------------------------------------------------------------------------------------


async def _since(database: Database, now: datetime) -> datetime:
    """From where on rows are looked at. At the very first look nothing has happened yet."""
    async with database.session() as db:
        mark = await db.get(Mark, MARK)
    return max(mark.at if mark else now, now - FRESH) - OVERLAP


async def _go_on(database: Database, now: datetime) -> None:
    async with database.session() as db:
        await db.merge(Mark(name=MARK, at=now))
        await db.commit()


def _rows() -> Select[Any]:
    """What an event is made of, of those who may want e-mails."""
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


async def _changed(database: Database, since: datetime) -> AsyncIterator[Sequence[Any]]:
    """Rows written since then, a page at a time."""
    after: ColumnElement[bool] = Job.changed_at >= since
    while True:
        query = _rows().where(after).order_by(Job.changed_at, Job.id).limit(PAGE)
        async with database.session() as db:
            rows = (await db.execute(query)).all()
        yield rows
        if len(rows) < PAGE:
            return
        at, last = rows[-1].changed_at, rows[-1].id
        after = or_(Job.changed_at > at, and_(Job.changed_at == at, Job.id > last))


async def _short(database: Database, now: datetime) -> Sequence[Any]:
    """What runs and ends soon."""
    soon = and_(Job.expires_at > now, Job.expires_at <= now + WARNING)
    async with database.session() as db:
        found: Sequence[Any] = (
            await db.execute(_rows().where(Job.state.in_(_RUNNING), soon))
        ).all()
    return found


def _events(rows: Sequence[Any], now: datetime) -> list[Event]:
    """The events of these rows that their owners want e-mails about."""
    return [
        Event(row.user_id, row.id, kind, key)
        for row in rows
        for kind, key in _happened(row, now)
        if wanted(row.preferences, kind)
    ]


def _happened(row: Any, now: datetime) -> Iterator[tuple[Kind, str]]:
    """What there is to tell of a row, each with what tells it from another of the same kind: a
    session that is put back into the queue starts again, and time that was added runs out again."""
    ready = row.state is JobState.RUNNING and row.ready_at is not None
    if ready and row.started_at and now - row.ready_at < FRESH:
        yield Kind.SESSION_STARTED, _keyed(Kind.SESSION_STARTED, row.started_at)
    ended = row.state is JobState.ENDED and row.kind is JobKind.JOB
    if ended and row.ended_at and now - row.ended_at < FRESH:
        yield Kind.JOB_ENDED, Kind.JOB_ENDED.value
    runs = row.state in _RUNNING and row.started_at and row.expires_at
    if runs and warn_at(row.started_at, row.expires_at) <= now < row.expires_at:
        yield Kind.TIME_SHORT, _keyed(Kind.TIME_SHORT, row.expires_at)


def _keyed(kind: Kind, at: datetime) -> str:
    return f"{kind.value}.{int(at.timestamp()) // 60}"


def kind_of(key: str) -> Kind | None:
    """What kind of event a row of `mails` is about; None for one that no loop sends."""
    word = key.partition(".")[0]
    return Kind(word) if word in set(Kind) else None


def still_so(job: Job, kind: Kind, key: str, now: datetime) -> bool:
    """Whether what was written down about a job is still worth telling."""
    if job.removed_at is not None:
        return False
    match kind:
        case Kind.SESSION_STARTED:
            return job.state is JobState.RUNNING
        case Kind.JOB_ENDED:
            return job.state is JobState.ENDED
        case Kind.TIME_SHORT:
            end = job.expires_at
            runs = job.state in _RUNNING and end is not None and now < end
            return runs and end is not None and key == _keyed(kind, end)


async def _add(database: Database, events: list[Event], now: datetime) -> int:
    """Those that aren't there yet. Another portal on this database may add the same at the same
    moment: then it has them, and what it hasn't comes at the next look."""
    if not events:
        return 0
    async with database.session() as db:
        known = await _known(db, {event.job_id for event in events})
        fresh = {(e.job_id, e.key): e for e in events if (e.job_id, e.key) not in known}
        db.add_all(
            Mail(
                user_id=event.user_id,
                subject_id=event.job_id,
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


async def _known(db: AsyncSession, ids: Collection[str]) -> set[tuple[str, str]]:
    query = select(Mail.subject_id, Mail.event).where(Mail.subject_id.in_(ids))
    return {(subject, key) for subject, key in await db.execute(query)}
