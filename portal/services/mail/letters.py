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
from portal.services.sessions.extending import spoken
from portal.settings_mail import one_address
from spawner.model import Outcome

POLICY = SMTP.clone(cte_type="7bit")
"""Any server passes this on unchanged."""
MOST_TOLD = 20
MAX_LINE = 500
MAX_SUBJECT = 150
PRODUCT = "Data Scientist Portal"
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


_ENDED = {
    Outcome.COMPLETED: "Job {name} is done",
    Outcome.FAILED: "Job {name} has failed",
    Outcome.CANCELLED: "Job {name} was cancelled",
    Outcome.TIMEOUT: "Job {name} ran out of time",
    Outcome.OUT_OF_MEMORY: "Job {name} ran out of memory",
    Outcome.NODE_FAILED: "Job {name} was lost with its node",
}
_URGENT = (Kind.TIME_SHORT, Kind.SESSION_STARTED, Kind.JOB_ENDED)


def warn_at(started_at: datetime, expires_at: datetime) -> datetime:
    """When time is short: a quarter of an hour before the end, later for what is short itself."""
    return expires_at - min(WARNING, (expires_at - started_at) / 4)


def letter(envelope: Envelope, told: Sequence[Told]) -> EmailMessage:
    """One e-mail that tells these things, the most urgent first. Raises ValueError for an address
    that isn't one."""
    ordered = sorted(told, key=lambda one: (_URGENT.index(one.kind), not _went_wrong(one)))
    title = headline(ordered[0], envelope.now)
    if len(ordered) > 1:
        title = f"{_cut(title, MAX_SUBJECT - 20)} and {len(ordered) - 1} more"
    pieces = [_paragraph(one, envelope) for one in ordered[:MOST_TOLD]]
    if (rest := len(ordered) - MOST_TOLD) > 0:
        pieces.append(f"And {rest} more: {envelope.public_url}/jobs")
    return compose(envelope, title, pieces)


def trial(envelope: Envelope) -> EmailMessage:
    """The e-mail that someone has sent to themselves, to see whether it arrives."""
    text = "This is the e-mail that you asked for. The portal's e-mails reach you."
    return compose(envelope, f"A test from the {PRODUCT}", [text])


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
    footer = f"-- \nYou choose what you are told here: {envelope.public_url}/account/notifications"
    found.set_content("\n\n".join([*pieces, footer]) + "\n")
    return found


def headline(told: Told, now: datetime) -> str:
    """What happened, in a few words."""
    name = _line(told.job.name)
    session = told.job.kind is JobKind.SESSION
    match told.kind:
        case Kind.SESSION_STARTED:
            return f"Session {name} is ready"
        case Kind.JOB_ENDED:
            return _ENDED[told.job.outcome or Outcome.FAILED].format(name=name)
        case Kind.TIME_SHORT:
            left = spoken(_minutes_left(told.job, now))
            return f"Session {name} ends in {left}" if session else f"Job {name} ends in {left}"


def _paragraph(told: Told, envelope: Envelope) -> str:
    """The headline, what there is to know, and where to look."""
    job = told.job
    lines = [f"{headline(told, envelope.now)}.", *_details(told)]
    page = "sessions" if job.kind is JobKind.SESSION else "jobs"
    lines.append(f"{envelope.public_url}/{page}/{job.id}")
    return "\n".join(lines)


def _details(told: Told) -> list[str]:
    job = told.job
    match told.kind:
        case Kind.SESSION_STARTED:
            where = [f"It runs on {_line(job.node)}."] if job.node else []
            until = [f"It ends on {_moment(job.expires_at)}."] if job.expires_at else []
            return [*where, *until]
        case Kind.JOB_ENDED:
            ran = [f"It ran for {_ran(job)}."] if job.started_at and job.ended_at else []
            return [*ran, *(_line(text) for text in (job.reason, job.advice) if text)]
        case Kind.TIME_SHORT:
            end = [f"That is on {_moment(job.expires_at)}."] if job.expires_at else []
            what = (
                "Save your work. You may be able to give it more time on its page."
                if job.kind is JobKind.SESSION
                else "What it hasn't saved by then is lost."
            )
            return [*end, what]


def _went_wrong(told: Told) -> bool:
    return told.job.outcome not in {None, Outcome.COMPLETED, Outcome.CANCELLED}


def _minutes_left(job: Job, now: datetime) -> int:
    left = (job.expires_at - now) if job.expires_at else timedelta()
    return max(1, round(left / _MINUTE))


def _ran(job: Job) -> str:
    span = (job.ended_at or job.created_at) - (job.started_at or job.created_at)
    return spoken(int(span / _MINUTE)) if span >= _MINUTE else "less than a minute"


def _moment(at: datetime | None) -> str:
    return f"{at:%d %B %Y at %H:%M} UTC".lstrip("0") if at else ""


def _line(text: str | None) -> str:
    """One line of what can be printed; nothing in it is taken for an encoded word (RFC 2047)."""
    found = "".join(char if char.isprintable() else " " for char in text or "")
    return _cut(" ".join(found.split()).replace("=?", "= ?"), MAX_LINE)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
