"""One's own account, and what the browser tells: asked for by a click, told once in all tabs."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.live import Live

SLOW_MS = 120_000
# The browser's own, which also write down what they show.
RECORDER = """
window.told = [];
const Real = window.Notification;
window.Notification = class extends Real {
  constructor(title, options) { super(title, options); window.told.push(title); }
};
"""


@pytest.fixture
def alice(
    portal: Live, context: BrowserContext, log_in: Callable[[Page, str], None]
) -> Iterator[Page]:
    """alice in a browser that would give its permission; her choices are put back afterwards."""
    context.grant_permissions(["notifications"], origin=portal.base_url)
    context.add_init_script(RECORDER)
    page = context.new_page()
    log_in(page, "alice")
    yield page
    told = dict.fromkeys(("session_started", "job_ended", "time_short"), True)
    url, origin = f"{portal.base_url}/api/v1/me/preferences", {"Origin": portal.base_url}
    wish = {"notify": {"browser": told}}
    assert context.request.patch(url, data=wish, headers=origin).ok


def submit(portal: Live, context: BrowserContext, name: str, script: str) -> None:
    answer = context.request.post(
        f"{portal.base_url}/api/v1/jobs",
        data={"name": name, "script": script},
        headers={"Origin": portal.base_url},
    )
    assert answer.status == 201, answer.text()


def hears(page: Page, title: str) -> list[str]:
    """Wait until a tab tells this; all it has told about what this test made."""
    page.wait_for_function("title => told.includes(title)", arg=title, timeout=SLOW_MS)
    return told_by(page)


def told_by(page: Page) -> list[str]:
    return [title for title in page.evaluate("told") if "told-" in title]


def test_the_end_of_a_job_is_told_by_one_tab(
    portal: Live, context: BrowserContext, alice: Page
) -> None:
    first, second = f"told-{secrets.token_hex(3)}", f"told-{secrets.token_hex(3)}"
    walk_through_the_account(portal, alice)
    turn_on(alice)
    other = context.new_page()
    other.goto(f"{portal.base_url}/account/appearance")
    expect(other.get_by_role("radio", name="As the system")).to_be_checked()
    submit(portal, context, first, "exit 3")
    assert hears(alice, f"Job {first} has failed") == [f"Job {first} has failed"]
    assert told_by(other) == []
    alice.close()  # the other tab takes over, and knows what was told
    submit(portal, context, second, "true")
    assert hears(other, f"Job {second} is done") == [f"Job {second} is done"]
    turn_off(portal, other)


def walk_through_the_account(portal: Live, page: Page) -> None:
    """By the keyboard, from the profile on."""
    page.goto(f"{portal.base_url}/account")
    profile = page.get_by_role("region", name="Profile")
    expect(profile).to_contain_text("alice@")
    nav = page.get_by_role("navigation", name="Your account")
    nav.get_by_role("link", name="Password").press("Enter")
    expect(page.get_by_label("Present password")).to_be_visible()
    expect(nav.get_by_role("link", name="Password")).to_have_attribute("aria-current", "page")
    nav.get_by_role("link", name="Access tokens").press("Enter")
    expect(page.get_by_role("button", name="New token…")).to_be_visible()
    page.go_back()
    expect(page.get_by_label("Present password")).to_be_visible()
    page.goto(f"{portal.base_url}/account/nowhere")
    expect(page.get_by_role("heading", level=1)).not_to_have_text("Your account")


def turn_on(page: Page) -> None:
    """The permission is asked for by a click; where no e-mails are sent this is said."""
    page.goto(re.sub(r"/nowhere$", "/notifications", page.url))
    expect(page.get_by_role("region", name="By e-mail")).to_contain_text("sends no e-mails")
    expect(page.get_by_text("Off in this browser.")).to_be_visible()
    page.get_by_role("button", name="Turn on here").click()
    expect(page.get_by_role("button", name="Turn off here")).to_be_visible()
    assert "The portal tells you here" in page.evaluate("told")


def turn_off(portal: Live, page: Page) -> None:
    """A choice is kept by the portal, the switch by the browser."""
    page.goto(f"{portal.base_url}/account/notifications")
    browser = page.get_by_role("region", name="In the browser")
    browser.get_by_label("A job has ended").uncheck()
    expect(page.get_by_text("Saved.")).to_be_attached()
    page.reload()
    expect(browser.get_by_label("A job has ended")).not_to_be_checked()
    expect(browser.get_by_label("A session is ready")).to_be_checked()
    browser.get_by_role("button", name="Turn off here").click()
    expect(browser.get_by_role("button", name="Turn on here")).to_be_visible()
