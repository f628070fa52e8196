"""The audit log: each change is in it exactly once, and only retention removes events."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from sqlalchemy import delete, func, insert, select, text, update
from sqlalchemy.exc import DBAPIError

from portal.db import utcnow
from portal.models import AuditEvent, Mark, Refusals, User
from portal.services.audit import refused_logins
from portal.services.audit.audit import Action, list_changes, record
from portal.services.audit.retention import MARK, AuditKeeping
from portal.services.audit.titles import TITLES
from tests.polling import until
from tests.portal.audit_log import AUDIT, add, events, found
from tests.portal.audited import NOT_RECORDED, RECORDED, RECORDED_IF_CHANGED, changing_routes
from tests.portal.conftest import Browser, Portal, RunPortal

pytestmark = pytest.mark.anyio


@pytest.fixture
async def carol(portal: Portal) -> AsyncIterator[Browser]:
    """An administrator."""
    async with portal.browser() as browser:
        assert (await browser.login("carol")).status == 200
        yield browser


# --- content --------------------------------------------------------------------------------------


def test_every_changing_route_declares_its_audit_events() -> None:
    """The check itself runs after every change that any of these tests makes (conftest.py)."""
    named = [*RECORDED, *RECORDED_IF_CHANGED, *NOT_RECORDED]
    assert sorted(named) == sorted(changing_routes())


def test_every_action_has_words() -> None:
    assert {action.value for action in Action} == set(TITLES)


async def test_event_records_actor_action_address_token_and_request(
    portal: Portal, carol: Browser
) -> None:
    payload = {"name": "nightly", "scopes": ["admin"], "expires_in_days": 3}
    await carol.confirm()
    token = (await carol.post("/api/v1/tokens", payload)).body["token"]
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
    assert (shown["title"], shown["token"]) == ("Created an announcement", "nightly")


async def test_what_is_long_or_named_a_secret_is_cut(portal: Portal) -> None:
    detail = {
        "why": "x" * 900,
        "password": "hunter2",
        "list": [{"code": "123456", "deep": [[[["down"]]]]}],
        **list_changes({"email": "a"}, {"email": "b\0"}),
    }
    async with portal.context.db.session() as db:
        record(db, Action.LOGIN, actor="a\nb" + "c" * 200, target="\x1b[2J", detail=detail)
        await db.commit()
    (event,) = await events(portal)
    assert (event.actor[:3], len(event.actor), event.target) == ("a\ufffdb", 100, "\ufffd[2J")
    assert len(event.detail["why"]) == 500
    assert event.detail["email"] == {"old": "a", "new": "b\ufffd"}
    assert "hunter2" not in str(event.detail)
    assert "123456" not in str(event.detail)
    assert "down" not in str(event.detail)


# --- immutability ---------------------------------------------------------------------------------


async def test_the_database_refuses_to_change_or_delete_an_event(
    portal: Portal, carol: Browser
) -> None:
    for statement in (
        update(AuditEvent).values(actor="mallory"),
        update(AuditEvent).values(actor_id=None),
        delete(AuditEvent),
        text("REPLACE INTO audit_events SELECT * FROM audit_events"),
    ):
        async with portal.context.db.session() as db:
            with pytest.raises(DBAPIError):
                await db.execute(statement)
    assert [event.actor for event in await events(portal)] == ["carol"]


async def test_an_actor_who_is_gone_leaves_their_events(portal: Portal, carol: Browser) -> None:
    async with portal.context.db.session() as db:
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
        keeping = AuditKeeping(portal.context.db, portal.settings)
        await keeping.retain(now)  # the portal's own loop may do so at the same moment
        assert await keeping.retain(now) == 0
        assert await found(browser, "actor=alice") == ["1 days", "29 days"]
        assert await found(browser, "query=400") == [], "it can't be found by its words either"
        await until(
            lambda: counted_as_deleted(portal),
            "both events are counted",
            done=lambda answer: answer >= 2,
        )
        assert await counted_as_deleted(portal) == 2
        async with portal.context.db.session() as db:
            with pytest.raises(DBAPIError):
                await db.execute(delete(AuditEvent).where(AuditEvent.target == "29 days"))


async def counted_as_deleted(portal: Portal) -> int:
    """Return the number of deleted events according to the portal's own events."""
    notes = await events(portal, AuditEvent.action == Action.AUDIT_RETENTION.value)
    assert {note.actor for note in notes} <= {"portal"}
    return sum(note.detail["events"] for note in notes)


