"""A portal that sends e-mails to a server of the tests, with a controlled clock."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select, update

from portal.db import utcnow
from portal.models import BatchJob, Job, JobState, Mail, User
from portal.services.mail.sender import MailSender
from spawner.slurm.model import Outcome
from tests.fakes.smtp import MailServer
from tests.portal.conftest import Browser, Portal

SENDER = "Portal <portal@hpc.example>"
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
EVERYTHING = {"session_started": True, "job_ended": True, "time_short": True}


@dataclass
class MailPortal:
    """A portal whose own loop does not send, with a sender that runs when a test asks for it.

    It uses the test's clock: `now` is the time of the last round, and the time of rows written
    since.
    """

    portal: Portal
    server: MailServer
    post: MailSender
    users: dict[str, str]
    alice: Browser
    now: datetime

    async def look(self, now: datetime) -> bool:
        """Run one round; return False if the server could not be used."""
        self.now = now
        return await self.post.round(now)

    async def wants(self, who: str = "alice", **kinds: bool) -> None:
        async with self.portal.context.db.session() as db:
            chosen = {"notify": {"email": kinds or EVERYTHING}}
            row = update(User).where(User.username == who)
            await db.execute(row.values(preferences=chosen))
            await db.commit()

    async def add(self, kind: type[Job] = BatchJob, who: str = "alice", **columns: Any) -> str:
        """Add a row as the reconcile loop leaves it."""
        owner = self.users[who]
        mine = {"owner_id": owner} if kind is BatchJob else {}
        usual: dict[str, Any] = {
            "name": "x",
            "state": JobState.RUNNING,
            "started_at": self.now - HOUR,
        }
        usual["changed_at"] = self.now
        async with self.portal.context.db.session() as db:
            row = kind(user_id=owner, **mine, **(usual | columns))
            db.add(row)
            await db.commit()
            return row.id

    async def change(self, row_id: str, **columns: Any) -> None:
        async with self.portal.context.db.session() as db:
            row = await db.get_one(Job, row_id)
            for column, value in ({"changed_at": self.now} | columns).items():
                setattr(row, column, value)
            await db.commit()

    async def mails(self) -> list[Mail]:
        async with self.portal.context.db.session() as db:
            return list((await db.scalars(select(Mail).order_by(Mail.event))).all())

    def subjects(self) -> list[str]:
        return [email.message["Subject"] for email in self.server.emails]


def smtp_settings(port: int, **changes: Any) -> dict[str, Any]:
    usual = {"smtp_host": "127.0.0.1", "smtp_port": port, "smtp_tls": "none", "smtp_from": SENDER}
    return {**usual, **changes}


def ended(**columns: Any) -> dict[str, Any]:
    usual = {"state": JobState.ENDED, "outcome": Outcome.COMPLETED, "ended_at": utcnow()}
    return {**usual, **columns}


async def forget(portal: Portal) -> None:
    """Clear the rate limit, as if a minute had passed."""
    async with portal.context.db.session() as db:
        await db.execute(update(Mail).values(event="earlier"))
        await db.commit()
