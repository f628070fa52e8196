"""The audit: everything is in it once, nothing leaves it but by retention, no secret gets in."""

import asyncio
import csv
import io
import json
import logging
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete, func, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from portal.api import admin_audit
from portal.api.deps import Identity
from portal.app import bare_app
from portal.db import utcnow
from portal.models import AuditEvent, Mark, Refusals, Role, User
from portal.services.audit import audit_search
from portal.services.audit.audit import Action, changed, record
from portal.services.audit.audit_keeping import MARK, AuditKeeping
from portal.services.audit.audit_titles import TITLES
from portal.services.csv_cells import csv_lines
from portal.services.login import refusals
from tests.portal.audited import (
    NOT_RECORDED,
    RECORDED,
    RECORDED_IF_CHANGED,
    changing_routes,
)
from tests.portal.conftest import Answer, Browser, Portal, RunPortal
from tests.portal.slapd import PASSWORD

pytestmark = pytest.mark.anyio
AUDIT = "/api/v1/admin/audit"
GIVEN = {"name": "nobody", "group": "nothing", "username": "nobody", "file": "none.sif"}


@pytest.fixture
async def carol(portal: Portal) -> AsyncIterator[Browser]:
    """An administrator."""
    async with portal.browser() as browser:
        assert (await browser.login("carol")).status == 200
        yield browser


async def events(portal: Portal, *conditions: Any) -> list[AuditEvent]:
    async with portal.app.state.db.session() as db:
        query = select(AuditEvent).where(*conditions).order_by(AuditEvent.id)
        return list((await db.scalars(query)).all())


async def add(portal: Portal, *rows: Mapping[str, Any]) -> None:
    """Events as they are written, with a time of their own."""
    plain = {"actor": "alice", "action": "login", "target": "", "detail": {}, "ip": ""}
    async with portal.app.state.db.session() as db:
        db.add_all(AuditEvent(**{**plain, **row}) for row in rows)
        await db.commit()


async def found(browser: Browser, query: str) -> list[str]:
    """Targets of what is found, newest first."""
    answer = await browser.get(f"{AUDIT}?{query}")
    assert answer.status == 200, answer
    return [item["target"] for item in answer.body["items"]]


# --- what is in it --------------------------------------------------------------------------------


def test_every_route_that_changes_something_says_what_it_leaves() -> None:
    """The check itself runs after every change that any of these tests makes (conftest.py)."""
    named = [*RECORDED, *RECORDED_IF_CHANGED, *NOT_RECORDED]
    assert sorted(named) == sorted(changing_routes())


def test_every_action_has_words() -> None:
    assert {action.value for action in Action} == set(TITLES)


async def test_an_event_says_who_what_whence_by_which_token_and_in_which_request(
    portal: Portal, carol: Browser
) -> None:
    wish = {"name": "nightly", "scopes": ["admin"], "expires_in_days": 3}
    token = (await carol.post("/api/v1/tokens", wish)).body["token"]
    async with portal.browser() as program:
        answer = await program.post(
            "/api/v1/admin/announcements",
            {"title": "Maintenance"},
            headers={"Authorization": f"Bearer {token}", "Origin": ""},
        )
    (event,) = await events(portal, AuditEvent.action == Action.ANNOUNCEMENT_ADD.value)
    assert (event.actor, event.target, event.ip) == ("carol", "Maintenance", "127.0.0.1")
    assert (event.token, event.request_id) == ("nightly", answer.headers["X-Request-Id"])
    (shown,) = (await carol.get(f"{AUDIT}?query=maintenance")).body["items"]
    assert (shown["title"], shown["token"]) == ("Made an announcement", "nightly")


