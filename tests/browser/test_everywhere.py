"""Properties of every page: accessibility, the command palette, and a login renewed in place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser import scenes
from tests.browser.axe import findings
from tests.browser.chromium import window
from tests.browser.every_place import visit_every_place
from tests.browser.places import settle
from tests.live import Live

CAROL = "carol"


@pytest.fixture
def calm(chromium: Browser) -> Iterator[BrowserContext]:
    """A browser with reduced motion: no check happens during a transition."""
    context = window(
        chromium,
        viewport={"width": 1280, "height": 900},
        reduced_motion="reduce",
        color_scheme="light",
    )
    yield context
    context.close()


def test_every_page_is_accessible(portal: Live, calm: BrowserContext) -> None:
    """Every page and the login. The dark scheme, phones and Chinese are checked in tests/more."""
    page = calm.new_page()
    page.goto(f"{portal.base_url}/login")
    settle(page)
    grave = [f"login: {text}" for text in findings(page)]
    with closing(visit_every_place(portal, page, CAROL)) as names:
        for name in names:
            grave += [f"{name}: {text}" for text in findings(page)]
    assert not grave, "\n\n".join(grave)


def test_keys_lead_anywhere_and_a_login_ends_in_place(portal: Live, calm: BrowserContext) -> None:
    scenes.log_in(calm, portal.base_url, CAROL, portal.users[CAROL])
    page = calm.new_page()
    page.goto(portal.base_url)
    settle(page)
    find_alice(page)
    use_keys(page)
    go_on_after_the_login_has_ended(portal, page)
    reload_after_another_login(portal, page)


def find_alice(page: Page) -> None:
    """The palette finds pages by their words and users by their names, and is accessible."""
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Find a page, a session, a job, a file or an action")
    expect(field).to_be_focused()
    field.fill("ali")
    expect(page.get_by_role("option", name=re.compile("^Alice")).first).to_be_visible()
    assert findings(page) == []
    field.fill("what is meaning")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Glossary")).to_be_focused()


def use_keys(page: Page) -> None:
    """Single keys open pages, but not while the user types."""
    page.get_by_label("Search terms").press("g")
    page.get_by_label("Search terms").press("j")
    expect(page.get_by_label("Search terms")).to_have_value("gj")
    page.get_by_role("heading", name="Glossary").focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    assert findings(page) == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("f")
    page.wait_for_url(re.compile("/files"))


def go_on_after_the_login_has_ended(portal: Live, page: Page) -> None:
    """The input is still there afterwards, and is saved once."""
    page.goto(f"{portal.base_url}/admin/new/user")
    form = page.get_by_role("form", name="New user")
    form.get_by_label("Given name").fill("<b>Zoë</b>")
    form.get_by_label("Surname").fill("Typed before")
    form.get_by_label("User name").fill("alice")
    page.context.clear_cookies()
    form.get_by_role("button", name="Create user").click()
    dialog = page.get_by_role("dialog", name="Please log in again")
    password = dialog.get_by_label("Password", exact=True)
    expect(password).to_be_focused()
    assert findings(page) == []
    page.keyboard.press("Escape")
    password.fill("not the password")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("Wrong username or password")
    password.fill(portal.users[CAROL])
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    # the original request, which met the ended login, has been answered
    expect(form).to_contain_text(re.compile("taken|already|exists"))
    expect(form.get_by_label("Given name")).to_have_value("<b>Zoë</b>")


def reload_after_another_login(portal: Live, page: Page) -> None:
    """Another user's login in another tab replaces this one, with other sessions and jobs."""
    page.goto(portal.base_url)
    expect(page.get_by_role("button", name=re.compile("^Account of Carol"))).to_be_visible()
    other = page.context.new_page()
    other.goto(f"{portal.base_url}/login")
    other.get_by_label("User name").fill("alice")
    other.get_by_label("Password", exact=True).fill(portal.users["alice"])
    other.keyboard.press("Enter")
    for tab in (other, page):
        expect(tab.get_by_role("button", name=re.compile("^Account of Alice"))).to_be_visible()
