"""Logins of programs on devices: two codes, a decision in the browser, and one access token."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from portal import errors
from portal.db import utcnow
from portal.models import AccessToken, AuditEvent, DeviceLogin, User, WebSession
from portal.services.audit.audit import Action
from portal.services.auth import device_logins, tokens, web_sessions
from portal.services.auth.tokens import MAX_TOKENS, is_well_formed
from tests.portal.conftest import Answer, Browser, Portal, RunPortal

pytestmark = pytest.mark.anyio
START = "/api/v1/login/device"
SCOPES = ["files", "jobs", "read", "sessions"]


@pytest.fixture
async def alice(portal: Portal) -> AsyncIterator[Browser]:
    async with portal.browser() as browser:
        assert (await browser.login("alice")).status == 200
        await browser.confirm()
        yield browser


@pytest.fixture
async def device(portal: Portal) -> AsyncIterator[Browser]:
    """A client without a cookie."""
    async with portal.browser() as browser:
        yield browser


async def start(device: Browser, /, **changes: Any) -> Answer:
    return await device.post(START, {"device": "dsp on laptop", "scopes": SCOPES, **changes})


async def collect(device: Browser, started: Answer) -> Answer:
    body = {"device_code": started.body["device_code"]}
    return await device.post(f"{START}/token", body)


async def find(browser: Browser, code: str) -> Answer:
    return await browser.post(f"{START}/find", {"user_code": code})


async def approve(browser: Browser, code: str, days: int = 30) -> Answer:
    return await browser.post(f"{START}/approve", {"user_code": code, "expires_in_days": days})


async def deny(browser: Browser, code: str) -> Answer:
    return await browser.post(f"{START}/deny", {"user_code": code})


async def change(portal: Portal, table: Any, **values: Any) -> None:
    async with portal.context.db.session() as db:
        await db.execute(update(table).values(**values))
        await db.commit()


async def rows(portal: Portal, table: Any) -> list[Any]:
    async with portal.context.db.session() as db:
        return list((await db.scalars(select(table))).all())


class TestLogin:
    async def test_the_user_confirms_and_the_device_gets_a_token_once(
        self, portal: Portal, alice: Browser, device: Browser
    ) -> None:
        started = await start(device)
        assert started.status == 201
        assert started.headers["Cache-Control"] == "no-store"
        page = f"{portal.settings.public_url}/device"
        code = started.body["user_code"]
        assert started.body["verification_uri"] == page
        assert started.body["verification_uri_complete"] == f"{page}#{code}"
        assert (started.body["interval"], started.body["expires_in"]) == (5, 600)

        waiting = await collect(device, started)
        assert (waiting.status, waiting.slug) == (400, "authorization-pending")
        assert waiting.body["error"] == "authorization_pending"
        shown = (await find(alice, code.lower().replace("-", " "))).body
        assert (shown["device"], shown["ip"], shown["scopes"]) == (
            "dsp on laptop",
            "127.0.0.1",
            SCOPES,
        )
        assert (await approve(alice, code)).status == 204
        answer = await collect(device, started)
        assert answer.status == 200, answer
        assert answer.headers["Cache-Control"] == "no-store"
        token = answer.body["access_token"]
        assert is_well_formed(token)
        assert answer.body["username"] == "alice"
        assert answer.body["scope"].split() == SCOPES
        me = await device.get("/api/v1/me", headers={"Authorization": f"Bearer {token}"})
        assert me.body["username"] == "alice"

        assert (await collect(device, started)).slug == "expired-token"
        assert (await find(alice, code)).slug == "wrong-code"
        assert await rows(portal, DeviceLogin) == []

    async def test_the_user_learns_whether_the_device_is_in_the_browsers_network(
        self, portal: Portal, alice: Browser, device: Browser
    ) -> None:
        code = (await start(device)).body["user_code"]
        assert (await find(alice, code)).body["same_network"] is True
        await change(portal, DeviceLogin, ip="2001:db8::1", network="2001:db8::/64")
        assert (await find(alice, code)).body["same_network"] is False

    async def test_codes_are_stored_as_hashes(self, portal: Portal, device: Browser) -> None:
        started = (await start(device)).body
        stored = str([vars(row) for row in await rows(portal, DeviceLogin)])
        assert started["device_code"] not in stored
        assert started["user_code"] not in stored

    async def test_a_refused_device_gets_nothing(
        self, portal: Portal, alice: Browser, device: Browser
    ) -> None:
        started = await start(device)
        assert (await deny(alice, started.body["user_code"])).status == 204
        assert (await collect(device, started)).slug == "access-denied"
        assert (await collect(device, started)).slug == "expired-token"
        assert await rows(portal, AccessToken) == []

    async def test_only_one_of_many_requests_gets_the_token(
        self, alice: Browser, device: Browser
    ) -> None:
        started = await start(device)
        await approve(alice, started.body["user_code"])
        answers = await asyncio.gather(*(collect(device, started) for _ in range(4)))
        assert sorted(answer.status for answer in answers) == [200, 400, 400, 400]

    async def test_a_second_login_of_a_device_gets_a_name_of_its_own(
        self, alice: Browser, device: Browser
    ) -> None:
        names = []
        for _ in range(3):
            started = await start(device)
            await approve(alice, started.body["user_code"])
            names.append((await collect(device, started)).body["token_name"])
        assert names == ["dsp on laptop", "dsp on laptop (2)", "dsp on laptop (3)"]

    async def test_both_ends_are_recorded_without_codes(
        self, portal: Portal, alice: Browser, device: Browser
    ) -> None:
        started = await start(device)
        await approve(alice, started.body["user_code"])
        token = (await collect(device, started)).body["access_token"]
        events = {event.action: event for event in await rows(portal, AuditEvent)}
        approved, created = events[Action.DEVICE_APPROVED], events[Action.TOKEN_CREATED]
        assert (approved.actor, approved.target) == ("alice", "dsp on laptop")
        assert (created.actor, created.target) == ("alice", "dsp on laptop")
        recorded = str([vars(event) for event in events.values()])
        for secret in (token, started.body["device_code"], started.body["user_code"]):
            assert secret not in recorded


class TestRefusals:
    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"device": ""}, "device"),
            ({"device": " "}, "device"),
            ({"device": "a\x1b[2Jb"}, "device"),
            ({"device": "x" * 61}, "device"),
            ({"scopes": []}, "scopes"),
            ({"scopes": ["admin"]}, "scopes"),
            ({"scopes": ["root"]}, "scopes.0"),
        ],
    )
    async def test_a_request_that_cannot_be_names_its_field(
        self, device: Browser, changes: dict[str, Any], field: str
    ) -> None:
        answer = await start(device, **changes)
        assert (answer.status, answer.slug) == (422, "invalid-input")
        assert [error["field"] for error in answer.body["errors"]] == [field]

    async def test_confirming_needs_a_confirmed_password(
        self, portal: Portal, alice: Browser, device: Browser
    ) -> None:
        code = (await start(device)).body["user_code"]
        await change(portal, WebSession, password_at=utcnow() - timedelta(minutes=11))
        assert (await approve(alice, code)).slug == "password-required"
        assert (await deny(alice, code)).status == 204

    async def test_a_lifetime_beyond_the_setting_names_its_field(
        self, alice: Browser, device: Browser
    ) -> None:
        code = (await start(device)).body["user_code"]
        answer = await approve(alice, code, days=366)
        assert [error["field"] for error in answer.body["errors"]] == ["expires_in_days"]
        assert (await approve(alice, code, days=365)).status == 204

    async def test_a_decision_is_final(self, alice: Browser, device: Browser) -> None:
        code = (await start(device)).body["user_code"]
        assert (await deny(alice, code)).status == 204
        assert (await approve(alice, code)).slug == "wrong-code"

    async def test_both_codes_expire(self, portal: Portal, alice: Browser, device: Browser) -> None:
        started = await start(device)
        await change(portal, DeviceLogin, expires_at=utcnow() - timedelta(seconds=1))
        assert (await collect(device, started)).slug == "expired-token"
        assert (await approve(alice, started.body["user_code"])).slug == "wrong-code"

    async def test_wrong_codes_are_limited(self, alice: Browser, device: Browser) -> None:
        code = (await start(device)).body["user_code"]
        answers = [await find(alice, "XXXX-XXXX") for _ in range(4)]
        assert [answer.status for answer in answers] == [401, 401, 401, 429]
        assert answers[0].body["errors"][0]["field"] == "user_code"
        assert (await find(alice, code)).status == 429

    async def test_codes_of_ones_own_permit_no_further_wrong_ones(
        self, alice: Browser, device: Browser
    ) -> None:
        code = (await start(device)).body["user_code"]
        codes = ["XXXX-XXXX", "XXXX-XXXX", code, code, "XXXX-XXXX", code, "XXXX-XXXX"]
        answers = [(await find(alice, each)).status for each in codes]
        assert answers == [401, 401, 200, 200, 401, 429, 429]

    async def test_a_device_that_polls_too_often_is_slowed_down(
        self, portal: Portal, device: Browser
    ) -> None:
        started = await start(device)
        slugs = [(await collect(device, started)).slug for _ in range(2)]
        assert slugs == ["authorization-pending", "slow-down"]
        await change(portal, DeviceLogin, polled_at=utcnow() - device_logins.INTERVAL)
        assert (await collect(device, started)).slug == "authorization-pending"

    async def test_an_address_has_so_many_waiting_logins(self, run_portal: RunPortal) -> None:
        async with run_portal(login_attempts_per_address=2) as portal, portal.browser() as device:
            assert [(await start(device)).status for _ in range(3)] == [201, 201, 429]
            await change(portal, DeviceLogin, expires_at=utcnow() - timedelta(seconds=1))
            assert (await start(device)).status == 201

    async def test_a_user_disabled_after_confirming_gives_no_access(
        self, portal: Portal, alice: Browser, device: Browser
    ) -> None:
        started = await start(device)
        await approve(alice, started.body["user_code"])
        await change(portal, User, disabled_at=utcnow())
        assert (await collect(device, started)).slug == "access-denied"

    async def test_a_user_disabled_while_the_device_collects_gives_no_token(
        self, portal: Portal, alice: Browser, device: Browser, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        started = await start(device)
        await approve(alice, started.body["user_code"])
        load = device_logins._load

        async def load_and_disable(*args: Any) -> DeviceLogin | None:
            login = await load(*args)
            await change(portal, User, disabled_at=utcnow())
            return login

        monkeypatch.setattr(device_logins, "_load", load_and_disable)
        assert (await collect(device, started)).slug == "access-denied"
        assert await rows(portal, AccessToken) == []

    async def test_a_token_that_is_not_stored_leaves_its_login(
        self, portal: Portal, alice: Browser, device: Browser, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        started = await start(device)
        await approve(alice, started.body["user_code"])

        def fail(*_args: Any, **_kwargs: Any) -> None:
            raise errors.TooManyRequests("The database is busy.")

        with monkeypatch.context() as patch:
            patch.setattr(tokens, "record", fail)
            assert (await collect(device, started)).status == 429
        assert await rows(portal, AccessToken) == []
        assert (await collect(device, started)).status == 200

    async def test_disabling_deletes_confirmed_logins(
        self, portal: Portal, alice: Browser, device: Browser
    ) -> None:
        started = await start(device)
        await approve(alice, started.body["user_code"])
        (user,) = await rows(portal, User)
        async with portal.context.db.session() as db:
            await web_sessions.end_all(db, user.id)
            await db.commit()
        assert (await collect(device, started)).slug == "expired-token"

    async def test_a_user_with_too_many_tokens_learns_it_when_confirming(
        self, portal: Portal, alice: Browser, device: Browser
    ) -> None:
        (user,) = await rows(portal, User)
        end = utcnow() + timedelta(days=1)
        async with portal.context.db.session() as db:
            db.add_all(
                AccessToken(
                    user_id=user.id, name=str(n), token_hash=str(n), scopes=[], expires_at=end
                )
                for n in range(MAX_TOKENS)
            )
            await db.commit()
        code = (await start(device)).body["user_code"]
        assert (await approve(alice, code)).slug == "conflict"

    async def test_a_token_confirms_no_login(self, alice: Browser, device: Browser) -> None:
        first = await start(device)
        await approve(alice, first.body["user_code"])
        token = (await collect(device, first)).body["access_token"]
        code = (await start(device)).body["user_code"]
        headers = {"Authorization": f"Bearer {token}", "Origin": ""}
        body = {"user_code": code, "expires_in_days": 1}
        for path in ("find", "approve", "deny"):
            sent = body if path == "approve" else {"user_code": code}
            answer = await device.post(f"{START}/{path}", sent, headers=headers)
            assert (answer.status, answer.slug) == (403, "forbidden")
