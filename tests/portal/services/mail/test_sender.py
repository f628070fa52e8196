"""The test e-mail that users send to themselves, and its result on their page."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import update

from portal.db import utcnow
from portal.models import User
from portal.services.mail import sender
from tests.portal.mail_portal import SENDER, MailPortal, forget

pytestmark = pytest.mark.anyio
pytest_plugins = ["tests.portal.mail_fixtures"]


async def test_test_mail_reports_the_servers_reply(mail_portal: MailPortal) -> None:
    before = (await mail_portal.alice.get("/api/v1/me/mail")).body
    assert (before["configured"], before["address"], before["sender"]) == (
        True, "alice@test.example", SENDER,
    )  # fmt: skip
    assert before["last_sent_at"] is None
    mail_portal.server.mood = "rejects recipients"
    answer = await mail_portal.alice.post("/api/v1/me/mail/test")
    assert (answer.status, answer.slug) == (503, "unavailable")
    assert "550 5.1.1 no such mailbox" in answer.body["detail"]
    assert await mail_portal.look(utcnow())  # the loop is not involved
    assert "no such mailbox" in (await mail_portal.alice.get("/api/v1/me/mail")).body["problem"]
    await forget(mail_portal.portal)
    mail_portal.server.mood = "takes"
    assert (await mail_portal.alice.post("/api/v1/me/mail/test")).status == 204
    (email,) = mail_portal.server.emails
    assert email.recipients == ("alice@test.example",)
    after = (await mail_portal.alice.get("/api/v1/me/mail")).body
    assert (after["last_sent_at"] is not None, after["problem"]) == (True, None)


async def test_a_test_e_mail_is_sent_once_a_minute(
    mail_portal: MailPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full minute, not a minute of the clock."""
    first = utcnow().replace(second=59)
    answers = []
    for seconds in (0, 0, 2, 61):
        at = first + timedelta(seconds=seconds)
        monkeypatch.setattr(sender, "utcnow", lambda at=at: at)
        answers.append(await mail_portal.alice.post("/api/v1/me/mail/test"))
    assert [answer.status for answer in answers] == [204, 409, 409, 204]
    assert answers[2].slug == "conflict"
    assert len(mail_portal.server.emails) == 2


async def test_missing_server_or_address_is_reported(mail_portal: MailPortal) -> None:
    async with mail_portal.portal.context.db.session() as db:
        await db.execute(update(User).values(email=None))
        await db.commit()
    answer = await mail_portal.alice.post("/api/v1/me/mail/test")
    assert (answer.status, "no e-mail address" in answer.body["detail"]) == (409, True)
    mail_portal.portal.app.state.context = replace(mail_portal.portal.context, smtp=None)
    found = (await mail_portal.alice.get("/api/v1/me/mail")).body
    assert (found["configured"], found["sender"]) == (False, None)
    assert (await mail_portal.alice.post("/api/v1/me/mail/test")).status == 409
