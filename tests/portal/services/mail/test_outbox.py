"""E-mails: queued events, each sent once in the user's language, surviving a restart."""

from typing import Any

import pytest
from sqlalchemy import func, select, update

from portal.db import Database, utcnow
from portal.models import BatchJob, JobState, Mail, Session, User, Wanted
from portal.services.mail import outbox, sender
from spawner.slurm.model import Outcome
from tests.fakes.smtp import mail_server
from tests.portal.conftest import RunPortal
from tests.portal.mail_portal import HOUR, MINUTE, MailPortal, ended, smtp_settings

pytestmark = pytest.mark.anyio
pytest_plugins = ["tests.portal.mail_fixtures"]


async def test_each_event_is_mailed_once_to_subscribers(mail_portal: MailPortal) -> None:
    now = mail_portal.now
    await mail_portal.wants()
    await mail_portal.wants("bob", job_ended=True)
    await mail_portal.add(**ended(name="mine"))
    # bob wants e-mails about jobs only
    await mail_portal.add(Session, who="bob", name="quiet", ready_at=now)
    await mail_portal.add(**ended(name="old", ended_at=now - 7 * HOUR))
    await mail_portal.add(**ended(name="gone", removed_at=now))
    await mail_portal.add(
        who="bob", **ended(name="theirs", outcome=Outcome.FAILED, reason="Code 1.")
    )
    assert await mail_portal.look(now)
    assert await mail_portal.look(now + 2 * MINUTE)
    first, second = mail_portal.server.emails
    received = {first.recipients: first, second.recipients: second}
    mine, theirs = received["alice@test.example",], received["bob@test.example",]
    assert (mine.sender, mine.message["Subject"]) == (
        "portal@hpc.example",
        "Job mine has completed",
    )
    assert theirs.message["Subject"] == "Job theirs has failed"
    assert "Code 1." in theirs.message.get_content()

    job = await mail_portal.add(Session, name="s", ready_at=now, expires_at=now + 3 * HOUR)
    assert await mail_portal.look(now + 3 * MINUTE)
    assert mail_portal.subjects()[2:] == ["Session s is ready"]
    await mail_portal.change(job, ready_at=now + MINUTE)  # its server returned within the same job
    assert await mail_portal.look(now + 5 * MINUTE)
    await mail_portal.change(
        job, started_at=now, ready_at=now + 2 * MINUTE
    )  # requeued and started again
    assert await mail_portal.look(now + 7 * MINUTE)
    assert mail_portal.subjects()[2:] == ["Session s is ready", "Session s is ready"]


async def test_time_runs_out_once_for_each_end(mail_portal: MailPortal) -> None:
    now = mail_portal.now
    await mail_portal.wants()
    job = await mail_portal.add(name="long", expires_at=now + 20 * MINUTE)
    assert await mail_portal.look(now)
    assert mail_portal.subjects() == []
    assert await mail_portal.look(now + 6 * MINUTE)
    assert await mail_portal.look(now + 8 * MINUTE)
    assert mail_portal.subjects() == ["Job long ends in 14 minutes"]
    await mail_portal.change(job, expires_at=now + 80 * MINUTE)
    assert await mail_portal.look(now + 10 * MINUTE)
    assert await mail_portal.look(now + 70 * MINUTE)
    assert mail_portal.subjects()[1:] == ["Job long ends in 10 minutes"]
    assert await mail_portal.look(
        now + 90 * MINUTE
    )  # past its end, but its end is not reported yet
    assert len(mail_portal.subjects()) == 2


async def test_what_happens_within_a_minute_comes_together(mail_portal: MailPortal) -> None:
    now = mail_portal.now
    await mail_portal.wants()
    await mail_portal.add(**ended(name="first"))
    assert await mail_portal.look(now)
    for number in range(30):
        await mail_portal.add(**ended(name=f"j{number}"))
    await mail_portal.add(**ended(name="bad", outcome=Outcome.TIMEOUT))
    assert await mail_portal.look(now + MINUTE / 2)
    assert len(mail_portal.server.emails) == 1
    assert await mail_portal.look(utcnow() + 2 * MINUTE)
    assert mail_portal.subjects() == [
        "Job first has completed",
        "Job bad ran out of time and 30 more",
    ]
    assert all(mail.sent_at for mail in await mail_portal.mails())


