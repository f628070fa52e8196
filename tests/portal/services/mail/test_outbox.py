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
from tests.portal.mail_portal import HOUR, MINUTE, World, ended, smtp_settings

pytestmark = pytest.mark.anyio
pytest_plugins = ["tests.portal.mail_fixtures"]


async def test_each_event_is_mailed_once_to_subscribers(world: World) -> None:
    now = world.now
    await world.wants()
    await world.wants("bob", job_ended=True)
    await world.add(**ended(name="mine"))
    # bob wants e-mails about jobs only
    await world.add(Session, who="bob", name="quiet", ready_at=now)
    await world.add(**ended(name="old", ended_at=now - 7 * HOUR))
    await world.add(**ended(name="gone", removed_at=now))
    await world.add(who="bob", **ended(name="theirs", outcome=Outcome.FAILED, reason="Code 1."))
    assert await world.look(now)
    assert await world.look(now + 2 * MINUTE)
    first, second = world.server.letters
    received = {first.recipients: first, second.recipients: second}
    mine, theirs = received["alice@test.example",], received["bob@test.example",]
    assert (mine.sender, mine.message["Subject"]) == ("portal@hpc.example", "Job mine is done")
    assert theirs.message["Subject"] == "Job theirs has failed"
    assert "Code 1." in theirs.message.get_content()

    job = await world.add(Session, name="s", ready_at=now, expires_at=now + 3 * HOUR)
    assert await world.look(now + 3 * MINUTE)
    assert world.subjects()[2:] == ["Session s is ready"]
    await world.change(job, ready_at=now + MINUTE)  # its server returned within the same job
    assert await world.look(now + 5 * MINUTE)
    await world.change(job, started_at=now, ready_at=now + 2 * MINUTE)  # requeued and started again
    assert await world.look(now + 7 * MINUTE)
    assert world.subjects()[2:] == ["Session s is ready", "Session s is ready"]


async def test_time_runs_out_once_for_each_end(world: World) -> None:
    now = world.now
    await world.wants()
    job = await world.add(name="long", expires_at=now + 20 * MINUTE)
    assert await world.look(now)
    assert world.subjects() == []
    assert await world.look(now + 6 * MINUTE)
    assert await world.look(now + 8 * MINUTE)
    assert world.subjects() == ["Job long ends in 14 minutes"]
    await world.change(job, expires_at=now + 80 * MINUTE)
    assert await world.look(now + 10 * MINUTE)
    assert await world.look(now + 70 * MINUTE)
    assert world.subjects()[1:] == ["Job long ends in 10 minutes"]
    assert await world.look(now + 90 * MINUTE)  # past its end, but its end is not reported yet
    assert len(world.subjects()) == 2


async def test_what_happens_within_a_minute_comes_together(world: World) -> None:
    now = world.now
    await world.wants()
    await world.add(**ended(name="first"))
    assert await world.look(now)
    for number in range(30):
        await world.add(**ended(name=f"j{number}"))
    await world.add(**ended(name="bad", outcome=Outcome.TIMEOUT))
    assert await world.look(now + MINUTE / 2)
    assert len(world.server.letters) == 1
    assert await world.look(utcnow() + 2 * MINUTE)
    assert world.subjects() == ["Job first is done", "Job bad ran out of time and 30 more"]
    assert all(mail.sent_at for mail in await world.mails())


async def test_mail_uses_the_language_of_its_recipient(world: World) -> None:
    """The user's language at the time of sending; English if none was chosen."""
    await world.wants("bob")
    mine = {"language": "zh", "notify": {"email": {"job_ended": True}}}
    assert (await world.alice.send("PATCH", "/api/v1/me/preferences", json=mine)).status == 200
    why = {"outcome": Outcome.TIMEOUT, "reason": "It reached its time limit and was stopped."}
    for who in world.users:
        await world.add(who=who, **ended(name="train", **why))
    assert await world.look(world.now)
    assert sorted(world.subjects()) == ["Job train ran out of time", "作业 train 已超时"]
    texts = {one.recipients[0]: one.message.get_content() for one in world.server.letters}
    assert "它达到了时间上限，已被终止。" in texts["alice@test.example"]
    assert "It reached its time limit and was stopped." in texts["bob@test.example"]
    assert (await world.alice.post("/api/v1/me/mail/test")).status == 204
    assert world.subjects()[-1] == "来自 Data Scientist Portal 的测试邮件"


async def test_outdated_event_is_not_mailed(world: World) -> None:
    """By the time that the server is back the session has ended, and users have changed their
    preferences or have been disabled."""
    now = world.now
    await world.wants()
    await world.wants("bob")
    session = await world.add(Session, ready_at=now)
    await world.add(who="bob", **ended())
    short = await world.add(expires_at=now + 5 * MINUTE)
    world.server.mood = "rejects clients"
    assert not await world.look(now)
    await world.change(session, state=JobState.STOPPING, wanted=Wanted.STOP)
    await world.change(short, expires_at=now + 9 * HOUR)
    async with world.portal.app.state.db.session() as db:
        await db.execute(update(User).where(User.username == "bob").values(disabled_at=now))
        await db.commit()
    world.server.mood = "takes"
    assert await world.look(now + HOUR)
    assert world.subjects() == []
    assert {mail.problem for mail in await world.mails()} == {sender.OUTDATED}
    assert (await world.alice.get("/api/v1/me/mail")).body["problem"] is None


async def test_many_rows_are_looked_at_a_page_at_a_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "PAGE", 3)
    await world.wants()
    for number in range(10):
        await world.add(**ended(name=f"j{number}"))
    assert await outbox.note(world.portal.app.state.db, world.now) == 10
    assert await outbox.note(world.portal.app.state.db, world.now) == 0


async def test_two_portals_on_one_database_send_one_letter(world: World) -> None:
    now = world.now
    await world.wants()
    await world.add(**ended())
    await outbox.note(world.portal.app.state.db, now)
    user = world.users["alice"]
    claims = [await sender._claim_due(world.portal.app.state.db, user, now) for _ in range(2)]
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
            await _job(portal.app.state.db, user, "first")
            await server.has_refused(1)
        database = Database(portal.settings.database)
        async with database.session() as db:
            await db.execute(update(Mail).values(next_try_at=utcnow()))
            await db.commit()
        await _job(database, user, "second", outcome=Outcome.FAILED)
        server.mood = "takes"
        async with run_portal(**settings):
            (letter,) = await server.has(1)
        async with database.session() as db:
            count = await db.scalar(select(func.count()).select_from(Mail))
        await database.close()
    assert letter.recipients == ("alice@test.example",)
    assert letter.message["Subject"] == "Job second has failed and 1 more"
    assert "Job first is done" in letter.message.get_content()
    assert count == 2


async def _job(database: Database, user: str, name: str, **columns: Any) -> None:
    async with database.session() as db:
        db.add(BatchJob(user_id=user, owner_id=user, name=name, **ended(**columns)))
        await db.commit()
