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
NOTHING_CHOSEN: dict[str, Any] = {
    "favourite_environments": [],
    "language": None,
    "notify": {
        "browser": {"session_started": True, "job_ended": True, "time_short": True},
        "email": {"session_started": False, "job_ended": False, "time_short": False},
    },
    "jobs_table": {"columns": None, "views": []},
}
VIEW = {"name": "失败", "search": {"state": "failed", "group": "template"}, "columns": ["state"]}


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
        "jobs_table": {"columns": None, "views": []},
    }
    assert answer.body == (await alice.get(PATH)).body == expected
    assert (await choose(alice, language=None, favourite_environments=[])).body["language"] is None
    async with portal.browser() as bob:
        await bob.login("bob")
        assert (await bob.get(PATH)).body == NOTHING_CHOSEN


async def test_columns_and_views_of_the_table_of_jobs_are_kept_apart(alice: Browser) -> None:
    await choose(alice, jobs_table={"columns": ["state", "param:learning rate"]})
    answer = await choose(alice, jobs_table={"views": [VIEW, {"name": "all"}]})
    assert answer.body["jobs_table"] == {
        "columns": ["state", "param:learning rate"],
        "views": [VIEW, {"name": "all", "search": {}, "columns": None}],
    }
    answer = await choose(alice, jobs_table={"columns": None, "views": []})
    assert answer.body["jobs_table"] == {"columns": None, "views": []}


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
    ({"jobs_table": {"columns": [""]}}, "jobs_table.columns.0"),
    ({"jobs_table": {"columns": ["x"] * 61}}, "jobs_table.columns"),
    ({"jobs_table": {"views": [{"name": ""}]}}, "jobs_table.views.0.name"),
    ({"jobs_table": {"views": [{"name": "a\u202eb"}]}}, "jobs_table.views.0.name"),
    ({"jobs_table": {"views": [VIEW] * 51}}, "jobs_table.views"),
    (
        {"jobs_table": {"views": [VIEW | {"search": {"q": "x" * 201}}]}},
        "jobs_table.views.0.search.q",
    ),
    ({"jobs_table": {"rows": 7}}, "jobs_table.rows"),
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
    async with portal.context.db.session() as db:
        await db.execute(update(User).where(User.username == "alice").values(preferences=kept))
        await db.commit()
    assert (await choose(alice, favourite_environments=["a"])).body["language"] == "zh"
    async with portal.context.db.session() as db:
        row = await db.scalar(User.__table__.select().with_only_columns(User.preferences))
    assert row is not None
    assert row["density"] == "high"
    assert preferences.read({"language": 7}) == preferences.Preferences()
