"""The loop that sends e-mails: what due.py wrote down, each until the server has taken it.

What happens to one person within a minute comes in one letter. A row is claimed before its letter
is sent, so that of several portals one sends it; it is sent again only if a portal dies between the
server's word and its own, and then under the same Message-ID.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.message import EmailMessage

import structlog
from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import aliased

from portal.db import Database, utcnow
from portal.errors import Conflict, Unavailable
from portal.models import Job, Mail, User, new_id
from portal.parts import Parts
from portal.services.mail import due, letters
from portal.services.mail.letters import Envelope, Told
from portal.services.people import preferences
from portal.smtp import MailDeferred, MailError, MailRefused, MailUnavailable, Smtp

log = structlog.get_logger(__name__)

ROUND_S = 5.0
AWAY_S = 30.0
"""Between two tries while the server doesn't answer."""
PAUSE = timedelta(minutes=1)
"""Between two letters to the same person."""
LEASE = timedelta(minutes=5)
"""Longer than a letter can take: who claimed it and hasn't said how it went has died."""
LONGEST_WAIT = timedelta(hours=1)
GIVE_UP = timedelta(hours=24)
KEPT = timedelta(days=30)
AT_ONCE = 100
TOGETHER = 500
NOT_SO_ANY_MORE = "By the time it could be sent it wasn't so any more, or nobody wanted to know."
NO_ADDRESS = "The directory has no e-mail address for you. Your administrators can add one."
NO_SERVER = "This portal sends no e-mails."
A_MINUTE_AGO = (
    "You had one sent less than a minute ago. Look into your inbox, and into the folder for spam."
)


@dataclass
class Post:
    """`run` is the loop, for the application's lifespan."""

    parts: Parts
    smtp: Smtp

    async def run(self) -> None:
        """Look for what is due and send it, until cancelled."""
        tidied: datetime | None = None
        while True:
            now = utcnow()
            if tidied is None or now - tidied > LEASE:
                await self._tidy(now)
                tidied = now
            well = await self.round(now)
            await asyncio.sleep(ROUND_S if well else AWAY_S)

    async def round(self, now: datetime) -> bool:
        """Look once, and send what is due; False if the server could not be used."""
        await due.note(self.parts.db, now)
        for user_id in await self._waiting(now):
            try:
                await self._write_to(user_id, now)
            except MailDeferred:
                continue
            except MailUnavailable:
                return False
        return True

    async def _waiting(self, now: datetime) -> Sequence[str]:
        """Who is to get a letter now, whoever has waited longest first."""
        recent = aliased(Mail)
        had_one = select(recent.id).where(
            recent.user_id == Mail.user_id,
            recent.sent_at > now - PAUSE,
            recent.subject_id != recent.user_id,  # but for a test
        )
        query = (
            select(Mail.user_id)
            .where(Mail.sent_at.is_(None), Mail.next_try_at <= now, ~had_one.exists())
            .group_by(Mail.user_id)
            .order_by(func.min(Mail.next_try_at))
        )
        async with self.parts.db.session() as db:
            return (await db.scalars(query.limit(AT_ONCE))).all()

    async def _write_to(self, user_id: str, now: datetime) -> None:
        """One letter to someone, about all that is due. Raises MailUnavailable or MailDeferred,
        after it was noted when to try again."""
        rows = await _claimed(self.parts.db, user_id, now)
        user, told = await self._told(user_id, rows, now)
        dropped = [row.id for row in rows if row.id not in told]
        await _settle(self.parts.db, dropped, next_try_at=None, problem=NOT_SO_ANY_MORE)
        if user is None or not told:
            return
        first = min(row.id for row in rows if row.id in told)
        try:
            letter = letters.letter(_envelope(self.parts, user, first, now), list(told.values()))
            await self.smtp.send(letter)
        except MailUnavailable as error:
            for row in rows:
                if row.id in told:
                    await _settle(
                        self.parts.db, [row.id], next_try_at=_again(row, now), problem=str(error)
                    )
            raise
        except (MailRefused, ValueError) as error:
            log.warning("an e-mail is not sent", username=user.username, why=str(error)[:300])
            await _settle(self.parts.db, list(told), next_try_at=None, problem=str(error)[:300])
            return
        log.info("an e-mail was sent", username=user.username, things=len(told))
        await _settle(self.parts.db, list(told), next_try_at=None, problem=None, sent_at=utcnow())

    async def _told(
        self, user_id: str, rows: Sequence[Mail], now: datetime
    ) -> tuple[User | None, Mapping[str, Told]]:
        """Whom to write to, and what is still worth telling, by the row's id."""
        async with self.parts.db.session() as db:
            user = await db.get(User, user_id)
            ids = {row.subject_id for row in rows}
            jobs = {job.id: job for job in await db.scalars(select(Job).where(Job.id.in_(ids)))}
        if user is None or user.disabled_at is not None or not user.email:
            return None, {}
        found = {}
        for row in rows:
            kind, job = due.kind_of(row.event), jobs.get(row.subject_id)
            if kind is None or job is None or not due.wanted(user.preferences, kind):
                continue
            if due.still_so(job, kind, row.event, now):
                found[row.id] = Told(kind, job)
        return user, found

    async def _tidy(self, now: datetime) -> None:
        async with self.parts.db.session() as db:
            await db.execute(delete(Mail).where(Mail.created_at < now - KEPT))
            await db.commit()


