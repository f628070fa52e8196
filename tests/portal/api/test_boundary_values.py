"""Boundary values in requests: times, texts, and numbers as text."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.portal.conftest import Browser, RunPortal
from tests.servers.slapd import PASSWORD

pytestmark = pytest.mark.anyio

TIMES = (
    "0001-01-01T00:00:00+14:00",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999-14:00",
    "9999-12-31T23:59:59.999999Z",
    "2026-01-31T08:00:00",  # no time zone
    "0.5",
    "1700000000",
    "2026-13-01T00:00:00Z",
)
QUERIES = (
    ("jobs", "since"),
    ("jobs", "until"),
    ("jobs", "cursor"),
    ("jobs/count", "since"),
    ("jobs/count", "until"),
    ("sessions", "cursor"),
    ("admin/sessions", "cursor"),
    ("admin/announcements", "cursor"),
    ("admin/audit", "from"),
    ("admin/audit", "to"),
    ("admin/audit/export", "from"),
    ("admin/audit/export", "to"),
    ("tensorboards", "cursor"),
)
API = "/api/v1"


async def carol(browser: Browser) -> Browser:
    """An administrator, with a confirmed password."""
    assert (await browser.login("carol")).status == 200
    assert (await browser.post(f"{API}/reauth", {"password": PASSWORD})).status < 300
    return browser


def names_field(answer: Any, field: str) -> bool:
    return [error["field"] for error in answer.body["errors"]] == [field]


async def test_a_time_out_of_range_is_refused_by_its_field(run_portal: RunPortal) -> None:
    async with run_portal() as portal, portal.browser() as browser:
        await carol(browser)
        wrong = []
        for path, field in QUERIES:
            for time in TIMES:
                answer = await browser.send("GET", f"{API}/{path}?{field}={quote(time)}")
                if answer.status != 422 or not names_field(answer, field):
                    wrong.append((path, field, time, answer.status, answer.body))
        assert wrong == []


@pytest.mark.parametrize("time", TIMES)
async def test_a_time_in_a_body_is_refused_by_its_field(run_portal: RunPortal, time: str) -> None:
    async with run_portal() as portal, portal.browser() as browser:
        await carol(browser)
        for way in ("cancel-many", "remove-many"):
            answer = await browser.send("POST", f"{API}/jobs/{way}", {"matching": {"until": time}})
            assert (answer.status, names_field(answer, "matching.until")) == (422, True)
        for field in ("starts_at", "ends_at"):
            announced = {"title": "x", field: time}
            answer = await browser.send("POST", f"{API}/admin/announcements", announced)
            assert (answer.status, names_field(answer, field)) == (422, True)


async def test_times_at_the_edge_that_are_taken(run_portal: RunPortal) -> None:
    async with run_portal() as portal, portal.browser() as browser:
        await carol(browser)
        for time in ("1970-01-01T00:00:00Z", "9999-12-30T23:59:59.999999Z"):
            for path, field in QUERIES:
                if field != "cursor":
                    answer = await browser.send("GET", f"{API}/{path}?{field}={time}")
                    assert answer.status == 200, (path, field, time, answer.body)


async def test_hidden_characters_are_refused(run_portal: RunPortal) -> None:
    async with run_portal() as portal, portal.browser() as browser:
        await carol(browser)
        for hidden in ("\0", "\x18", "\x1b[1m", "\u202e", "\u2066", "\u2028"):
            text = f"a{hidden}b"
            for method, path, body, field in (
                ("POST", "admin/announcements", {"title": text}, "title"),
                ("POST", "admin/announcements", {"title": "x", "text": text}, "text"),
                (
                    "PATCH",
                    "me/preferences",
                    {"favourite_environments": [text]},
                    "favourite_environments.0",
                ),
                (
                    "POST",
                    "setups",
                    {"name": "x", "environment": "python3", "resources": {"partition": text}},
                    "resources.partition",
                ),
            ):
                answer = await browser.send(method, f"{API}/{path}", body)
                assert (answer.status, names_field(answer, field)) == (422, True), (path, text)


async def test_text_of_several_lines_is_announced(run_portal: RunPortal) -> None:
    async with run_portal() as portal, portal.browser() as browser:
        await carol(browser)
        announced = {"title": "维护　مرحبا", "text": "one\n\ttwo"}
        answer = await browser.send("POST", f"{API}/admin/announcements", announced)
        assert (answer.status, answer.body["text"]) == (201, announced["text"])


async def test_numbers_and_switches_are_no_texts(run_portal: RunPortal) -> None:
    async with run_portal() as portal, portal.browser() as browser:
        await carol(browser)
        for method, path, body, field in (
            (
                "PATCH",
                "me/preferences",
                {"notify": {"email": {"time_short": "0"}}},
                "notify.email.time_short",
            ),
            (
                "PATCH",
                "me/preferences",
                {"notify": {"email": {"time_short": 0}}},
                "notify.email.time_short",
            ),
            (
                "POST",
                "tokens",
                {"name": "x", "scopes": ["read"], "expires_in_days": "1"},
                "expires_in_days",
            ),
        ):
            answer = await browser.send(method, f"{API}/{path}", body)
            assert (answer.status, names_field(answer, field)) == (422, True), (path, answer.body)
