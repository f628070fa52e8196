"""The test e-mail that users send to themselves, and its result on their page."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import update

from portal.db import utcnow
from portal.models import User
from portal.services.mail import sender
from tests.portal.mail_portal import SENDER, World, forget

pytestmark = pytest.mark.anyio
pytest_plugins = ["tests.portal.mail_fixtures"]


async def test_test_mail_reports_the_servers_reply(world: World) -> None:
    before = (await world.alice.get("/api/v1/me/mail")).body
    assert (before["configured"], before["address"], before["sender"]) == (
        True, "alice@test.example", SENDER,
    )  # fmt: skip
    assert before["last_sent_at"] is None
    world.server.mood = "rejects recipients"
    answer = await world.alice.post("/api/v1/me/mail/test")
    assert (answer.status, answer.slug) == (503, "unavailable")
    assert "550 5.1.1 no such mailbox" in answer.body["detail"]
    assert await world.look(utcnow())  # the loop is not involved
    assert "no such mailbox" in (await world.alice.get("/api/v1/me/mail")).body["problem"]
    await forget(world.portal)
    world.server.mood = "takes"
    assert (await world.alice.post("/api/v1/me/mail/test")).status == 204
    (letter,) = world.server.letters
    assert letter.recipients == ("alice@test.example",)
    after = (await world.alice.get("/api/v1/me/mail")).body
    assert (after["last_sent_at"] is not None, after["problem"]) == (True, None)


async def test_a_test_e_mail_is_sent_once_a_minute(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full minute, not a minute of the clock."""
    first = utcnow().replace(second=59)
    answers = []
    for seconds in (0, 0, 2, 61):
        at = first + timedelta(seconds=seconds)
        monkeypatch.setattr(sender, "utcnow", lambda at=at: at)
        answers.append(await world.alice.post("/api/v1/me/mail/test"))
    assert [answer.status for answer in answers] == [204, 409, 409, 204]
    assert answers[2].slug == "conflict"
    assert len(world.server.letters) == 2


async def test_missing_server_or_address_is_reported(world: World) -> None:
    async with world.portal.app.state.db.session() as db:
        await db.execute(update(User).values(email=None))
        await db.commit()
    answer = await world.alice.post("/api/v1/me/mail/test")
    assert (answer.status, "no e-mail address" in answer.body["detail"]) == (409, True)
    world.portal.app.state.context = replace(world.portal.app.state.context, smtp=None)
    found = (await world.alice.get("/api/v1/me/mail")).body
    assert (found["configured"], found["sender"]) == (False, None)
    assert (await world.alice.post("/api/v1/me/mail/test")).status == 409