async def test_mail_uses_the_language_of_its_recipient(mail_portal: MailPortal) -> None:
    """The user's language at the time of sending; English if none was chosen."""
    await mail_portal.wants("bob")
    mine = {"language": "zh", "notify": {"email": {"job_ended": True}}}
    assert (
        await mail_portal.alice.send("PATCH", "/api/v1/me/preferences", json=mine)
    ).status == 200
    why = {"outcome": Outcome.TIMEOUT, "reason": "It reached its time limit and was stopped."}
    for who in mail_portal.users:
        await mail_portal.add(who=who, **ended(name="train", **why))
    assert await mail_portal.look(mail_portal.now)
    assert sorted(mail_portal.subjects()) == ["Job train ran out of time", "作业 train 已超时"]
    texts = {one.recipients[0]: one.message.get_content() for one in mail_portal.server.emails}
    assert "它达到了时间上限，已被终止。" in texts["alice@test.example"]
    assert "It reached its time limit and was stopped." in texts["bob@test.example"]
    assert (await mail_portal.alice.post("/api/v1/me/mail/test")).status == 204
    assert mail_portal.subjects()[-1] == "来自 Data Scientist Portal 的测试邮件"


async def test_outdated_event_is_not_mailed(mail_portal: MailPortal) -> None:
    """By the time that the server is back the session has ended, and users have changed their
    preferences or have been disabled."""
    now = mail_portal.now
    await mail_portal.wants()
    await mail_portal.wants("bob")
    session = await mail_portal.add(Session, ready_at=now)
    await mail_portal.add(who="bob", **ended())
    short = await mail_portal.add(expires_at=now + 5 * MINUTE)
    mail_portal.server.mood = "rejects clients"
    assert not await mail_portal.look(now)
    await mail_portal.change(session, state=JobState.STOPPING, wanted=Wanted.STOP)
    await mail_portal.change(short, expires_at=now + 9 * HOUR)
    async with mail_portal.portal.context.db.session() as db:
        await db.execute(update(User).where(User.username == "bob").values(disabled_at=now))
        await db.commit()
    mail_portal.server.mood = "takes"
    assert await mail_portal.look(now + HOUR)
    assert mail_portal.subjects() == []
    assert {mail.problem for mail in await mail_portal.mails()} == {sender.OUTDATED}
    assert (await mail_portal.alice.get("/api/v1/me/mail")).body["problem"] is None


async def test_many_rows_are_looked_at_a_page_at_a_time(
    mail_portal: MailPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "PAGE", 3)
    await mail_portal.wants()
    for number in range(10):
        await mail_portal.add(**ended(name=f"j{number}"))
    assert await outbox.enqueue(mail_portal.portal.context.db, mail_portal.now) == 10
    assert await outbox.enqueue(mail_portal.portal.context.db, mail_portal.now) == 0


async def test_two_portals_on_one_database_send_one_email(mail_portal: MailPortal) -> None:
    now = mail_portal.now
    await mail_portal.wants()
    await mail_portal.add(**ended())
    await outbox.enqueue(mail_portal.portal.context.db, now)
    user = mail_portal.users["alice"]
    claims = [await sender._claim_due(mail_portal.portal.context.db, user, now) for _ in range(2)]
    assert [len(claim) for claim in claims] == [1, 0]


async def test_what_waits_outlives_the_portal(
    run_portal: RunPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first portal meets a server that defers; a job ends while no portal runs; the second
    portal reports both in one message."""
    monkeypatch.setattr(sender, "ROUND_S", 0.05)
    async with mail_server() as server:
        server.mood = "defers"
        settings = smtp_settings(server.port)
        async with run_portal(**settings) as portal, portal.browser() as alice:
            user = (await alice.login("alice")).body["id"]
            payload = {"notify": {"email": {"job_ended": True}}}
            await alice.send("PATCH", "/api/v1/me/preferences", json=payload)
            await _job(portal.context.db, user, "first")
            await server.has_refused(1)
        database = Database(portal.settings.database)
        async with database.session() as db:
            await db.execute(update(Mail).values(next_try_at=utcnow()))
            await db.commit()
        await _job(database, user, "second", outcome=Outcome.FAILED)
        server.mood = "takes"
        async with run_portal(**settings):
            (email,) = await server.has(1)
        async with database.session() as db:
            count = await db.scalar(select(func.count()).select_from(Mail))
        await database.close()
    assert email.recipients == ("alice@test.example",)
    assert email.message["Subject"] == "Job second has failed and 1 more"
    assert "Job first has completed" in email.message.get_content()
    assert count == 2


async def _job(database: Database, user: str, name: str, **columns: Any) -> None:
    async with database.session() as db:
        db.add(BatchJob(user_id=user, owner_id=user, name=name, **ended(**columns)))
        await db.commit()
