"""PostgreSQL rejects NUL in texts: requests with it are refused, not answered with 500."""

import re
from collections.abc import Iterator

import pytest

from portal.db import upgrade
from tests.portal import postgresql
from tests.portal.conftest import Browser, RunPortal
from tests.portal.test_routes import methods, path_of, routes

pytestmark = pytest.mark.anyio


@pytest.fixture
def database() -> Iterator[str]:
    with postgresql.running() as server:
        url = server.make("portal")
        upgrade(url)
        yield url


async def faults(browser: Browser) -> list[tuple[str, str]]:
    found = []
    for route in routes():
        at = re.sub(r"\{[^}]+\}", "a%00b", path_of(route))
        for method in sorted(methods(route) & {"GET", "DELETE"}):
            if at != path_of(route) and (await browser.send(method, at)).status == 500:
                found.append((method, at))
    return found


async def test_a_nul_in_a_request_is_refused(run_portal: RunPortal, database: str) -> None:
    async with run_portal(database_url=database) as portal, portal.browser() as browser:
        refused = await browser.login("car\0ol")
        assert (refused.status, refused.slug) == (422, "invalid-input")
        assert (await browser.login("carol")).status == 200
        assert await faults(browser) == []
