"""Rendering of notification e-mails as plain text. Pure: no clock, database or network.

Names and reasons come from users and from Slurm. Each is reduced to one printable line, and reaches
headers only through the email package, which rejects line breaks there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from enum import StrEnum

from portal.config.mail import one_address
from portal.i18n.translation import TAGS, Language, translate
from portal.models import Job, JobKind
from portal.services.mail import texts
from spawner.durations import format_minutes
from spawner.names import replace_unprintable
from spawner.slurm.model import Outcome

POLICY = SMTP.clone(cte_type="7bit")
"""7-bit encoding, which any mail server forwards unchanged."""
MAX_ITEMS = 20
MAX_LINE = 500
MAX_SUBJECT = 150
WARNING = timedelta(minutes=15)
_MINUTE = timedelta(minutes=1)


class MailKind(StrEnum):
    """Events that e-mails are sent about; the values are those in the users' preferences."""

    SESSION_STARTED = "session_started"
    JOB_ENDED = "job_ended"
    TIME_SHORT = "time_short"


@dataclass(frozen=True)
class MailItem:
    """One item of an e-mail."""

    kind: MailKind
    job: Job


@dataclass(frozen=True)
class Envelope:
    """The addresses and context of an e-mail.

    `email_id` becomes the Message-ID, so that mail programs do not show a repeated e-mail twice.
    """

    email_id: str
    sender: str
    recipient: str
    public_url: str
    now: datetime
    language: Language = "en"


_URGENCY_ORDER = (MailKind.TIME_SHORT, MailKind.SESSION_STARTED, MailKind.JOB_ENDED)


def warn_at(started_at: datetime, expires_at: datetime) -> datetime:
    """Return when to warn about the end: WARNING before it, or later for short jobs."""
    return expires_at - min(WARNING, (expires_at - started_at) / 4)


def render_message(envelope: Envelope, notices: Sequence[MailItem]) -> EmailMessage:
    """Render one e-mail for these items, most urgent first.

    Raises ValueError for an invalid address.
    """
    ordered = sorted(
        notices, key=lambda notice: (_URGENCY_ORDER.index(notice.kind), not _has_failed(notice))
    )
    title, language = render_headline(ordered[0], envelope), envelope.language
    if len(ordered) > 1:
        first = _truncate(title, MAX_SUBJECT - 20)
        title = texts.AND_MORE.to(language, title=first, count=len(ordered) - 1)
    pieces = [_render_paragraph(notice, envelope) for notice in ordered[:MAX_ITEMS]]
    if (rest := len(ordered) - MAX_ITEMS) > 0:
        address = f"{envelope.public_url}/jobs"
        pieces.append(texts.MORE_THERE.to(language, count=rest, address=address))
    return build_message(envelope, title, pieces)


def render_test_message(envelope: Envelope) -> EmailMessage:
    """Render the test e-mail that users can send to themselves."""
    language = envelope.language
    title = texts.TEST.to(language, product=texts.PRODUCT)
    return build_message(envelope, title, [texts.TEST_TEXT.to(language)])


def build_message(envelope: Envelope, title: str, pieces: Sequence[str]) -> EmailMessage:
    """Build an e-mail from these paragraphs and the footer with the link to the settings."""
    sender = one_address(envelope.sender)
    message = EmailMessage(policy=POLICY)
    message["From"] = sender
    message["To"] = one_address(envelope.recipient).addr_spec
    message["Subject"] = _truncate(title, MAX_SUBJECT)
    message["Date"] = format_datetime(envelope.now)
    message["Message-ID"] = f"<{envelope.email_id}@{sender.domain}>"
    message["Auto-Submitted"] = "auto-generated"
    address = f"{envelope.public_url}/account/notifications"
    footer = f"-- \n{texts.CHOOSE.to(envelope.language, address=address)}"
    message.set_content("\n\n".join([*pieces, footer]) + "\n")
    message["Content-Language"] = TAGS[envelope.language]  # set_content() removes such headers
    return message


def render_headline(notice: MailItem, envelope: Envelope) -> str:
    """Return what happened, in a few words."""
    name, language = _to_line(notice.job.name), envelope.language
    session = notice.job.kind is JobKind.SESSION
    match notice.kind:
        case MailKind.SESSION_STARTED:
            return texts.SESSION_READY.to(language, name=name)
        case MailKind.JOB_ENDED:
            return texts.ENDED[notice.job.outcome or Outcome.FAILED].to(language, name=name)
        case MailKind.TIME_SHORT:
            left = translate(format_minutes(_minutes_left(notice.job, envelope.now)), language)
            ends = texts.SESSION_ENDS if session else texts.JOB_ENDS
            return ends.to(language, name=name, left=left)


def _render_paragraph(notice: MailItem, envelope: Envelope) -> str:
    """Render the headline, the details and the link of one item."""
    job = notice.job
    title = texts.STOP.to(envelope.language, title=render_headline(notice, envelope))
    page = "sessions" if job.kind is JobKind.SESSION else "jobs"
    address = f"{envelope.public_url}/{page}/{job.id}"
    return "\n".join([title, *_render_details(notice, envelope.language), address])


def _render_details(notice: MailItem, language: Language) -> list[str]:
    job = notice.job
    ends = texts.moment(job.expires_at, language) if job.expires_at else None
    match notice.kind:
        case MailKind.SESSION_STARTED:
            where = [texts.RUNS_ON.to(language, node=_to_line(job.node))] if job.node else []
            return [*where, *([texts.ENDS_ON.to(language, moment=ends)] if ends else [])]
        case MailKind.JOB_ENDED:
            ran = job.started_at and job.ended_at
            time = [texts.RAN_FOR.to(language, time=_format_runtime(job, language))] if ran else []
            why = [translate(text, language) for text in (job.reason, job.suggestion) if text]
            return [*time, *map(_to_line, why)]
        case MailKind.TIME_SHORT:
            end = [texts.THAT_IS.to(language, moment=ends)] if ends else []
            session = job.kind is JobKind.SESSION
            return [*end, (texts.SAVE_WORK if session else texts.SAVE_BY_THEN).to(language)]


def _has_failed(notice: MailItem) -> bool:
    return notice.job.outcome not in {None, Outcome.COMPLETED, Outcome.CANCELLED}


def _minutes_left(job: Job, now: datetime) -> int:
    left = (job.expires_at - now) if job.expires_at else timedelta()
    return max(1, round(left / _MINUTE))


def _format_runtime(job: Job, language: Language) -> str:
    span = (job.ended_at or job.created_at) - (job.started_at or job.created_at)
    if span < _MINUTE:
        return texts.SHORT.to(language)
    return translate(format_minutes(int(span / _MINUTE)), language)


def _to_line(text: str | None) -> str:
    """Reduce to one printable line without anything that reads as an encoded word (RFC 2047)."""
    line = replace_unprintable(text or "", " ")
    return _truncate(" ".join(line.split()).replace("=?", "= ?"), MAX_LINE)


def _truncate(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
