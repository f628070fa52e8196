"""Browser notifications, and the pages of a user's account on the way to them.

Notifications require a click, and each is shown once across all tabs.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser.chromium import DESKTOP, launch
from tests.live import Live

# replaces the browser's own, and records its notifications
RECORDER = """
window.received = [];
const Real = window.Notification;
window.Notification = class extends Real {
  constructor(title, options) { super(title, options); window.received.push(title); }
};
"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A Chromium that can show notifications."""
    with sync_playwright() as playwright:
        browser = launch(playwright, DESKTOP)
        yield browser
        browser.close()


@pytest.fixture
def alice(
    portal: Live, context: BrowserContext, log_in: Callable[[Page, str], None]
) -> Iterator[Page]:
    """alice in a browser that grants the permission; her preferences are restored afterwards."""
    context.grant_permissions(["notifications"], origin=portal.base_url)
    context.add_init_script(RECORDER)
    page = context.new_page()
    log_in(page, "alice")
    yield page
    events = dict.fromkeys(("session_started", "job_ended", "time_short"), True)
    url, origin = f"{portal.base_url}/api/v1/me/preferences", {"Origin": portal.base_url}
    body = {"notify": {"browser": events}}
    assert context.request.patch(url, data=body, headers=origin).ok


def submit(portal: Live, context: BrowserContext, name: str, script: str) -> None:
    answer = context.request.post(
        f"{portal.base_url}/api/v1/jobs",
        data={"name": name, "script": script},
        headers={"Origin": portal.base_url},
    )
    assert answer.status == 201, answer.text()


def hears(page: Page, title: str) -> list[str]:
    """Wait for this notification in a tab; return all its notifications about this test's
    objects."""
    page.wait_for_function("title => received.includes(title)", arg=title)
    return list_notifications(page)


def list_notifications(page: Page) -> list[str]:
    return [title for title in page.evaluate("received") if "notified-" in title]


def test_only_one_tab_notifies_about_ended_job(
    portal: Live, context: BrowserContext, alice: Page
) -> None:
    first, second = f"notified-{secrets.token_hex(3)}", f"notified-{secrets.token_hex(3)}"
    walk_through_the_account(portal, alice)
    turn_on(alice)
    other = context.new_page()
    other.goto(f"{portal.base_url}/account/appearance")
    expect(other.get_by_role("radio", name="Same as system")).to_be_checked()
    submit(portal, context, first, "exit 3")
    assert hears(alice, f"Job {first} has failed") == [f"Job {first} has failed"]
    assert list_notifications(other) == []
    alice.close()  # the other tab takes over, and knows the earlier notifications
    submit(portal, context, second, "true")
    assert hears(other, f"Job {second} has completed") == [f"Job {second} has completed"]
    turn_off(portal, other)


def walk_through_the_account(portal: Live, page: Page) -> None:
    """Visit the pages with the keyboard, from the profile on."""
    page.goto(f"{portal.base_url}/account")
    profile = page.get_by_role("region", name="Profile")
    expect(profile).to_contain_text("alice@")
    nav = page.get_by_role("navigation", name="Your account")
    nav.get_by_role("link", name="Password").press("Enter")
    expect(page.get_by_label("Current password")).to_be_visible()
    expect(nav.get_by_role("link", name="Password")).to_have_attribute("aria-current", "page")
    nav.get_by_role("link", name="Access tokens").press("Enter")
    expect(page.get_by_role("button", name="New token…")).to_be_visible()
    page.go_back()
    expect(page.get_by_label("Current password")).to_be_visible()
    page.goto(f"{portal.base_url}/account/nowhere")
    expect(page.get_by_role("heading", level=1)).not_to_have_text("Your account")


def turn_on(page: Page) -> None:
    """The permission is requested on a click; a missing mail server is reported."""
    page.goto(re.sub(r"/nowhere$", "/notifications", page.url))
    expect(page.get_by_role("region", name="By e-mail")).to_contain_text("sends no e-mails")
    expect(page.get_by_text("Off in this browser.")).to_be_visible()
    page.get_by_role("button", name="Turn on here").click()
    expect(page.get_by_role("button", name="Turn off here")).to_be_visible()
    assert "The portal notifies you here" in page.evaluate("received")


def turn_off(portal: Live, page: Page) -> None:
    """A choice is stored by the portal, the switch by the browser."""
    page.goto(f"{portal.base_url}/account/notifications")
    browser = page.get_by_role("region", name="In the browser")
    browser.get_by_label("A job has ended").click()  # uncheck() doesn't wait for the portal
    expect(page.get_by_text("Saved.")).to_be_attached()
    page.reload()
    expect(browser.get_by_label("A job has ended")).not_to_be_checked()
    expect(browser.get_by_label("A session is ready")).to_be_checked()
    browser.get_by_role("button", name="Turn off here").click()
    expect(browser.get_by_role("button", name="Turn on here")).to_be_visible()
