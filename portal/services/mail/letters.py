"""What an e-mail says, as plain text. Pure: no clock, no database, no network.

Names and reasons come from users and from Slurm: each becomes one line without anything that can't
be printed, and reaches headers through the email package only, which refuses line breaks there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from enum import StrEnum

from portal.models import Job, JobKind
from portal.said import TAGS, Language, said
from portal.services.mail import letter_words as words
from portal.services.sessions.extending import spoken
from portal.settings_mail import one_address
from spawner.model import Outcome

POLICY = SMTP.clone(cte_type="7bit")
"""Any server passes this on unchanged."""
MOST_TOLD = 20
MAX_LINE = 500
MAX_SUBJECT = 150
WARNING = timedelta(minutes=15)
_MINUTE = timedelta(minutes=1)


class Kind(StrEnum):
    """What an e-mail can tell; as in people's preferences."""

    SESSION_STARTED = "session_started"
    JOB_ENDED = "job_ended"
    TIME_SHORT = "time_short"


@dataclass(frozen=True)
class Told:
    """One thing that a letter tells."""

    kind: Kind
    job: Job


@dataclass(frozen=True)
class Envelope:
    """Whom a letter is for, and what it is called so that the same one isn't shown twice."""

    letter_id: str
    sender: str
    recipient: str
    public_url: str
    now: datetime
    language: Language = "en"


_URGENT = (Kind.TIME_SHORT, Kind.SESSION_STARTED, Kind.JOB_ENDED)


def warn_at(started_at: datetime, expires_at: datetime) -> datetime:
    """When time is short: a quarter of an hour before the end, later for what is short itself."""
    return expires_at - min(WARNING, (expires_at - started_at) / 4)


def letter(envelope: Envelope, told: Sequence[Told]) -> EmailMessage:
    """One e-mail that tells these things, the most urgent first. Raises ValueError for an address
    that isn't one."""
    ordered = sorted(told, key=lambda one: (_URGENT.index(one.kind), not _went_wrong(one)))
    title, language = headline(ordered[0], envelope), envelope.language
    if len(ordered) > 1:
        first = _cut(title, MAX_SUBJECT - 20)
        title = words.AND_MORE.to(language, title=first, count=len(ordered) - 1)
    pieces = [_paragraph(one, envelope) for one in ordered[:MOST_TOLD]]
    if (rest := len(ordered) - MOST_TOLD) > 0:
        address = f"{envelope.public_url}/jobs"
        pieces.append(words.MORE_THERE.to(language, count=rest, address=address))
    return compose(envelope, title, pieces)


def trial(envelope: Envelope) -> EmailMessage:
    """The e-mail that someone has sent to themselves, to see whether it arrives."""
    language = envelope.language
    title = words.TEST.to(language, product=words.PRODUCT)
    return compose(envelope, title, [words.TEST_TEXT.to(language)])


def compose(envelope: Envelope, title: str, pieces: Sequence[str]) -> EmailMessage:
    """An e-mail of these paragraphs, with where to choose what one is told."""
    sender = one_address(envelope.sender)
    found = EmailMessage(policy=POLICY)
    found["From"] = sender
    found["To"] = one_address(envelope.recipient).addr_spec
    found["Subject"] = _cut(title, MAX_SUBJECT)
    found["Date"] = format_datetime(envelope.now)
    found["Message-ID"] = f"<{envelope.letter_id}@{sender.domain}>"
    found["Auto-Submitted"] = "auto-generated"
    address = f"{envelope.public_url}/account/notifications"
    footer = f"-- \n{words.CHOOSE.to(envelope.language, address=address)}"
    found.set_content("\n\n".join([*pieces, footer]) + "\n")
    found["Content-Language"] = TAGS[envelope.language]  # after it: it takes such headers away
    return found


def headline(told: Told, envelope: Envelope) -> str:
    """What happened, in a few words."""
    name, language = _line(told.job.name), envelope.language
    session = told.job.kind is JobKind.SESSION
    match told.kind:
        case Kind.SESSION_STARTED:
            return words.SESSION_READY.to(language, name=name)
        case Kind.JOB_ENDED:
            return words.ENDED[told.job.outcome or Outcome.FAILED].to(language, name=name)
        case Kind.TIME_SHORT:
            left = said(spoken(_minutes_left(told.job, envelope.now)), language)
            ends = words.SESSION_ENDS if session else words.JOB_ENDS
            return ends.to(language, name=name, left=left)


def _paragraph(told: Told, envelope: Envelope) -> str:
    """The headline, what there is to know, and where to look."""
    job = told.job
    title = words.STOP.to(envelope.language, title=headline(told, envelope))
    page = "sessions" if job.kind is JobKind.SESSION else "jobs"
    address = f"{envelope.public_url}/{page}/{job.id}"
    return "\n".join([title, *_details(told, envelope.language), address])


def _details(told: Told, language: Language) -> list[str]:
    job = told.job
    ends = words.moment(job.expires_at, language) if job.expires_at else None
    match told.kind:
        case Kind.SESSION_STARTED:
            where = [words.RUNS_ON.to(language, node=_line(job.node))] if job.node else []
            return [*where, *([words.ENDS_ON.to(language, moment=ends)] if ends else [])]
        case Kind.JOB_ENDED:
            ran = job.started_at and job.ended_at
            time = [words.RAN_FOR.to(language, time=_ran(job, language))] if ran else []
            why = [said(text, language) for text in (job.reason, job.advice) if text]
            return [*time, *map(_line, why)]
        case Kind.TIME_SHORT:
            end = [words.THAT_IS.to(language, moment=ends)] if ends else []
            session = job.kind is JobKind.SESSION
            return [*end, (words.SAVE_WORK if session else words.SAVE_BY_THEN).to(language)]


def _went_wrong(told: Told) -> bool:
    return told.job.outcome not in {None, Outcome.COMPLETED, Outcome.CANCELLED}


def _minutes_left(job: Job, now: datetime) -> int:
    left = (job.expires_at - now) if job.expires_at else timedelta()
    return max(1, round(left / _MINUTE))


def _ran(job: Job, language: Language) -> str:
    span = (job.ended_at or job.created_at) - (job.started_at or job.created_at)
    if span < _MINUTE:
        return words.SHORT.to(language)
    return said(spoken(int(span / _MINUTE)), language)


def _line(text: str | None) -> str:
    """One line of what can be printed; nothing in it is taken for an encoded word (RFC 2047)."""
    found = "".join(char if char.isprintable() else " " for char in text or "")
    return _cut(" ".join(found.split()).replace("=?", "= ?"), MAX_LINE)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
