"""The audit log: searching, and export as CSV or JSON lines."""

import csv
import io
import json
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from portal.api import admin_audit
from portal.db import utcnow
from portal.models import AuditEvent, Role, User
from portal.services.audit import search
from portal.services.audit.audit import Action, list_changes
from portal.services.csv_cells import csv_lines
from portal.web.dependencies import Identity
from tests.portal.audit_log import AUDIT, add, events, found
from tests.portal.conftest import Browser, Portal

pytestmark = pytest.mark.anyio


@pytest.fixture
async def carol(portal: Portal) -> AsyncIterator[Browser]:
    """An administrator."""
    async with portal.browser() as browser:
        assert (await browser.login("carol")).status == 200
        yield browser


# --- searching ------------------------------------------------------------------------------------


@pytest.fixture
async def filled(portal: Portal, carol: Browser) -> Browser:
    day, now = timedelta(days=1), utcnow()
    await add(
        portal,
        {"target": "t1", "at": now - 9 * day, "actor": "müller", "ip": "10.1.2.3"},
        {"target": "t2", "at": now - 8 * day, "action": "login.failed", "ip": "10.1.2.30"},
        {"target": "t3", "at": now - 7 * day, "action": "token.created", "detail": {"n": "Gerät"}},
        {"target": "t4", "at": now - 6 * day, "action": "token.revoked", "actor": "ali"},
        {
            "target": "bob/lab-1", "at": now - 5 * day, "action": "user.edit",
            "detail": list_changes({"email": "bob@old.example"}, {"email": "bob@new.example"}),
        },
        {"target": "100%_x", "at": now - 4 * day, "actor": "-"},
    )  # fmt: skip
    return carol


FOUND_BY = [
    ("actor=alice", ["bob/lab-1", "t3", "t2"]),
    ("actor=ali", ["t4"]),
    ("query=ali", ["bob/lab-1", "t4", "t3", "t2"]),
    ("query=MÜLL", ["t1"]),
    ("query=gerät", ["t3"]),
    ("query=bob@new.example", ["bob/lab-1"]),
    ("query=lab%20email", ["bob/lab-1"]),
    ("query=new%20nothing", []),
    ("query=10.1.2", ["t2", "t1"]),
    ("ip=10.1.2.3", ["t1"]),
    ("action=token.", ["t4", "t3"]),
    ("action=token.created", ["t3"]),
    ("action=login&query=10.1", ["t1"]),
    ("target=bob/lab-1", ["bob/lab-1"]),
    ("target=100%25_x", ["100%_x"]),
    ("actor=-", ["100%_x"]),
    ("query=%22%20OR%20*", []),
    ("query=***", []),
    ("query=t1%22%20OR%20%22t2", []),
]


async def test_former_actions_have_their_present_names(portal: Portal, carol: Browser) -> None:
    """Events of former versions are never changed in the database."""
    await add(
        portal,
        {"target": "a", "action": "person.edit"},
        {"target": "b", "action": "user.edit"},
        {"target": "c", "action": "user.lock"},
        {"target": "d", "action": "people.import"},
        {"target": "e", "action": "users.import"},
    )
    for action, targets in (
        ("user.edit", ["b", "a"]),
        ("person.edit", ["b", "a"]),
        ("user.", ["c", "b", "a"]),
        ("users.import", ["e", "d"]),
    ):
        assert await found(carol, f"action={action}") == targets, action
    body = (await carol.get(f"{AUDIT}?action=user.edit")).body
    assert {(item["action"], item["title"]) for item in body["items"]} == {
        ("user.edit", "Changed a user")
    }
    exported = await carol.get(f"{AUDIT}/export?format=jsonl&action=users.")
    lines = [json.loads(line) for line in exported.body.splitlines()]
    assert [line["action"] for line in lines] == ["users.import"] * 2


async def test_it_is_found_by(filled: Browser) -> None:
    for query, expected in FOUND_BY:
        assert [target for target in await found(filled, query) if target] == expected, query