async def _claimed(database: Database, user_id: str, now: datetime) -> Sequence[Mail]:
    """What is due for someone, which nobody else takes meanwhile."""
    waiting = Mail.user_id == user_id, Mail.sent_at.is_(None), Mail.next_try_at <= now
    first = select(Mail.id).where(*waiting).order_by(Mail.created_at).limit(TOGETHER)
    claim = (
        update(Mail)
        .where(*waiting, Mail.id.in_(first))
        .values(tries=Mail.tries + 1, next_try_at=now + LEASE)
        .returning(Mail.id)
        .execution_options(synchronize_session=False)
    )
    async with database.session() as db:
        ids = (await db.scalars(claim)).all()
        await db.commit()
        return (await db.scalars(select(Mail).where(Mail.id.in_(ids)))).all()


async def _settle(database: Database, ids: Sequence[str], **values: object) -> None:
    if not ids:
        return
    async with database.session() as db:
        await db.execute(update(Mail).where(Mail.id.in_(ids)).values(**values))
        await db.commit()


def _again(row: Mail, now: datetime) -> datetime | None:
    """When to try again: later each time; None once it is too late."""
    if now - row.created_at > GIVE_UP:
        return None
    return now + min(LONGEST_WAIT, timedelta(minutes=2 ** min(row.tries - 1, 10)))


def _envelope(parts: Parts, user: User, letter_id: str, now: datetime) -> Envelope:
    return Envelope(
        letter_id=letter_id,
        sender=parts.settings.smtp_from or "",
        recipient=user.email or "",
        public_url=parts.settings.public_url,
        now=now,
        language=preferences.read(user.preferences).language or "en",
    )


# --- what someone asks for ------------------------------------------------------------------------


@dataclass(frozen=True)
class Standing:
    """How it is with someone's e-mails. `problem` is what the newest one met that wasn't sent,
    `problem_at` when that one was written."""

    configured: bool
    address: str | None
    sender: str | None
    last_sent_at: datetime | None
    problem: str | None
    problem_at: datetime | None


async def standing(parts: Parts, user: User) -> Standing:
    """Where someone's e-mails go, and how the last ones went."""
    mine = select(Mail).where(Mail.user_id == user.id)
    async with parts.db.session() as db:
        sent_at = await db.scalar(select(func.max(Mail.sent_at)).where(Mail.user_id == user.id))
        newest = await db.scalar(
            mine.where(Mail.tries > 0).order_by(Mail.created_at.desc(), Mail.id).limit(1)
        )
    bad = newest is not None and newest.sent_at is None and newest.problem != NOT_SO_ANY_MORE
    problem = newest if bad else None
    return Standing(
        configured=parts.smtp is not None,
        address=user.email,
        sender=parts.settings.smtp_from if parts.smtp else None,
        last_sent_at=sent_at,
        problem=problem.problem if problem else None,
        problem_at=problem.created_at if problem and problem.problem else None,
    )


async def send_trial(parts: Parts, user: User) -> None:
    """Send someone a test e-mail now, one a minute. Raises Conflict, Unavailable with what the
    server says."""
    if parts.smtp is None:
        raise Conflict(NO_SERVER)
    if not user.email:
        raise Conflict(NO_ADDRESS)
    now = utcnow()
    row_id = new_id()
    letter = _trial_letter(parts, user, row_id, now)
    row = {"id": row_id, "user_id": user.id, "subject_id": user.id, "tries": 1}
    tried_once = {"event": f"test.{_minute(now)}", "created_at": now, "next_try_at": None}
    own = Mail.user_id == user.id, Mail.subject_id == user.id, Mail.event.startswith("test.")
    async with parts.db.session() as db:
        if await db.scalar(select(Mail.id).where(*own, Mail.created_at > now - PAUSE).limit(1)):
            raise Conflict(A_MINUTE_AGO)
        try:  # of two at the same moment the table takes one
            await db.execute(insert(Mail).values(**row, **tried_once))
            await db.commit()
        except IntegrityError as error:
            raise Conflict(A_MINUTE_AGO) from error
    await _send_trial(parts, parts.smtp, letter, row_id)


def _trial_letter(parts: Parts, user: User, letter_id: str, now: datetime) -> EmailMessage:
    """The test letter; raises Conflict for an address that isn't one."""
    try:
        return letters.trial(_envelope(parts, user, letter_id, now))
    except ValueError as error:
        text = f"What the directory has as your e-mail address isn't one: {user.email}"
        raise Conflict(text[:300]) from error


async def _send_trial(parts: Parts, smtp: Smtp, letter: EmailMessage, row_id: str) -> None:
    try:
        await smtp.send(letter)
    except MailError as error:
        await _settle(parts.db, [row_id], problem=str(error))
        raise Unavailable(f"The mail server didn't take it. {error}") from error
    await _settle(parts.db, [row_id], sent_at=utcnow())


def _minute(at: datetime) -> int:
    return int(at.timestamp()) // 60
