"""The counted ways to a session: to the first cell in three clicks at most, yesterday's setup in
one; and the start page's search, favourites, links and saved setups."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser import jupyterlab
from tests.browser.scenes import Api
from tests.live import Live

LogIn = Callable[[Page, str], None]
WHO = "bob"
SLOW_MS = 120_000
NAME = "Mein <b>Übliches</b> 数据"
LINK = "/start?environment=python3&partition=cpu&gpus=0&cpus=1&memory_gb=1&time_limit_minutes=20"


class Counted:
    """A person's clicks, counted."""

    def __init__(self) -> None:
        self.clicks = 0

    def click(self, what: Locator) -> None:
        self.clicks += 1
        what.click()


@pytest.fixture
def page(portal: Live, context: BrowserContext, log_in: LogIn) -> Iterator[Page]:
    """bob's, who has neither sessions nor setups, nor the notebook; and hasn't afterwards."""
    page = context.new_page()
    log_in(page, WHO)
    api = Api(context.request, portal.base_url)
    clear(api, portal)
    page.goto(portal.base_url)
    yield page
    clear(api, portal)


def clear(api: Api, portal: Live) -> None:
    for session in api.ask("GET", "/sessions")["items"]:
        end(api, session)
        api.ask("DELETE", f"/sessions/{session['id']}")
    for setup in api.ask("GET", "/setups")["items"]:
        api.ask("DELETE", f"/setups/{setup['id']}")
    portal.exec_as(WHO, ["sh", "-c", 'rm -f "$HOME/python3.ipynb"'])


def end(api: Api, session: dict[str, str]) -> None:
    """Stop a session, unless it has ended, and wait for it."""
    if session["state"] != "ended":
        api.ask("DELETE", f"/sessions/{session['id']}")
        api.until(f"/sessions/{session['id']}", "ended")


def test_the_first_cell_and_the_same_again(
    portal: Live, context: BrowserContext, page: Page
) -> None:
    way = Counted()
    way.click(page.get_by_role("link", name="Start a session").first)
    expect(page.get_by_label(re.compile("^Open python3.ipynb"))).to_be_checked()
    way.click(page.get_by_role("button", name="Start session"))
    opening = page.get_by_role("link", name="Open JupyterLab")
    opening.wait_for(timeout=SLOW_MS)
    with context.expect_page() as opened:
        way.click(opening)
    assert way.clicks <= 3
    lab = opened.value
    jupyterlab.front(lab).get_by_role("heading", name="a first model").wait_for(timeout=SLOW_MS)
    jupyterlab.idle(lab, "Python 3.11")
    for _ in range(3):  # the heading, the data, the training
        lab.keyboard.press("Shift+Enter")
    assert "step 0 loss" in jupyterlab.output(lab, "step 0 loss")
    lab.close()

    api = Api(context.request, portal.base_url)
    (first,) = api.ask("GET", "/sessions")["items"]
    end(api, first)
    page.goto(portal.base_url)
    again = Counted()
    again.click(page.get_by_role("button", name="Start a session: Python 3.11").first)
    page.get_by_text("Running", exact=True).wait_for(timeout=SLOW_MS)
    assert again.clicks == 1
    (second,) = api.ask("GET", "/sessions?state=live")["items"]
    assert (second["environment"], second["resources"]) == (
        first["environment"], first["resources"],
    )  # fmt: skip


def find_and_favour(page: Page) -> None:
    """Environments are found by words; the favourites come first, here and in another browser."""
    search = page.get_by_label("Search environments")
    search.fill("no such thing at all")
    expect(page.get_by_text("No environment has all of these words.")).to_be_visible()
    search.fill("R ggplot2")
    star = page.get_by_role("button", name="R is a favourite")
    with page.expect_response(re.compile("/me/preferences$")):
        star.click()
    page.reload()
    expect(page.get_by_role("radio").first).to_have_accessible_name(re.compile("^R "))
    with page.expect_response(re.compile("/me/preferences$")):
        star.click()
    expect(star).to_have_attribute("aria-pressed", "false")


def key_by_key(page: Page, field: str, number: str, *, means: str) -> None:
    """What is on its way to a number, as "1." is, is neither corrected nor lost."""
    box = page.get_by_role("textbox", name=re.compile("^" + re.escape(field)))
    box.clear()
    box.press_sequentially(number)
    expect(box).to_have_value(number)
    expect(page.get_by_role("region", name="Your session", exact=True)).to_contain_text(means)


def test_a_setup_is_linked_to_saved_renamed_and_deleted(portal: Live, page: Page) -> None:
    page.goto(f"{portal.base_url}/start")
    find_and_favour(page)
    page.goto(f"{portal.base_url}{LINK}")
    expect(page.get_by_label("Memory (GB)")).to_have_value("1")
    summary = page.get_by_role("region", name="Your session", exact=True)
    expect(summary).to_contain_text("no GPU · 1 CPU · 1 GB · 20 min")
    page.get_by_role("button", name="Save this setup").click()
    page.get_by_label("Name of the setup").fill(NAME)
    page.get_by_role("button", name="Save", exact=True).click()
    setups = page.get_by_role("region", name="Your setups")
    expect(setups.get_by_text(NAME)).to_be_visible()
    expect(page).to_have_url(re.compile("/start"))  # saving starts nothing

    page.get_by_role("button", name="Save this setup").click()
    page.get_by_label("Name of the setup").fill(NAME)
    page.get_by_role("button", name="Save", exact=True).click()
    refusal = page.get_by_role("dialog").get_by_role("alert")
    expect(refusal).to_contain_text("already have a setup")
    page.get_by_role("button", name="Cancel").click()

    setups.get_by_role("button", name=f"Rename or delete {NAME}").click()
    page.get_by_role("menuitem", name="Rename…").click()
    page.get_by_label("Name of the setup").fill("Small")
    page.get_by_role("button", name="Rename", exact=True).click()
    page.get_by_label("CPUs", exact=True).fill("2")
    key_by_key(page, "Memory (GB)", "1.5", means="1.5 GB")
    key_by_key(page, "Hours", "0.25", means="15 min")
    setups.get_by_role("button", name=re.compile("^Small")).click()
    expect(page.get_by_label("CPUs", exact=True)).to_have_value("1")
    expect(page.get_by_label("Memory (GB)")).to_have_value("1")

    page.get_by_role("link", name="Home").first.click()
    expect(page.get_by_role("button", name=re.compile("^Start a session: Small"))).to_be_visible()
    page.get_by_role("link", name="Change before starting: Small").click()
    page.get_by_role("button", name="Rename or delete Small").click()
    page.get_by_role("menuitem", name="Delete…").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("region", name="Your setups")).to_have_count(0)
