"""Limits on failed logins: by address, by account, and for known browsers."""

import asyncio

import pytest

from tests.portal.conftest import RunPortal
from tests.servers.slapd import PASSWORD, free_port

pytestmark = pytest.mark.anyio


class TestRateLimit:
    async def test_a_username_has_so_many_attempts(self, run_portal: RunPortal) -> None:
        async with run_portal(login_attempts=3) as portal, portal.browser() as browser:
            for _ in range(3):
                assert (await browser.login("bob", "wrong")).status == 401
            refused = await browser.login("bob")
            assert (refused.status, refused.slug) == (429, "too-many-attempts")
            assert 0 < int(refused.headers["Retry-After"]) <= 600
            assert (await browser.login("alice")).status == 200

    async def test_attempts_at_once_count_as_those_one_by_one(self, run_portal: RunPortal) -> None:
        async with run_portal(login_attempts=3) as portal, portal.browser() as browser:
            answers = await asyncio.gather(*(browser.login("bob", "wrong") for _ in range(12)))
        assert sorted(answer.status for answer in answers) == [401] * 3 + [429] * 9

    async def test_an_address_has_so_many_attempts(self, run_portal: RunPortal) -> None:
        async with run_portal(login_attempts_per_address=4) as portal, portal.browser() as browser:
            for name in ("u1", "u2", "u3", "u4"):
                assert (await browser.login(name, "wrong")).status == 401
            assert (await browser.login("alice")).status == 429
            elsewhere = {"X-Forwarded-For": "10.9.9.9, 192.0.2.7"}
            body = {"username": "alice", "password": PASSWORD}
            assert (await browser.post("/api/v1/login", body, headers=elsewhere)).status == 200

    async def test_success_forgets_the_failures(self, run_portal: RunPortal) -> None:
        async with run_portal(login_attempts=3) as portal, portal.browser() as browser:
            for _ in range(3):
                await browser.login("bob", "wrong")
                await browser.login("bob", "wrong")
                assert (await browser.login("bob")).status == 200

    async def test_directory_outage_does_not_count_as_failed_login(
        self, run_portal: RunPortal
    ) -> None:
        settings = {"ldap_urls": [f"ldap://127.0.0.1:{free_port()}"], "login_attempts": 2}
        async with run_portal(**settings) as portal, portal.browser() as browser:
            for _ in range(4):
                assert (await browser.login("alice")).status == 503


class TestKnownBrowser:
    """Failed logins from elsewhere do not lock users out of browsers they have logged in from."""

    async def test_stays_usable_during_an_attack(self, run_portal: RunPortal) -> None:
        async with run_portal(login_attempts_per_address=6) as portal, portal.browser() as known:
            await known.login("bob")
            await known.post("/api/v1/logout")
            async with portal.browser() as attacker:
                statuses = [(await attacker.login("bob", "wrong")).status for _ in range(6)]
                assert statuses == [401] * 3 + [429] * 3
                for name in ("u1", "u2", "u3", "u4"):
                    await attacker.login(name, "wrong")
                # its address has reached the limit
                assert (await attacker.login("alice")).status == 429
            assert (await known.login("bob", "wrong")).status == 401
            assert (await known.login("bob")).status == 200

    async def test_has_a_limit_too(self, run_portal: RunPortal) -> None:
        async with run_portal() as portal, portal.browser() as known:
            await known.login("bob")
            statuses = [(await known.login("bob", "wrong")).status for _ in range(5)]
            assert statuses == [401] * 3 + [429] * 2
            async with portal.browser() as other:
                assert (await other.login("bob")).status == 200

    async def test_is_known_for_its_own_users_alone(self, run_portal: RunPortal) -> None:
        async with run_portal(login_attempts=1) as portal, portal.browser() as browser:
            for name in ("alice", "bob"):
                await browser.login(name)
            async with portal.browser() as attacker:
                for name in ("alice", "bob", "carol"):
                    await attacker.login(name, "wrong")
            assert (await browser.login("carol")).status == 429
            assert (await browser.login("alice")).status == 200
            assert (await browser.login("bob")).status == 200

    async def test_known_browser_needs_an_authentic_cookie(self, run_portal: RunPortal) -> None:
        async with run_portal(login_attempts=1) as portal, portal.browser() as browser:
            answer = await browser.login("bob")
            (made,) = [
                cookie
                for cookie in answer.headers.getall("Set-Cookie")
                if cookie.startswith("portal_device=")
            ]
            assert {"httponly", "samesite=lax", "path=/"} <= {
                part.strip().lower() for part in made.split(";")[1:]
            }
            value = made.partition("=")[2].partition(";")[0]
            assert "bob" not in value
            body = {"username": "bob", "password": "wrong"}
            other_last = "A" if value[-1] != "A" else "B"
            async with portal.browser() as thief:
                for forged in (value[:-1] + other_last, "x", "~", value * 30):
                    headers = {"Cookie": f"portal_device={forged}"}
                    await thief.post("/api/v1/login", body, headers=headers)
                assert (await thief.login("bob")).status == 429
                headers = {"Cookie": f"portal_device={value}"}
                right = {**body, "password": PASSWORD}
                answer = await thief.post("/api/v1/login", right, headers=headers)
                assert answer.status == 200

    async def test_a_web_session_asks_its_user_whatever_happens_elsewhere(
        self, run_portal: RunPortal
    ) -> None:
        async with run_portal() as portal, portal.browser() as carol:
            await carol.login("carol")
            async with portal.browser() as attacker:
                for _ in range(4):
                    await attacker.login("carol", "wrong")
            wrong = await carol.post("/api/v1/reauth", {"password": "wrong"})
            assert wrong.status == 401
            assert (await carol.post("/api/v1/reauth", {"password": PASSWORD})).status == 204
            statuses = [
                (await carol.post("/api/v1/reauth", {"password": "wrong"})).status for _ in range(4)
            ]
            assert statuses == [401] * 3 + [429]

    async def test_an_ipv6_network_has_so_many_attempts(self, run_portal: RunPortal) -> None:
        async with run_portal(login_attempts_per_address=4) as portal, portal.browser() as browser:

            async def status(name: str, address: str) -> int:
                body = {"username": name, "password": "wrong"}
                headers = {"X-Forwarded-For": address}
                return (await browser.post("/api/v1/login", body, headers=headers)).status

            for number in range(4):
                assert await status(f"u{number}", f"2001:db8::{number}:1") == 401
            assert await status("u5", "2001:db8::ffff:ffff:ffff:ffff") == 429
            assert await status("u6", "2001:db8:0:1::1") == 401