async def test_what_is_long_or_named_a_secret_is_cut(portal: Portal) -> None:
    detail = {
        "why": "x" * 900,
        "password": "hunter2",
        "list": [{"code": "123456", "deep": [[[["down"]]]]}],
        **changed({"email": "a"}, {"email": "b\0"}),
    }
    async with portal.app.state.db.session() as db:
        record(db, Action.LOGIN, actor="a\nb" + "c" * 200, target="\x1b[2J", detail=detail)
        await db.commit()
    (event,) = await events(portal)
    assert (event.actor[:3], len(event.actor), event.target) == ("a\ufffdb", 100, "\ufffd[2J")
    assert len(event.detail["why"]) == 500
    assert event.detail["email"] == {"old": "a", "new": "b\ufffd"}
    assert "hunter2" not in str(event.detail)
    assert "123456" not in str(event.detail)
    assert "down" not in str(event.detail)


# --- nothing leaves it ----------------------------------------------------------------------------


async def test_the_database_refuses_to_change_or_delete_an_event(
    portal: Portal, carol: Browser
) -> None:
    for statement in (
        update(AuditEvent).values(actor="mallory"),
        update(AuditEvent).values(actor_id=None),
        delete(AuditEvent),
        text("REPLACE INTO audit_events SELECT * FROM audit_events"),
    ):
        async with portal.app.state.db.session() as db:
            with pytest.raises(IntegrityError):
                await db.execute(statement)
    assert [event.actor for event in await events(portal)] == ["carol"]


async def test_an_actor_who_is_gone_leaves_their_events(portal: Portal, carol: Browser) -> None:
    async with portal.app.state.db.session() as db:
        await db.execute(delete(User).where(User.username == "carol"))
        await db.commit()
    (event,) = await events(portal)
    assert event.actor_id is not None
    assert event.actor == "carol"


async def test_retention_lets_go_of_what_is_old_and_of_nothing_else(run_portal: RunPortal) -> None:
    async with run_portal(audit_retention_days=30) as portal, portal.browser() as browser:
        await browser.login("carol")
        now = utcnow()
        ages = [(f"{days} days", days) for days in (400, 31, 29, 1)]
        await add(portal, *({"target": t, "at": now - timedelta(days=d)} for t, d in ages))
        keeping = AuditKeeping(portal.app.state.db, portal.settings)
        assert await keeping.retain(now) == 2
        assert await keeping.retain(now) == 0
        assert await found(browser, "actor=alice") == ["1 days", "29 days"]
        assert await found(browser, "query=400") == [], "it can't be found by its words either"
        (note,) = await events(portal, AuditEvent.action == Action.AUDIT_RETENTION.value)
        assert (note.actor, note.detail["events"]) == ("portal", 2)
        async with portal.app.state.db.session() as db:
            with pytest.raises(IntegrityError):
                await db.execute(delete(AuditEvent).where(AuditEvent.target == "29 days"))


async def test_without_the_setting_everything_is_kept(portal: Portal, carol: Browser) -> None:
    await add(portal, {"target": "old", "at": utcnow() - timedelta(days=4000)})
    async with portal.app.state.db.session() as db:
        await db.execute(insert(Mark).values(name=MARK, at=utcnow()))  # of a setting that was
        await db.commit()
    assert await AuditKeeping(portal.app.state.db, portal.settings).retain(utcnow()) == 0
    async with portal.app.state.db.session() as db:
        with pytest.raises(IntegrityError):
            await db.execute(delete(AuditEvent))
    assert await found(carol, "query=old") == ["old"]


# --- looking it up --------------------------------------------------------------------------------


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
            "target": "bob/lab-1", "at": now - 5 * day, "action": "person.edit",
            "detail": changed({"email": "bob@old.example"}, {"email": "bob@new.example"}),
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
    assert error["field"] == "to" and error["message"].startswith("Give a day")


async def test_pages_follow_each_other_without_a_gap(
    portal: Portal, carol: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_search, "PAGE", 2)
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


# --- taking it away -------------------------------------------------------------------------------


