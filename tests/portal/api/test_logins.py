"""A user's own logins: listed, ended and limited; and operations that require the password
again."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from portal.db import utcnow
from portal.models import AuditEvent, WebSession
from portal.services.audit.audit import Action
from tests.portal.conftest import Browser, Portal, RunPortal
from tests.servers.slapd import PASSWORD

pytestmark = pytest.mark.anyio

HERE = "/api/v1/me/logins"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
TOKEN = {"name": "t", "scopes": ["read"], "expires_in_days": 1}


@pytest.fixture
async def alice(portal: Portal) -> AsyncIterator[Browser]:
    async with portal.browser() as browser:
        await log_in(browser, "alice", FIREFOX, "192.0.2.7")
        yield browser


async def log_in(browser: Browser, name: str, agent: str = "", address: str = "") -> None:
    headers = {"User-Agent": agent, "X-Forwarded-For": address}
    body = {"username": name, "password": PASSWORD}
    assert (await browser.post("/api/v1/login", body, headers=headers)).status == 200


async def listed(browser: Browser) -> list[dict[str, Any]]:
    answer = await browser.get(HERE)
    assert answer.status == 200, answer
    items: list[dict[str, Any]] = answer.body["items"]
    return items


async def ended(portal: Portal) -> list[dict[str, Any]]:
    async with portal.context.db.session() as db:
        query = select(AuditEvent).where(AuditEvent.action == Action.LOGIN_ENDED.value)
        return [event.detail for event in (await db.scalars(query)).all()]


async def test_logins_are_listed_with_where_and_by_what(portal: Portal, alice: Browser) -> None:
    async with portal.browser() as other, portal.browser() as bob:
        await log_in(other, "alice")
        await log_in(bob, "bob")
        items = await listed(alice)
    assert {item["current"] for item in items} == {True, False}
    mine = next(item for item in items if item["current"])
    assert (mine["address"], mine["browser"], mine["system"]) == ("192.0.2.7", "Firefox", "Linux")
    assert mine["began_at"] <= mine["last_used_at"] < mine["expires_at"]
    assert len(items) == 2, "no other user's"


async def test_one_is_ended_from_another_browser(portal: Portal, alice: Browser) -> None:
    async with portal.browser() as other:
        await log_in(other, "alice", address="192.0.2.8")
        (lost,) = [item for item in await listed(alice) if not item["current"]]
        assert (await alice.send("DELETE", f"{HERE}/{lost['id']}")).status == 204
        assert (await other.get("/api/v1/me")).status == 401
        assert (await alice.get("/api/v1/me")).status == 200
        assert (await alice.send("DELETE", f"{HERE}/{lost['id']}")).status == 404
    assert await ended(portal) == [{"address": "192.0.2.8"}]


async def test_login_of_another_user_cannot_be_ended(portal: Portal, alice: Browser) -> None:
    (mine,) = await listed(alice)
    async with portal.browser() as bob:
        await log_in(bob, "bob")
        assert (await bob.send("DELETE", f"{HERE}/{mine['id']}")).status == 404
        assert (await bob.send("DELETE", HERE)).status == 204
    assert (await alice.get("/api/v1/me")).status == 200


async def test_all_others_are_ended_at_once(portal: Portal, alice: Browser) -> None:
    async with portal.browser() as second, portal.browser() as third:
        for other in (second, third):
            await log_in(other, "alice")
        assert (await alice.send("DELETE", HERE)).status == 204
        assert [item["current"] for item in await listed(alice)] == [True]
        for other in (second, third):
            assert (await other.get("/api/v1/me")).status == 401
    assert await ended(portal) == [{"others": 2}]


async def test_what_is_over_is_not_listed(portal: Portal, alice: Browser) -> None:
    async with portal.browser() as other:
        await log_in(other, "alice")
        (old,) = [item for item in await listed(alice) if not item["current"]]
        async with portal.context.db.session() as db:
            idle = utcnow() - timedelta(hours=9)
            await db.execute(
                update(WebSession).where(WebSession.id == old["id"]).values(last_seen_at=idle)
            )
            await db.commit()
        assert [item["current"] for item in await listed(alice)] == [True]


async def test_only_so_many_are_kept(run_portal: RunPortal) -> None:
    async with run_portal(logins_per_user=3) as portal, portal.browser() as first:
        await log_in(first, "alice")
        for _ in range(5):
            async with portal.browser() as other:
                await log_in(other, "alice")
        async with portal.browser() as last, portal.browser() as bob:
            await log_in(bob, "bob")
            await log_in(last, "alice")
            assert len(await listed(last)) == 3
            assert len(await listed(bob)) == 1
        assert (await first.get("/api/v1/me")).status == 401


class TestPasswordAgain:
    """A page that is opened right after a login must not be able to act with it."""

    async def test_a_login_is_not_enough_for_what_lasts(self, portal: Portal) -> None:
        async with portal.browser() as carol:
            await log_in(carol, "carol")
            for method, path, body in (
                ("POST", "/api/v1/tokens", TOKEN),
                ("POST", "/api/v1/second-factor/enrolment", None),
                ("POST", "/api/v1/me/password", {"current_password": "x", "new_password": "y"}),
                ("PUT", "/api/v1/admin/users/carol/role", {"role": "admin"}),
                ("DELETE", "/api/v1/admin/users/carol/role", None),
                ("POST", "/api/v1/admin/users/carol/password", None),
                ("POST", "/api/v1/admin/users/carol/second-factor/reset", None),
            ):
                answer = await carol.send(method, path, json=body)
                assert (answer.status, answer.slug) == (403, "password-required"), path
            await carol.confirm()
            assert (await carol.post("/api/v1/tokens", TOKEN)).status == 201

    async def test_a_login_counts_for_a_minute_in_administration(self, portal: Portal) -> None:
        notice = {"title": "Maintenance"}
        path = "/api/v1/admin/announcements"
        async with portal.browser() as carol:
            await log_in(carol, "carol")
            assert (await carol.post(path, notice)).status == 201
            async with portal.context.db.session() as db:
                long_ago = utcnow() - timedelta(seconds=61)
                await db.execute(update(WebSession).values(password_at=long_ago))
                await db.commit()
            assert (await carol.post(path, notice)).slug == "password-required"
            assert (await carol.get("/api/v1/me")).body["password_fresh"] is False
            await carol.confirm()
            assert (await carol.get("/api/v1/me")).body["password_fresh"] is True
