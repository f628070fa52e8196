"""Two concurrent users in separate browsers: their data is separate, except for the free GPUs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from secrets import token_hex

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.chromium import window
from tests.browser.scenes import Api
from tests.live import Live

LogIn = Callable[[Page, str], None]
USERS = ("alice", "bob")
NAME = f"both-{token_hex(2)}"  # the same for both: names are per user


@pytest.fixture
def idle_cluster(portal: Live) -> Iterator[None]:
    """Ensure that nothing runs before and after."""
    for user in (*USERS, "carol"):
        portal.exec_as(user, ["scancel", f"--user={user}"])
    yield
    for user in USERS:
        portal.exec_as(user, ["scancel", f"--user={user}"])


@pytest.mark.usefixtures("idle_cluster")
def test_two_users_at_once(portal: Live, chromium: Browser, log_in: LogIn) -> None:
    with closing(window(chromium)) as hers, closing(window(chromium)) as his:
        alice, bob = hers.new_page(), his.new_page()
        for page, username in zip((alice, bob), USERS, strict=True):
            log_in(page, username)
            expect(in_use(page)).to_have_text("0")
        begin_together(portal, alice, bob)
        for page in (alice, bob):
            expect(mine(page)).to_have_count(1)
            expect(mine(page)).to_contain_text("Running")
            expect(in_use(page)).to_have_text("3")
        keep_apart(portal, alice, bob)
        stop(alice)
        expect(in_use(bob)).to_have_text("2")
        expect(mine(bob)).to_contain_text("Running")


def in_use(page: Page) -> Locator:
    """Return the number of GPUs in use."""
    return page.get_by_role("region", name="In use now").locator("strong").first


def mine(page: Page) -> Locator:
    return page.get_by_role("region", name="Your sessions").get_by_role("article")


def begin_together(portal: Live, alice: Page, bob: Page) -> None:
    """alice with one GPU and bob with two; neither waits for the other."""
    for page, gpus in ((alice, 1), (bob, 2)):
        body = f"environment=python3&partition=gpu&gpus={gpus}&cpus=1&memory_gb=1"
        page.goto(f"{portal.base_url}/start?{body}")
        page.get_by_label("Name (optional)").fill(NAME)
    for page in (alice, bob):
        page.get_by_role("button", name="Start session").click(no_wait_after=True)
    for page in (alice, bob):
        page.wait_for_url(re.compile("/lab"))
        page.goto(portal.base_url)


def keep_apart(portal: Live, alice: Page, bob: Page) -> None:
    """Each has a session with this name; he has no access to hers."""
    (hers,) = Api(alice.request, portal.base_url).ask("GET", "/sessions?state=live")["items"]
    (his,) = Api(bob.request, portal.base_url).ask("GET", "/sessions?state=live")["items"]
    assert (hers["name"], his["name"]) == (NAME, NAME)
    assert hers["id"] != his["id"]
    bob.goto(f"{portal.base_url}/sessions/{hers['id']}")
    expect(bob.get_by_role("heading", name="There is nothing at this address")).to_be_visible()
    bob.get_by_role("navigation", name="Main").get_by_role("link", name="Home").click()


def stop(page: Page) -> None:
    mine(page).get_by_role("button", name="Stop", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Stop it").click()
    expect(mine(page)).to_have_count(0)
