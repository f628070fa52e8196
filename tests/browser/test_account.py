"""A user's account: language, clock, and logins.

Its pages and the browser's notifications: tests/more/browser/test_notifications.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Response, expect

from tests.browser import scenes
from tests.browser.chromium import window
from tests.live import Live

CHINESE = "简体中文"


@pytest.fixture
def no_choice(portal: Live, chromium: Browser) -> Iterator[None]:
    """bob has no language set, before and after: his pages use the browser's."""
    none = {"language": None}
    with closing(window(chromium)) as own:
        api = scenes.log_in(own, portal.base_url, "bob", portal.users["bob"])
        api.ask("PATCH", "/me/preferences", none)
        yield
        api.ask("PATCH", "/me/preferences", none)


@pytest.mark.usefixtures("no_choice")
def test_a_language_is_kept_for_every_login(
    portal: Live, context: BrowserContext, log_in: Callable[[Page, str], None], chromium: Browser
) -> None:
    page = context.new_page()
    log_in(page, "bob")
    choose(portal, page, CHINESE)
    expect_language(page, "zh-CN")
    expect(page.get_by_role("heading", level=1)).to_have_text("您的账户")
    page.reload()
    expect(page.get_by_role("radio", name=CHINESE)).to_be_checked()
    with closing(window(chromium)) as elsewhere:
        log_in_again(portal, elsewhere.new_page())
    choose(portal, page, "English")
    expect_language(page, "en")
    expect(page.get_by_role("heading", level=1)).to_have_text("Your account")


def choose(portal: Live, page: Page, language: str) -> None:
    page.goto(f"{portal.base_url}/account/appearance")
    page.get_by_role("radio", name=language).click()


def expect_language(page: Page, tag: str) -> None:
    """The page is reloaded in it; English is the reader's own variant, such as en-US."""
    expect(page.locator("html")).to_have_attribute("lang", re.compile(rf"^{tag}\b"))


def log_in_again(portal: Live, page: Page) -> None:
    """In a browser that is new for this user: English until the portal knows the user."""
    page.goto(f"{portal.base_url}/login")
    expect_language(page, "en")
    page.get_by_label("User name").fill("bob")
    page.get_by_label("Password", exact=True).fill(portal.users["bob"])
    page.keyboard.press("Enter")
    expect_language(page, "zh-CN")
    expect(page.get_by_role("link", name="作业").first).to_be_visible()


def test_language_can_be_chosen_before_login(portal: Live, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{portal.base_url}/login")
    page.get_by_label("User name").fill("bob")
    page.get_by_role("button", name=CHINESE).click()
    expect_language(page, "zh-CN")
    expect(page.get_by_label("用户名")).to_have_value("bob")
    expect(page.get_by_role("button", name="登录", exact=True)).to_be_visible()
    page.reload()
    expect_language(page, "zh-CN")
    page.get_by_role("button", name="English").click()
    expect_language(page, "en")
    expect(page.get_by_role("button", name="Log in", exact=True)).to_be_visible()


@pytest.mark.usefixtures("no_choice")
def test_a_choice_at_the_login_becomes_ones_own(portal: Live, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{portal.base_url}/login")
    page.get_by_role("button", name=CHINESE).click()
    page.get_by_label("用户名").fill("bob")
    page.get_by_label("密码", exact=True).fill(portal.users["bob"])
    with page.expect_response(is_kept) as events:
        page.keyboard.press("Enter")
    assert events.value.ok
    page.goto(f"{portal.base_url}/account/appearance")
    expect(page.get_by_role("radio", name=CHINESE)).to_be_checked()
    page.get_by_role("button", name=re.compile("的账户$")).click()
    page.get_by_role("menuitem", name="退出登录").click()
    page.wait_for_url(re.compile("/login$"))
    # nothing of it is left for the next user, and the portal has stored it for bob
    log_in_again(portal, page)
    page.goto(f"{portal.base_url}/account/appearance")
    as_browser = page.locator("input[name=language][value='']")
    as_browser.click()
    expect_language(page, "en")
    page.reload()
    expect(as_browser).to_be_checked()
    expect_language(page, "en")


def is_kept(answer: Response) -> bool:
    """Return whether this is the portal's response to a change of preferences."""
    return answer.request.method == "PATCH" and answer.url.endswith("/me/preferences")


@pytest.mark.usefixtures("no_choice")
def test_clock_is_that_of_the_region_unless_one_is_chosen(portal: Live, chromium: Browser) -> None:
    """English pages in an American browser, then in a German one."""
    with closing(window(chromium, locale="en-US")) as american:
        scenes.log_in(american, portal.base_url, "bob", portal.users["bob"])
        expect_clock(portal, american.new_page(), hours=12)
    with closing(window(chromium, locale="de-DE")) as german:
        scenes.log_in(german, portal.base_url, "bob", portal.users["bob"])
        page = german.new_page()
        expect_clock(portal, page, hours=24)
        page.goto(f"{portal.base_url}/account/appearance")
        choice = page.get_by_role("radio", name=re.compile("^12 hours"))
        with page.expect_event("load"):
            choice.click()
        expect(choice).to_be_checked()
        expect_clock(portal, page, hours=12)


def expect_clock(portal: Live, page: Page, *, hours: int) -> None:
    page.goto(f"{portal.base_url}/account")
    expect_language(page, "en")
    ending = r"\s[AP]M" if hours == 12 else ""
    login = page.get_by_role("region", name="Profile").locator("time")
    expect(login).to_have_text(re.compile(rf"\b\d\d?:\d\d{ending}$"))


def test_a_login_is_ended_from_another_browser(
    portal: Live, chromium: Browser, log_in: Callable[[Page, str], None]
) -> None:
    """bob sees both of his logins in one browser and ends the other, which must log in again."""
    with closing(window(chromium)) as here, closing(window(chromium)) as there:
        page, other = here.new_page(), there.new_page()
        log_in(other, "bob")
        log_in(page, "bob")
        page.goto(f"{portal.base_url}/account")
        page.get_by_role("navigation", name="Your account").get_by_role(
            "link", name="Logins"
        ).click()
        logins = page.get_by_role("region", name="Logins")
        expect(logins).to_contain_text("This one")
        ended = logins.get_by_role("button", name=re.compile("^End the login of Chrom"))
        count = ended.count()
        assert count >= 1
        ended.first.click()
        expect(ended).to_have_count(count - 1)
        other.goto(f"{portal.base_url}/jobs")
        expect(other.get_by_label("User name")).to_be_visible()
        page.reload()
        expect(logins).to_contain_text("This one")
