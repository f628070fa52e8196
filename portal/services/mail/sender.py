"""Mail loop: sends what outbox.py queued, retrying until the mail server has accepted it.

All events of one user within a minute go into one e-mail. Rows are claimed before the e-mail is
sent, so that only one of several portal processes sends it. It is sent twice only if a process dies
between the server's acceptance and its own commit, and then with the same Message-ID.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.message import EmailMessage

import structlog
from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import aliased

from portal.context import AppContext
from portal.db import Database, utcnow
from portal.errors import Conflict, Unavailable
from portal.models import Job, Mail, User, new_id
from portal.services.identity import preferences
from portal.services.mail import messages, outbox
from portal.services.mail.messages import Envelope, MailItem
from portal.services.mail.smtp import MailDeferred, MailError, MailRefused, MailUnavailable, Smtp

log = structlog.get_logger(__name__)

ROUND_S = 5.0
RETRY_DELAY = timedelta(seconds=30)
"""Delay between two tries while the server does not answer."""
PAUSE = timedelta(minutes=1)
"""Minimum time between two e-mails to the same user."""
LEASE = timedelta(minutes=5)
"""Longer than sending can take: a claim older than this belongs to a process that died."""
LONGEST_WAIT = timedelta(hours=1)
GIVE_UP = timedelta(hours=24)
KEPT = timedelta(days=30)
CLEANUP_S = 300.0
MAX_USERS_PER_ROUND = 100
MAX_ROWS_PER_EMAIL = 500
OUTDATED = (
    "It was no longer relevant when it could be sent, or the notification had been turned off."
)
NO_ADDRESS = "The directory has no e-mail address for you. Your administrators can add one."
NO_SERVER = "This portal does not send e-mail."
A_MINUTE_AGO = (
    "An e-mail was sent to you less than a minute ago. Check your inbox and your spam folder."
)


@dataclass
class MailSender:
    """The mail loops: `step` sends e-mails, and `delete_old` forgets them."""

    context: AppContext
    smtp: Smtp

    async def step(self) -> timedelta | None:
        """Queue due e-mails and send them."""
        return None if await self.round(utcnow()) else RETRY_DELAY

    async def round(self, now: datetime) -> bool:
        """Run one round. Return False if the mail server could not be used."""
        await outbox.enqueue(self.context.db, now)
        for user_id in await self._list_due_users(now):
            try:
                await self._send_to(user_id, now)
            except MailDeferred:
                continue
            except MailUnavailable:
                return False
        return True

    async def _list_due_users(self, now: datetime) -> Sequence[str]:
        """Return the users to e-mail now, those who have waited longest first."""
        recent = aliased(Mail)
        had_one = select(recent.id).where(
            recent.user_id == Mail.user_id,
            recent.sent_at > now - PAUSE,
            recent.subject_id != recent.user_id,  # except for test e-mails
        )
        query = (
            select(Mail.user_id)
            .where(Mail.sent_at.is_(None), Mail.next_try_at <= now, ~had_one.exists())
            .group_by(Mail.user_id)
            .order_by(func.min(Mail.next_try_at))
        )
        async with self.context.db.session() as db:
            return (await db.scalars(query.limit(MAX_USERS_PER_ROUND))).all()

    async def _send_to(self, user_id: str, now: datetime) -> None:
        """Send one e-mail to a user about all that is due.

        Raises MailUnavailable or MailDeferred, after the time of the next try was stored.
        """
        rows = await _claim_due(self.context.db, user_id, now)
        user, pending = await self._load_pending(user_id, rows, now)
        dropped = [row.id for row in rows if row.id not in pending]
        await _update_rows(self.context.db, dropped, next_try_at=None, problem=OUTDATED)
        if user is None or not pending:
            return
        first = min(row.id for row in rows if row.id in pending)
        try:
            email = messages.render_message(
                _envelope(self.context, user, first, now), list(pending.values())
            )
            await self.smtp.send(email)
        except MailUnavailable as error:
            for row in rows:
                if row.id in pending:
                    await _update_rows(
                        self.context.db,
                        [row.id],
                        next_try_at=_compute_next_try(row, now),
                        problem=str(error),
                    )
            raise
        except (MailRefused, ValueError) as error:
            log.warning("e-mail not sent", username=user.username, why=str(error)[:300])
            await _update_rows(
                self.context.db, list(pending), next_try_at=None, problem=str(error)[:300]
            )
            return
        log.info("e-mail sent", username=user.username, things=len(pending))
        await _update_rows(
            self.context.db, list(pending), next_try_at=None, problem=None, sent_at=utcnow()
        )

    async def _load_pending(
        self, user_id: str, rows: Sequence[Mail], now: datetime
    ) -> tuple[User | None, Mapping[str, MailItem]]:
        """Return the recipient and the items still worth sending, by the row's id.

        The user is None if they are unknown, disabled or have no address.
        """
        async with self.context.db.session() as db:
            user = await db.get(User, user_id)
            ids = {row.subject_id for row in rows}
            jobs = {job.id: job for job in await db.scalars(select(Job).where(Job.id.in_(ids)))}
        if user is None or user.disabled_at is not None or not user.email:
            return None, {}
        pending = {}
        for row in rows:
            kind, job = outbox.kind_of(row.event), jobs.get(row.subject_id)
            if kind is None or job is None or not outbox.is_enabled(user.preferences, kind):
                continue
            if outbox.is_current(job, kind, row.event, now):
                pending[row.id] = MailItem(kind, job)
        return user, pending

    async def delete_old(self) -> None:
        async with self.context.db.session() as db:
            await db.execute(delete(Mail).where(Mail.created_at < utcnow() - KEPT))
            await db.commit()


async def _claim_due(database: Database, user_id: str, now: datetime) -> Sequence[Mail]:
    """Claim and return the user's due rows, so that no other process sends them."""
    waiting = Mail.user_id == user_id, Mail.sent_at.is_(None), Mail.next_try_at <= now
    first = select(Mail.id).where(*waiting).order_by(Mail.created_at).limit(MAX_ROWS_PER_EMAIL)
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


