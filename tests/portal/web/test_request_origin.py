"""Foreign pages, forged addresses, and access to the internal routes."""

import pytest

from tests.portal.conftest import INTERNAL_SECRET, Browser, RunPortal
from tests.servers.slapd import PASSWORD

pytestmark = pytest.mark.anyio
LOGIN = {"username": "alice", "password": PASSWORD}


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:8001"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "", "Sec-Fetch-Site": "cross-site"},
    ],
)
async def test_a_foreign_page_cannot_log_anyone_in(
    browser: Browser, headers: dict[str, str]
) -> None:
    answer = await browser.post("/api/v1/login", LOGIN, headers=headers)
    assert (answer.status, answer.slug) == (403, "origin-refused")
    assert "Set-Cookie" not in answer.headers


async def test_a_foreign_page_cannot_log_anyone_out(browser: Browser) -> None:
    await browser.login("alice")
    for headers in ({"Origin": "http://evil.example"}, {"Origin": ""}):
        answer = await browser.post("/api/v1/logout", headers=headers)
        assert (answer.status, answer.slug) == (403, "origin-refused")
    assert (await browser.get("/api/v1/me")).status == 200


async def test_sec_fetch_site_alone_is_enough(browser: Browser) -> None:
    await browser.login("alice")
    headers = {"Origin": "", "Sec-Fetch-Site": "same-origin"}
    assert (await browser.post("/api/v1/logout", headers=headers)).status == 204


async def test_a_program_without_a_cookie_may_log_in(browser: Browser) -> None:
    answer = await browser.post("/api/v1/login", LOGIN, headers={"Origin": ""})
    assert answer.status == 200


async def test_a_second_address_of_the_portal_is_named_in_the_settings(
    run_portal: RunPortal,
) -> None:
    async with (
        run_portal(extra_origins=["http://localhost:8000"]) as portal,
        portal.browser() as browser,
    ):
        headers = {"Origin": "http://localhost:8000"}
        assert (await browser.post("/api/v1/login", LOGIN, headers=headers)).status == 200


async def test_a_forged_forwarding_header_opens_no_internal_route(browser: Browser) -> None:
    secret = {"Authorization": f"Bearer {INTERNAL_SECRET}"}
    known = await browser.get("/internal/users/alice", headers=secret)
    assert known.status == 404  # there is no login yet, but the route answered
    await browser.login("alice")
    assert (await browser.get("/internal/users/alice", headers=secret)).status == 200
    assert (await browser.get("/internal/users/alice")).status == 401
    wrong = {"Authorization": "Bearer " + "x" * 40}
    assert (await browser.get("/internal/users/alice", headers=wrong)).status == 401
    through_nginx = {**secret, "X-Forwarded-For": "127.0.0.1"}
    refused = await browser.get("/internal/users/alice", headers=through_nginx)
    assert (refused.status, refused.slug) == (404, "not-found")
