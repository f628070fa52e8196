"""A real Chromium without background traffic, driven by Playwright."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser import failed_pages, scenes
from tests.browser.chromium import PATIENCE_MS, launch, window
from tests.browser.scenes import Api
from tests.live import Live

expect.set_options(timeout=PATIENCE_MS)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Function,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the state of its pages to a failed test's report."""
    report = yield
    browser = item.funcargs.get("chromium")
    if report.failed and isinstance(browser, Browser):
        report.sections.append(("pages", failed_pages.describe(browser)))
    return report


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser per file: while it runs, Playwright's event loop blocks other event loops."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture
def context(chromium: Browser, request: pytest.FixtureRequest) -> Iterator[BrowserContext]:
    """A separate browser context for each test; a failed test's pages are saved as pictures."""
    context = window(chromium, viewport={"width": 1280, "height": 900})
    yield context
    pictures = os.environ.get("PORTAL_TEST_PICTURES")
    if pictures:
        for number, page in enumerate(context.pages):
            page.screenshot(path=Path(pictures) / f"{request.node.name}-{number}.png")
    context.close()


@pytest.fixture
def asked(context: BrowserContext) -> set[str]:
    """The hosts that this browser has asked, also by websockets."""
    hosts: set[str] = set()

    def add(url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme in {"http", "https", "ws", "wss"}:
            hosts.add(parts.hostname or "")

    context.on("response", lambda response: add(response.url))
    context.on("requestfailed", lambda request: add(request.url))
    context.on("page", lambda page: page.on("websocket", lambda websocket: add(websocket.url)))
    return hosts


@pytest.fixture
def log_in(portal: Live) -> Callable[[Page, str], None]:
    """Return a function that logs the page's browser in through the API and opens Home.

    The login page itself is used by the tests of the main job, the account and the forms.
    """

    def log_in(page: Page, username: str) -> None:
        scenes.log_in(page.context, portal.base_url, username, portal.users[username])
        page.goto(portal.base_url)
        page.get_by_role("heading", name="Your sessions").wait_for()

    return log_in


@pytest.fixture
def logged_in(
    context: BrowserContext, log_in: Callable[[Page, str], None]
) -> Callable[[str], Page]:
    """Return a function that logs a user in and opens a page in this test's browser."""

    def logged_in(username: str) -> Page:
        page = context.new_page()
        log_in(page, username)
        return page

    return logged_in


@pytest.fixture
def api(portal: Live, page: Page) -> Api:
    """The portal's API as the user logged in on the test's `page`."""
    return Api(page.context.request, portal.base_url)