async def _update_rows(database: Database, ids: Sequence[str], **values: object) -> None:
    if not ids:
        return
    async with database.session() as db:
        await db.execute(update(Mail).where(Mail.id.in_(ids)).values(**values))
        await db.commit()


def _compute_next_try(row: Mail, now: datetime) -> datetime | None:
    """Return the time of the next try, with exponential backoff; None after GIVE_UP."""
    if now - row.created_at > GIVE_UP:
        return None
    return now + min(LONGEST_WAIT, timedelta(minutes=2 ** min(row.tries - 1, 10)))


def _envelope(context: AppContext, user: User, email_id: str, now: datetime) -> Envelope:
    return Envelope(
        email_id=email_id,
        sender=context.settings.smtp_from or "",
        recipient=user.email or "",
        public_url=context.settings.public_url,
        now=now,
        language=preferences.read(user.preferences).language or "en",
    )


# --- on a user's request --------------------------------------------------------------------------


@dataclass(frozen=True)
class DeliveryState:
    """The delivery status of a user's e-mails.

    `problem` is the error of the newest e-mail if that was not sent, `problem_at` the time when it
    was created.
    """

    configured: bool
    address: str | None
    sender: str | None
    last_sent_at: datetime | None
    problem: str | None
    problem_at: datetime | None


async def load_delivery_state(context: AppContext, user: User) -> DeliveryState:
    """Return where a user's e-mails go and whether the last ones were sent."""
    own_mail = select(Mail).where(Mail.user_id == user.id)
    async with context.db.session() as db:
        sent_at = await db.scalar(select(func.max(Mail.sent_at)).where(Mail.user_id == user.id))
        newest = await db.scalar(
            own_mail.where(Mail.tries > 0).order_by(Mail.created_at.desc(), Mail.id).limit(1)
        )
    bad = newest is not None and newest.sent_at is None and newest.problem != OUTDATED
    problem = newest if bad else None
    return DeliveryState(
        configured=context.smtp is not None,
        address=user.email,
        sender=context.settings.smtp_from if context.smtp else None,
        last_sent_at=sent_at,
        problem=problem.problem if problem else None,
        problem_at=problem.created_at if problem and problem.problem else None,
    )


async def send_test_email(context: AppContext, user: User) -> None:
    """Send a test e-mail now, at most one per minute.

    Raises Conflict, and Unavailable with the mail server's reason.
    """
    if context.smtp is None:
        raise Conflict(NO_SERVER)
    if not user.email:
        raise Conflict(NO_ADDRESS)
    now = utcnow()
    row_id = new_id()
    email = _build_test_email(context, user, row_id, now)
    row = {"id": row_id, "user_id": user.id, "subject_id": user.id, "tries": 1}
    tried_once = {"event": f"test.{_minute_number(now)}", "created_at": now, "next_try_at": None}
    own = Mail.user_id == user.id, Mail.subject_id == user.id, Mail.event.startswith("test.")
    async with context.db.session() as db:
        if await db.scalar(select(Mail.id).where(*own, Mail.created_at > now - PAUSE).limit(1)):
            raise Conflict(A_MINUTE_AGO)
        try:  # a unique constraint lets one of two concurrent requests pass
            await db.execute(insert(Mail).values(**row, **tried_once))
            await db.commit()
        except IntegrityError as error:
            raise Conflict(A_MINUTE_AGO) from error
    await _send_test_email(context, context.smtp, email, row_id)


def _build_test_email(
    context: AppContext, user: User, email_id: str, now: datetime
) -> EmailMessage:
    """Build the test e-mail. Raises Conflict for an invalid address."""
    try:
        return messages.render_test_message(_envelope(context, user, email_id, now))
    except ValueError as error:
        text = f"The e-mail address in the directory is invalid: {user.email}"
        raise Conflict(text[:300]) from error


async def _send_test_email(
    context: AppContext, smtp: Smtp, email: EmailMessage, row_id: str
) -> None:
    try:
        await smtp.send(email)
    except MailError as error:
        await _update_rows(context.db, [row_id], problem=str(error))
        raise Unavailable(f"The mail server did not accept it. {error}") from error
    await _update_rows(context.db, [row_id], sent_at=utcnow())


def _minute_number(at: datetime) -> int:
    return int(at.timestamp()) // 60