async def test_two_retentions_at_once_count_each_event_once(portal: Portal) -> None:
    await add(portal, *({"at": utcnow() - timedelta(days=40)} for _ in range(20)))
    settings = portal.settings.model_copy(update={"audit_retention_days": 30})
    keeping = AuditKeeping(portal.context.db, settings)
    counts = await asyncio.gather(*(keeping.retain(utcnow()) for _ in range(4)))
    assert sum(counts) == 20


async def test_without_the_setting_everything_is_kept(portal: Portal, carol: Browser) -> None:
    await add(portal, {"target": "old", "at": utcnow() - timedelta(days=4000)})
    async with portal.context.db.session() as db:
        await db.execute(insert(Mark).values(name=MARK, at=utcnow()))  # of an earlier setting
        await db.commit()
    assert await AuditKeeping(portal.context.db, portal.settings).retain(utcnow()) == 0
    async with portal.context.db.session() as db:
        with pytest.raises(DBAPIError):
            await db.execute(delete(AuditEvent))
    assert await found(carol, "query=old") == ["old"]


# --- refused logins -------------------------------------------------------------------------------


async def refused(portal: Portal) -> list[AuditEvent]:
    return await events(portal, AuditEvent.action == Action.LOGIN_FAILED.value)


async def test_a_flood_of_refused_logins_is_a_few_events(run_portal: RunPortal) -> None:
    async with run_portal(login_attempts=5) as portal, portal.browser() as browser:
        for _ in range(12):
            await browser.login("bob", "wrong")
        assert [event.actor for event in await refused(portal)] == [
            "bob"
        ] * refused_logins.OWN_EVENTS
        keeping = AuditKeeping(portal.context.db, portal.settings)
        await keeping.flush(utcnow())
        assert len(await refused(portal)) == refused_logins.OWN_EVENTS, "the window isn't over"
        await keeping.flush(utcnow() + timedelta(minutes=11))
        *_, together = await refused(portal)
        assert (together.actor, together.ip, together.detail["times"]) == ("bob", "127.0.0.1", 9)
        assert together.detail["since"] < together.detail["until"]
        await keeping.flush(utcnow() + timedelta(minutes=30))
        assert len(await refused(portal)) == refused_logins.OWN_EVENTS + 1


async def test_refusals_at_once_are_all_counted(run_portal: RunPortal) -> None:
    async with run_portal(login_attempts=2) as portal, portal.browser() as browser:
        await asyncio.gather(*(browser.login("bob", "wrong") for _ in range(20)))
        keeping = AuditKeeping(portal.context.db, portal.settings)
        await keeping.flush(utcnow() + timedelta(minutes=11))
        found = await refused(portal)
    assert len(found) == refused_logins.OWN_EVENTS + 1
    assert found[-1].detail["times"] == 20 - refused_logins.OWN_EVENTS


async def test_many_names_and_addresses_cost_a_bounded_number_of_rows(
    portal: Portal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refused_logins, "MAX_KEYS", 3)
    database = portal.context.db
    for number in range(8):
        await refused_logins.note(
            database,
            Action.LOGIN_FAILED,
            f"name{number}",
            ip=f"2001:db8:{number:x}::1",
            why="Wrong",
        )
    async with database.session() as db:
        assert await db.scalar(select(func.count()).select_from(Refusals)) == 4
    await refused_logins.flush(database, utcnow() + timedelta(hours=1), timedelta(minutes=10))
    *own, together = await refused(portal)
    assert len(own) == 3
    assert (together.actor, together.ip, together.detail["times"]) == (
        refused_logins.UNKNOWN_ACTOR,
        "",
        5,
    )


async def test_a_password_typed_as_a_name_is_not_kept(
    portal: Portal, capsys: pytest.CaptureFixture[str]
) -> None:
    """The name of an existing user is recorded, even without any login so far."""
    async with portal.browser() as browser:
        await browser.login("correct-horse-battery", "alice")
        await browser.login("alice", "wrong")
    assert [event.actor for event in await refused(portal)] == ["co…", "alice"]
    assert "correct-horse" not in capsys.readouterr().out
