"""Users' preferences: stored individually, bounded, and private."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import update

from portal.models import User
from portal.services.identity import preferences
from tests.portal.conftest import Answer, Browser, Portal

pytestmark = pytest.mark.anyio
PATH = "/api/v1/me/preferences"
NOTHING_CHOSEN = {
    "favourite_environments": [],
    "language": None,
    "notify": {
        "browser": {"session_started": True, "job_ended": True, "time_short": True},
        "email": {"session_started": False, "job_ended": False, "time_short": False},
    },
}


@pytest.fixture
async def alice(portal: Portal) -> AsyncIterator[Browser]:
    async with portal.browser() as browser:
        assert (await browser.login("alice")).status == 200
        yield browser


async def choose(browser: Browser, **payload: Any) -> Answer:
    return await browser.send("PATCH", PATH, json=payload)


async def test_each_choice_leaves_the_others_as_they_are(portal: Portal, alice: Browser) -> None:
    assert (await alice.get(PATH)).body == NOTHING_CHOSEN
    await choose(alice, favourite_environments=["b", "a", "b"])
    await choose(alice, notify={"email": {"job_ended": True}})
    await choose(alice, notify={"browser": {"time_short": False}}, language="zh")
    answer = await choose(alice, notify={"email": {"time_short": True}})
    assert answer.status == 200
    expected = {
        "favourite_environments": ["b", "a"],
        "language": "zh",
        "notify": {
            "browser": {"session_started": True, "job_ended": True, "time_short": False},
            "email": {"session_started": False, "job_ended": True, "time_short": True},
        },
    }
    assert answer.body == (await alice.get(PATH)).body == expected
    assert (await choose(alice, language=None, favourite_environments=[])).body["language"] is None
    async with portal.browser() as bob:
        await bob.login("bob")
        assert (await bob.get(PATH)).body == NOTHING_CHOSEN


async def test_changes_at_once_do_not_undo_each_other(alice: Browser) -> None:
    kinds = ("session_started", "job_ended", "time_short")
    bodies = [{"notify": {"email": {kind: True}}} for kind in kinds]
    answers = await asyncio.gather(*(choose(alice, **payload) for payload in bodies))
    assert [answer.status for answer in answers] == [200] * 3
    assert all((await alice.get(PATH)).body["notify"]["email"].values())


NONSENSE: list[tuple[Any, str]] = [
    ({"theme": "dark"}, "theme"),
    ({"notify": {"sms": {"job_ended": True}}}, "notify.sms"),
    ({"notify": {"email": {"job_begun": True}}}, "notify.email.job_begun"),
    ({"notify": {"email": {"job_ended": "perhaps"}}}, "notify.email.job_ended"),
    ({"notify": {"email": {"job_ended": None}}}, "notify.email.job_ended"),
    ({"notify": None}, "notify"),
    ({"language": "tlh"}, "language"),
    ({"favourite_environments": "plain"}, "favourite_environments"),
    ({"favourite_environments": None}, "favourite_environments"),
    ({"favourite_environments": ["x" * 101]}, "favourite_environments.0"),
    ({"favourite_environments": [""]}, "favourite_environments.0"),
    ({"favourite_environments": [f"e{n}" for n in range(51)]}, "favourite_environments"),
]


async def test_what_makes_no_sense_is_refused_by_its_field(alice: Browser) -> None:
    for payload, field in NONSENSE:
        answer = await choose(alice, **payload)
        assert answer.status == 422, (payload, answer)
        assert field in {error["field"] for error in answer.body["errors"]}, payload
    assert (await alice.get(PATH)).body == NOTHING_CHOSEN


async def test_what_another_version_wrote_does_no_harm(portal: Portal, alice: Browser) -> None:
    """Unknown keys are kept; unreadable values count as not set."""
    kept = {"language": "zh", "density": "high"}
    async with portal.app.state.db.session() as db:
        await db.execute(update(User).where(User.username == "alice").values(preferences=kept))
        await db.commit()
    assert (await choose(alice, favourite_environments=["a"])).body["language"] == "zh"
    async with portal.app.state.db.session() as db:
        row = await db.scalar(User.__table__.select().with_only_columns(User.preferences))
    assert row["density"] == "high"
    assert preferences.read({"language": 7}) == preferences.Preferences()