async def test_it_is_found_by_time(filled: Browser) -> None:
    def ago(days: float) -> str:
        return (utcnow() - timedelta(days=days)).isoformat().replace("+", "%2B")

    assert await found(filled, f"from={ago(6.5)}&to={ago(4.5)}") == ["bob/lab-1", "t4"]
    assert await found(filled, f"to={ago(8.5)}") == ["t1"]
    assert await found(filled, f"to={ago(30)}") == []
    assert await found(filled, f"from={ago(-1)}") == []
    answer = await filled.get(f"{AUDIT}?from=2026-01-01T00:00:00")
    assert (answer.status, answer.body["errors"][0]["field"]) == (422, "from")
    day = (utcnow() - timedelta(days=10)).date().isoformat()
    assert await found(filled, f"to={day}") == []
    assert await found(filled, f"from={day}&to={ago(8.5)}") == ["t1"]
    (error,) = (await filled.get(f"{AUDIT}?to=zzz")).body["errors"]
    assert error["field"] == "to" and error["message"].startswith("Enter a date")


async def test_pages_follow_each_other_without_a_gap(
    portal: Portal, carol: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "PAGE", 2)
    await add(portal, *({"target": f"n{number}"} for number in range(5)))
    seen, cursor = [], ""
    while cursor is not None:
        body = (await carol.get(f"{AUDIT}?actor=alice&cursor={cursor}")).body
        assert len(body["items"]) <= 2
        seen += [item["target"] for item in body["items"]]
        cursor = body["next_cursor"]
    assert seen == ["n4", "n3", "n2", "n1", "n0"]
    for nonsense in ("x", "-1", "1" * 30):
        assert (await carol.get(f"{AUDIT}?cursor={nonsense}")).status == 422


async def test_kinds_of_events_have_words(carol: Browser) -> None:
    items = (await carol.get(f"{AUDIT}/actions")).body["items"]
    assert {"action": "login.failed", "title": "Login failed"} in items


# --- export ---------------------------------------------------------------------------------------


async def test_as_csv_that_no_spreadsheet_runs(
    portal: Portal, carol: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than one batch, so that the transition between two batches is tested too."""
    monkeypatch.setattr(search, "BATCH", 2)
    evil = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", 'a,"b"\nc']
    await add(portal, *({"target": target, "actor": "evil"} for target in evil))
    answer = await carol.get(f"{AUDIT}/export?format=csv&actor=evil")
    assert answer.headers["Content-Disposition"].endswith('.csv"')
    assert answer.headers["Cache-Control"] == "no-store"
    rows = list(csv.DictReader(io.StringIO(answer.body)))
    assert [row["target"] for row in rows] == [*(f"'{t}" for t in evil[:-1]), evil[-1]][::-1]
    (note,) = await events(portal, AuditEvent.action == Action.AUDIT_EXPORT.value)
    assert (note.actor, note.detail) == ("carol", {"format": "csv", "actor": "evil"})


async def test_as_json_lines(portal: Portal, filled: Browser) -> None:
    answer = await filled.get(f"{AUDIT}/export?format=jsonl&action=user.edit")
    (line,) = answer.body.splitlines()
    event = json.loads(line)
    assert event["changes"] == [
        {"field": "email", "old": "bob@old.example", "new": "bob@new.example"}
    ]
    assert (event["target"], event["detail"]) == ("bob/lab-1", {})


async def test_a_file_is_cut_off_when_its_reader_may_not_see_it_any_more(
    portal: Portal, carol: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "BATCH", 1)
    monkeypatch.setattr(admin_audit, "RECHECK_S", 0.0)
    await add(portal, {"target": "one"}, {"target": "two"})
    async with portal.context.db.session() as db:
        user = (await db.scalars(select(User).where(User.username == "carol"))).one()
        who = Identity(user)
        assert not await admin_audit._may_still_read(portal.context, who), "no login at all"
        await db.execute(update(User).values(role=Role.USER))
        await db.commit()

    async def pieces() -> AsyncIterator[bytes]:
        yield b"secret"

    with pytest.raises(ConnectionAbortedError):
        async for _ in admin_audit._stream_while_allowed(portal.context, who, pieces()):
            raise AssertionError("nothing comes any more")
    assert (await carol.get(f"{AUDIT}/export")).status == 403


def test_numbers_stay_numbers_in_csv() -> None:
    assert csv_lines([[1, -2.5, None, "-2", ""]]) == "1,-2.5,,'-2,\r\n"
