"""The second factor at login: codes, recovery codes, and the number of attempts."""

import asyncio
from datetime import timedelta

import pytest

from portal.db import utcnow
from portal.models import HalfLogin, User
from portal.services.auth import second_factor
from portal.services.sessions.gate import load_gate_row
from portal.web.dependencies import identity
from tests.portal.api.test_routes import asked_paths
from tests.portal.authenticator import (
    HERE,
    Clock,
    change,
    cookie,
    enrol,
    give,
    logged_in,
    rows,
)
from tests.portal.conftest import Portal, RunPortal

pytestmark = pytest.mark.anyio


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(second_factor, "utcnow", clock)
    return clock


NO_BOARD = f"00000000-0000-4000-8000-000000000000/{'0' * 32}"
"""A TensorBoard's id and a ticket."""


class TestLogin:
    async def test_a_code_completes_it(self, portal: Portal, clock: Clock) -> None:
        async with logged_in(portal, "alice") as browser:
            app = await enrol(browser, clock)
        async with portal.browser() as browser:
            answer = await browser.login("alice")
            assert (answer.status, answer.body["second_factor"]) == (200, "required")
            assert "Max-Age=300" in answer.headers["Set-Cookie"]
            half = cookie(browser)
            assert (await browser.get("/api/v1/me")).status == 401
            done = await give(browser, app.next_code())
            assert (done.status, done.body["second_factor"]) == (200, "none")
            assert cookie(browser) not in {half, ""}
            assert (await browser.get("/api/v1/me")).status == 200
            assert await rows(portal, HalfLogin) == []

    async def test_half_a_login_opens_nothing(self, portal: Portal, clock: Clock) -> None:
        async with logged_in(portal, "carol") as browser:
            await enrol(browser, clock)
        async with portal.browser() as browser:
            assert (await browser.login("carol")).body["second_factor"] == "required"
            for method, path in [*asked_paths(identity), ("GET", HERE)]:
                answer = await browser.send(method, path, json={} if method != "GET" else None)
                assert (answer.status, answer.slug) == (401, "login-required"), (method, path)
            for path in ("/internal/whoami", "/user/carol/s1/lab", f"/tensorboard/{NO_BOARD}/"):
                assert (await browser.get(path)).status == 401, path
            found = await load_gate_row(portal.context.db, portal.settings, cookie(browser), "s1")
            assert found == (None, None)

    async def test_a_code_is_good_once(self, portal: Portal, clock: Clock) -> None:
        async with logged_in(portal, "alice") as browser:
            app = await enrol(browser, clock)
            await browser.login("alice")
            # it was used for the confirmation
            assert (await give(browser, app.code())).slug == "wrong-code"
            code = app.next_code()
            assert (await give(browser, code)).status == 200
            await browser.login("alice")
            assert (await give(browser, code)).slug == "wrong-code"

    async def test_the_same_code_twice_at_once_is_good_once(
        self, portal: Portal, clock: Clock
    ) -> None:
        async with logged_in(portal, "alice") as browser:
            app = await enrol(browser, clock)
        async with portal.browser() as one, portal.browser() as two:
            await one.login("alice")
            await two.login("alice")
            code = app.next_code()
            answers = await asyncio.gather(give(one, code), give(two, code))
            assert sorted(answer.status for answer in answers) == [200, 401]

    async def test_clocks_may_differ_by_one_step(self, portal: Portal, clock: Clock) -> None:
        async with logged_in(portal, "alice") as browser:
            app = await enrol(browser, clock)
            for skew in (-2, 2):
                clock.now_s += 300
                await browser.login("alice")
                assert (await give(browser, app.code(skew))).status == 401, skew
            for skew in (-1, 1):
                clock.now_s += 300
                await browser.login("alice")
                assert (await give(browser, app.code(skew))).status == 200, skew

    async def test_a_recovery_code_is_good_once(self, portal: Portal, clock: Clock) -> None:
        async with logged_in(portal, "alice") as browser:
            app = await enrol(browser, clock)
            for typed, status in ((app.recovery[0].upper(), 200), (app.recovery[0], 401)):
                await browser.login("alice")
                assert (await give(browser, typed)).status == status
            assert (await give(browser, app.recovery[1])).status == 200
            assert (await browser.get(HERE)).body["recovery_codes_left"] == 8
        async with logged_in(portal, "bob") as bob:
            bobs = await enrol(bob, clock)
            await bob.login("bob")
            assert (await give(bob, app.recovery[2])).status == 401
            assert (await give(bob, bobs.recovery[0])).status == 200

    async def test_it_is_over_after_five_minutes(self, portal: Portal, clock: Clock) -> None:
        async with logged_in(portal, "alice") as browser:
            app = await enrol(browser, clock)
            await browser.login("alice")
            await change(portal, HalfLogin, expires_at=utcnow() - timedelta(seconds=1))
            assert (await give(browser, app.next_code())).slug == "login-required"

    async def test_it_can_be_given_up(self, portal: Portal, clock: Clock) -> None:
        async with logged_in(portal, "alice") as browser:
            app = await enrol(browser, clock)
            await browser.login("alice")
            assert (await browser.post("/api/v1/logout")).status == 204
            assert await rows(portal, HalfLogin) == []
            assert (await give(browser, app.next_code())).status == 401

    async def test_a_disabled_user_gets_no_further(self, portal: Portal, clock: Clock) -> None:
        async with logged_in(portal, "alice") as browser:
            app = await enrol(browser, clock)
            await browser.login("alice")
            await change(portal, User, disabled_at=utcnow())
            assert (await give(browser, app.next_code())).status == 401

    async def test_codes_are_limited_and_the_password_forgives_none(
        self, run_portal: RunPortal, clock: Clock
    ) -> None:
        async with (
            run_portal(login_attempts=3) as portal,
            logged_in(portal, "alice") as browser,
        ):
            app = await enrol(browser, clock)
            for _ in range(3):
                assert (await browser.login("alice")).status == 200
                assert (await give(browser, "000000x")).status == 401
            await browser.login("alice")
            refused = await give(browser, app.next_code())
            assert (refused.status, refused.slug) == (429, "too-many-attempts")
            assert int(refused.headers["Retry-After"]) > 0

    async def test_attempts_at_once_count_as_those_one_by_one(
        self, run_portal: RunPortal, clock: Clock
    ) -> None:
        async with (
            run_portal(login_attempts=3) as portal,
            logged_in(portal, "alice") as browser,
        ):
            await enrol(browser, clock)
            await browser.login("alice")
            answers = await asyncio.gather(*(give(browser, "000000x") for _ in range(9)))
            assert sorted(answer.status for answer in answers) == [401] * 3 + [429] * 6
