"""Announcements: created, changed and deleted by administrators, shown to all while active."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from portal.db import utcnow
from portal.models import AuditEvent
from tests.polling import PATIENCE_S
from tests.portal.conftest import Answer, Browser, Portal

pytestmark = pytest.mark.anyio
MANAGED = "/api/v1/admin/announcements"


@pytest.fixture
async def carol(portal: Portal) -> AsyncIterator[Browser]:
    """An administrator."""
    async with portal.browser() as browser:
        assert (await browser.login("carol")).status == 200
        yield browser


@pytest.fixture
async def alice(portal: Portal) -> AsyncIterator[Browser]:
    async with portal.browser() as browser:
        assert (await browser.login("alice")).status == 200
        yield browser


async def announce(browser: Browser, title: str, **fields: Any) -> Any:
    answer = await browser.post(MANAGED, {"title": title, **fields})
    assert answer.status == 201, answer
    return answer.body


async def edit(browser: Browser, made: Any, **fields: Any) -> Answer:
    body = {"version": made["version"], **fields}
    return await browser.send("PATCH", f"{MANAGED}/{made['id']}", json=body)


async def shown(browser: Browser, path: str = "announcements") -> list[str]:
    return [item["title"] for item in (await browser.get(f"/api/v1/{path}")).body["items"]]


def at(**offset: float) -> str:
    return (utcnow() + timedelta(**offset)).isoformat()


async def test_everyone_is_shown_what_is_on_the_gravest_first(
    carol: Browser, alice: Browser
) -> None:
    await announce(carol, "by and by")
    await announce(carol, "down now", level="critical")
    await announce(carol, "soon", starts_at=at(minutes=5), level="warning")
    await announce(carol, "next week", starts_at=at(days=7))
    await announce(carol, "over", starts_at=at(hours=-2), ends_at=at(hours=-1))
    assert await shown(alice) == ["down now", "soon", "by and by"]
    states = {row["title"]: row["state"] for row in (await carol.get(MANAGED)).body["items"]}
    assert (states["down now"], states["over"]) == ("shown", "ended")
    assert states["next week"] == "planned"


async def test_the_login_page_gets_those_that_are_for_it(portal: Portal, carol: Browser) -> None:
    await announce(carol, "for users")
    await announce(carol, "for anyone", public=True)
    async with portal.browser() as anonymous:
        assert await shown(anonymous, "announcements/public") == ["for anyone"]
        assert (await anonymous.get("/api/v1/announcements")).status == 401


async def test_second_editor_sees_who_changed_the_announcement(
    portal: Portal, carol: Browser
) -> None:
    made = await announce(carol, "Maintenance", text="on Monday")
    changed = await edit(carol, made, text="on Tuesday", ends_at=at(days=1))
    assert (changed.status, changed.body["text"], changed.body["version"]) == (200, "on Tuesday", 2)
    late = await edit(carol, made, text="on Friday")
    assert (late.status, late.slug, late.body["changed_by"]) == (409, "edit-conflict", "carol")
    assert "carol" in late.body["detail"]
    async with portal.context.db.session() as db:
        query = select(AuditEvent).where(AuditEvent.action == "announcement.edit")
        (event,) = (await db.scalars(query)).all()
    assert event.detail["text"] == {"old": "on Monday", "new": "on Tuesday"}
    assert event.detail["ends_at"]["old"] is None
    assert "title" not in event.detail


async def test_an_edit_that_changes_nothing_changes_nothing(carol: Browser) -> None:
    made = await announce(carol, "Same")
    same = await edit(carol, made, title="Same")
    assert (same.status, same.body["version"]) == (200, 1)


async def test_two_edits_at_the_same_moment_are_one(carol: Browser) -> None:
    made = await announce(carol, "Race")
    answers = await asyncio.gather(*(edit(carol, made, text=f"{n}") for n in range(6)))
    assert sorted(answer.status for answer in answers) == [200] + [409] * 5


async def test_one_that_is_deleted_is_gone_and_stays_in_the_audit(
    portal: Portal, carol: Browser, alice: Browser
) -> None:
    made = await announce(carol, "Short-lived", text="some text")
    assert (await carol.send("DELETE", f"{MANAGED}/{made['id']}")).status == 204
    assert await shown(alice) == []
    for answer in (await edit(carol, made), await carol.send("DELETE", f"{MANAGED}/{made['id']}")):
        assert answer.status == 404
    async with portal.context.db.session() as db:
        query = select(AuditEvent).where(AuditEvent.action == "announcement.delete")
        assert (await db.scalars(query)).one().detail["text"] == "some text"


async def test_what_can_not_be_announced(carol: Browser) -> None:
    for field, value in (
        ("title", "  "),
        ("title", "x" * 201),
        ("text", "x" * 4001),
        ("level", "loud"),
        ("starts_at", "2030-01-01T00:00:00"),
        ("ends_at", "2020-01-01T00:00:00Z"),
        ("colour", "red"),
    ):
        answer = await carol.post(MANAGED, {"title": "Title", field: value})
        assert (answer.status, answer.body["errors"][0]["field"]) == (422, field)


async def test_only_an_end_can_be_taken_away(carol: Browser) -> None:
    made = await announce(carol, "Open", ends_at=at(days=1))
    assert (await edit(carol, made, title=None)).body["errors"][0]["field"] == "title"
    assert (await edit(carol, made, ends_at=None)).body["ends_at"] is None


async def test_pages_go_back_to_the_first(carol: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("portal.services.announcements.announcements.PAGE", 2)
    for number in range(5):
        await announce(carol, f"n{number}")
    seen, cursor = [], ""
    while cursor is not None:
        body = (await carol.get(f"{MANAGED}?cursor={cursor.replace('+', '%2B')}")).body
        seen += [item["title"] for item in body["items"]]
        cursor = body["next_cursor"]
    assert seen == ["n4", "n3", "n2", "n1", "n0"]


async def test_open_pages_hear_of_it_at_once(carol: Browser, alice: Browser) -> None:
    """The snapshot has the active announcements; each change is sent as the whole list."""
    await announce(carol, "first")
    heard: list[list[str]] = []
    async with asyncio.timeout(PATIENCE_S), alice.http.get("/api/v1/events") as answer:
        name = ""
        async for line in answer.content:
            if line.startswith(b"event: "):
                name = line[7:].strip().decode()
            elif line.startswith(b"data: ") and name in {"snapshot", "announcements"}:
                data = json.loads(line[6:])
                items = data["announcements"] if name == "snapshot" else data["items"]
                heard.append([item["title"] for item in items])
                if len(heard) == 1:
                    made = await announce(carol, "second", level="critical")
                elif len(heard) == 2:
                    await carol.send("DELETE", f"{MANAGED}/{made['id']}")
                else:
                    break
    assert heard == [["first"], ["second", "first"], ["first"]]
