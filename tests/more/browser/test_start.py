"""The start page restores unsent input, and starts no second session after a lost response."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.browser.forms import RESTORED
from tests.browser.scenes import Api
from tests.browser.start_page import LINK, WHO, clean_start
from tests.live import Live


@pytest.fixture
def page(portal: Live, logged_in: Callable[[str], Page]) -> Iterator[Page]:
    with clean_start(portal, logged_in(WHO)) as page:
        yield page


def as_it_was_left(page: Page, *, cpus: str, name: str) -> None:
    expect(page.get_by_label("CPUs", exact=True)).to_have_value(cpus)
    expect(page.get_by_label("Name (optional)")).to_have_value(name)
    expect(page.get_by_text(RESTORED)).to_be_visible()


def test_nothing_that_was_filled_in_is_lost(portal: Live, page: Page) -> None:
    start, home = f"{portal.base_url}/start", page.get_by_role("link", name="Home").first
    page.goto(start)
    page.get_by_role("radio", name="Custom").check()
    page.get_by_label("CPUs", exact=True).fill("2")
    page.get_by_label("Name (optional)").fill("Half <b>")
    expect(page.get_by_text(RESTORED)).to_have_count(0)
    home.click()
    expect(page.get_by_role("heading", name="Home", level=1)).to_be_visible()
    page.go_back()
    as_it_was_left(page, cpus="2", name="Half <b>")
    page.reload()
    as_it_was_left(page, cpus="2", name="Half <b>")
    home.click()
    page.get_by_role("link", name="Start a session").first.click()
    as_it_was_left(page, cpus="2", name="Half <b>")

    page.goto(f"{portal.base_url}{LINK}")  # defines the form's values itself
    expect(page.get_by_label("CPUs", exact=True)).to_have_value("1")
    expect(page.get_by_label("Name (optional)")).to_have_value("")
    page.get_by_label("CPUs", exact=True).fill("2")
    home.click()
    expect(page.get_by_role("heading", name="Home", level=1)).to_be_visible()
    page.go_back()
    as_it_was_left(page, cpus="2", name="")
    home.click()
    page.goto(f"{portal.base_url}{LINK}")
    expect(page.get_by_label("CPUs", exact=True)).to_have_value("1")

    page.goto(start)
    as_it_was_left(page, cpus="2", name="Half <b>")
    page.get_by_role("button", name="Discard entries").click()
    page.get_by_role("button", name="Keep my entries").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    as_it_was_left(page, cpus="2", name="Half <b>")
    page.get_by_role("button", name="Discard entries").click()
    page.get_by_role("dialog").get_by_role("button", name="Discard entries").click()
    expect(page.get_by_label("Name (optional)")).to_have_value("")
    page.reload()
    expect(page.get_by_label("Name (optional)")).to_have_value("")
    expect(page.get_by_text(RESTORED)).to_have_count(0)


def test_a_lost_answer_starts_no_second_session(
    portal: Live, context: BrowserContext, page: Page
) -> None:
    asked: list[str] = []

    def lose_the_first(route: Route) -> None:
        """Let the portal receive the request, but drop its response."""
        if route.request.method == "POST":
            asked.append(route.request.headers["idempotency-key"])
            if len(asked) == 1:
                route.fetch()
                route.abort()
                return
        route.fallback()

    page.goto(f"{portal.base_url}{LINK}")
    page.get_by_label("CPUs", exact=True).wait_for()
    page.route("**/api/v1/sessions", lose_the_first)
    page.get_by_role("button", name="Start session").first.click()
    expect(page.get_by_role("alert")).to_contain_text("doesn't answer")
    page.get_by_role("button", name="Start session").first.click()
    page.wait_for_url(re.compile("/lab"))
    assert len(asked) == 2
    assert len(set(asked)) == 1
    sessions = Api(context.request, portal.base_url).ask("GET", "/sessions")["items"]
    assert len(sessions) == 1

    page.unroute("**/api/v1/sessions")
    page.go_back()
    expect(page.get_by_label("CPUs", exact=True)).to_have_value("1")
    expect(page.get_by_text(RESTORED)).to_have_count(0)