async def test_as_csv_that_no_spreadsheet_runs(
    portal: Portal, carol: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than one batch, so that what comes between two of them is seen as well."""
    monkeypatch.setattr(audit_search, "BATCH", 2)
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
    answer = await filled.get(f"{AUDIT}/export?format=jsonl&action=person.edit")
    (line,) = answer.body.splitlines()
    event = json.loads(line)
    assert event["changes"] == [
        {"field": "email", "old": "bob@old.example", "new": "bob@new.example"}
    ]
    assert (event["target"], event["detail"]) == ("bob/lab-1", {})


async def test_a_file_is_cut_off_when_its_reader_may_not_see_it_any_more(
    portal: Portal, carol: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_search, "BATCH", 1)
    monkeypatch.setattr(admin_audit, "RECHECK_S", 0.0)
    await add(portal, {"target": "one"}, {"target": "two"})
    async with portal.app.state.db.session() as db:
        user = (await db.scalars(select(User).where(User.username == "carol"))).one()
        who = Identity(user)
        assert not await admin_audit._still_reads(portal.app.state.parts, who), "no login at all"
        await db.execute(update(User).values(role=Role.USER))
        await db.commit()

    async def pieces() -> AsyncIterator[bytes]:
        yield b"secret"

    with pytest.raises(ConnectionAbortedError):
        async for _ in admin_audit._while_open(portal.app.state.parts, who, pieces()):
            raise AssertionError("nothing comes any more")
    assert (await carol.get(f"{AUDIT}/export")).status == 403


def test_numbers_stay_numbers_in_csv() -> None:
    assert csv_lines([[1, -2.5, None, "-2", ""]]) == "1,-2.5,,'-2,\r\n"


# --- refused logins -------------------------------------------------------------------------------


async def refused(portal: Portal) -> list[AuditEvent]:
    return await events(portal, AuditEvent.action == Action.LOGIN_FAILED.value)


async def test_a_flood_of_refused_logins_is_a_few_events(run_portal: RunPortal) -> None:
    async with run_portal(login_attempts=5) as portal, portal.browser() as browser:
        for _ in range(12):
            await browser.login("bob", "wrong")
        assert [event.actor for event in await refused(portal)] == ["bob"] * refusals.OWN_EVENTS
        keeping = AuditKeeping(portal.app.state.db, portal.settings)
        await keeping.flush(utcnow())
        assert len(await refused(portal)) == refusals.OWN_EVENTS, "the window isn't over"
        await keeping.flush(utcnow() + timedelta(minutes=11))
        *_, together = await refused(portal)
        assert (together.actor, together.ip, together.detail["times"]) == ("bob", "127.0.0.1", 9)
        assert together.detail["since"] < together.detail["until"]
        await keeping.flush(utcnow() + timedelta(minutes=30))
        assert len(await refused(portal)) == refusals.OWN_EVENTS + 1


async def test_refusals_at_once_are_all_counted(run_portal: RunPortal) -> None:
    async with run_portal(login_attempts=2) as portal, portal.browser() as browser:
        await asyncio.gather(*(browser.login("bob", "wrong") for _ in range(20)))
        keeping = AuditKeeping(portal.app.state.db, portal.settings)
        await keeping.flush(utcnow() + timedelta(minutes=11))
        found = await refused(portal)
    assert len(found) == refusals.OWN_EVENTS + 1
    assert found[-1].detail["times"] == 20 - refusals.OWN_EVENTS


async def test_many_names_and_addresses_cost_a_bounded_number_of_rows(
    portal: Portal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusals, "MOST_KEYS", 3)
    database = portal.app.state.db
    for number in range(8):
        await refusals.note(
            database, Action.LOGIN_FAILED, f"name{number}", ip=f"2001:db8::{number}", why="Wrong"
        )
    async with database.session() as db:
        assert await db.scalar(select(func.count()).select_from(Refusals)) == 4
    await refusals.flush(database, utcnow() + timedelta(hours=1), timedelta(minutes=10))
    *own, together = await refused(portal)
    assert len(own) == 3
    assert (together.actor, together.ip, together.detail["times"]) == (refusals.NOBODY, "", 5)


async def test_a_password_typed_as_a_name_is_not_kept(
    portal: Portal, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whose name is somebody's is told, be it that they were never here."""
    async with portal.browser() as browser:
        await browser.login("correct-horse-battery", "alice")
        await browser.login("alice", "wrong")
    assert [event.actor for event in await refused(portal)] == ["co…", "alice"]
    assert "correct-horse" not in capsys.readouterr().out


# --- no secrets -----------------------------------------------------------------------------------

SECRET_FIELDS = {"password", "current_password", "new_password", "code"}


class Secrets:
    """Makes bodies from the API's own description, each field for a secret with one of its own."""

    def __init__(self) -> None:
        self.schema = bare_app().openapi()
        self.given: list[str] = []

    def new(self) -> str:
        self.given.append(f"Zq7secret{len(self.given):04d}vX")
        return self.given[-1]

    def bodies(self) -> list[tuple[str, str, Any]]:
        """(method, path, body) of every route that takes one or changes something."""
        return [
            (method.upper(), path, self._body(operation))
            for path, operations in self.schema["paths"].items()
            for method, operation in operations.items()
            if method != "get"
        ]

    def _body(self, operation: Any) -> Any:
        content = operation.get("requestBody", {}).get("content", {})
        found = content.get("application/json")
        return self._fill("", found["schema"]) if found else None

    def _fill(self, name: str, schema: Any) -> Any:
        if "$ref" in schema:
            return self._fill(name, self.schema["components"]["schemas"][schema["$ref"][21:]])
        if "anyOf" in schema:
            return self._fill(name, schema["anyOf"][0])
        if "enum" in schema or "const" in schema:
            return schema.get("const") or schema["enum"][0]
        if schema.get("type") == "object":
            properties = schema.get("properties", {})
            return {key: self._fill(key, inner) for key, inner in properties.items()}
        if schema.get("type") == "string":
            return self.new() if name in SECRET_FIELDS else GIVEN.get(name, "nobody")
        number = schema.get("minimum", 1)
        return {"array": [], "boolean": False}.get(schema.get("type", ""), number)


async def test_no_secret_given_to_any_route_is_in_the_audit_or_in_the_log(
    run_portal: RunPortal, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("aiosqlite").setLevel(logging.WARNING)  # as portal/logging.py does
    secrets = Secrets()
    bodies = secrets.bodies()
    assert len(secrets.given) > 8
    async with run_portal(login_attempts=1000, login_attempts_per_address=10_000) as portal:
        async with portal.browser() as browser:
            for method, path, body in bodies:
                await browser.login("carol")
                where = path.replace("{", "").replace("}", "")
                answer = await browser.send(method, where, json=body)
                assert answer.status != 500, (method, path, answer)
                shown = {"Authorization": f"Bearer dsp_{secrets.new()}", "Origin": ""}
                await browser.send(method, where, json=body, headers=shown)
            await browser.login("carol")
            made = await _own_secrets(browser)
        kept = str([vars(event) for event in await events(portal)])
    out, err = capsys.readouterr()
    for secret in (*secrets.given, *made, PASSWORD):
        assert secret not in kept
        assert secret not in out + err + caplog.text


async def _own_secrets(browser: Browser) -> list[str]:
    """What the portal itself makes: a cookie, a token, the secret of a second factor."""
    wish = {"name": "mine", "scopes": ["read"], "expires_in_days": 1}
    token: Answer = await browser.post("/api/v1/tokens", wish)
    enrolment = await browser.post("/api/v1/second-factor/enrolment")
    cookies = [morsel.value for morsel in browser.http.cookie_jar]
    assert (token.status, enrolment.status) == (201, 201)
    return [token.body["token"], enrolment.body["secret"], *cookies]
