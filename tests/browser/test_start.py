"""The number of clicks to a session: three at most to the first cell, one with yesterday's setup.

Also the start page's search, favorites, links, saved setups and refusals. Restored input and lost
responses: tests/more/browser/test_start.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.browser import jupyterlab
from tests.browser.clicks import Counted
from tests.browser.scenes import Api
from tests.browser.start_page import LINK, WHO, clean_start, end
from tests.live import Live

NAME = "Mein <b>Übliches</b> 数据"


@pytest.fixture
def page(portal: Live, logged_in: Callable[[str], Page]) -> Iterator[Page]:
    with clean_start(portal, logged_in(WHO)) as page:
        yield page


def test_the_first_cell_and_the_same_again(
    portal: Live, context: BrowserContext, page: Page
) -> None:
    way = Counted()
    way.click(page.get_by_role("link", name="Start a session").first)
    expect(page.get_by_label(re.compile("^Open python3.ipynb"))).to_be_checked()
    way.click(page.get_by_role("button", name="Start session"))
    assert way.clicks <= 2
    lab = page  # JupyterLab opens by itself
    jupyterlab.front(lab).get_by_role("heading", name="a first model").wait_for()
    jupyterlab.idle(lab, "Python 3.11")
    for _ in range(3):  # the heading, the data, the training
        lab.keyboard.press("Shift+Enter")
    assert "step 0 loss" in jupyterlab.output(lab, "step 0 loss")
    api = Api(context.request, portal.base_url)
    (first,) = api.ask("GET", "/sessions")["items"]
    end(api, first)
    page.goto(portal.base_url)
    again = Counted()
    again.click(page.get_by_role("button", name="Start a session: Python 3.11").first)
    page.wait_for_url(re.compile("/lab"))
    assert again.clicks == 1
    (second,) = api.ask("GET", "/sessions?state=live")["items"]
    assert (second["environment"], second["resources"]) == (
        first["environment"], first["resources"],
    )  # fmt: skip


def find_and_favour(page: Page) -> None:
    """Environments are found by words; favorites come first, here and in another browser."""
    search = page.get_by_label("Search environments")
    search.fill("no such thing at all")
    expect(page.get_by_text("No environment matches all of these words.")).to_be_visible()
    search.fill("R ggplot2")
    star = page.get_by_role("button", name="R is a favorite")
    with page.expect_response(re.compile("/me/preferences$")):
        star.click()
    page.reload()
    expect(page.get_by_role("radio").first).to_have_accessible_name(re.compile("^R "))
    with page.expect_response(re.compile("/me/preferences$")):
        star.click()
    expect(star).to_have_attribute("aria-pressed", "false")


def key_by_key(page: Page, field: str, number: str, *, means: str) -> None:
    """An incomplete number, such as "1.", is neither corrected nor lost."""
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


def test_an_empty_number_is_found_before_the_portal_has_answered(portal: Live, page: Page) -> None:
    page.goto(portal.base_url + LINK)
    cpus = page.get_by_label("CPUs", exact=True)
    expect(cpus).to_have_value("1")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/api/v1/resources", hold)
    cpus.fill("")
    page.locator("main").get_by_role("button", name="Start session", exact=True).click()
    expect(cpus).to_be_focused()
    expect(page.get_by_text("Enter a number.")).to_be_visible()
    for route in held:
        route.continue_()


def test_a_refused_start_can_be_repeated_at_once(portal: Live, page: Page) -> None:
    """While a session is submitted, its own row uses its name: that must not block another try."""
    taken = "There is a session of this name."
    held: list[Route] = []

    def answer(route: Route) -> None:
        response = route.fetch()
        body = response.json()
        if len(held) == 1:
            body["errors"] = [{"field": "name", "message": taken}]
        route.fulfill(response=response, json=body)

    def hold(route: Route) -> None:
        held.append(route)

    page.clock.install()
    page.goto(f"{portal.base_url}{LINK}")
    page.get_by_label("Name (optional)").fill("repeated")
    page.clock.run_for(1000)
    start = page.get_by_role("button", name="Start session")
    page.route("**/api/v1/resources", answer)
    page.route("**/api/v1/sessions", hold)
    with page.expect_request("**/api/v1/sessions"):
        start.click()
    with page.expect_response("**/api/v1/resources"):
        page.clock.run_for(31_000)
    expect(page.get_by_text(taken)).to_have_count(0)
    page.unroute("**/api/v1/resources")
    problem = {"type": "urn:portal:slurm-unreachable", "title": "x", "detail": "Slurm is silent."}
    held[0].fulfill(status=503, json={**problem, "status": 503})
    expect(page.get_by_role("alert").filter(has_text="Slurm is silent.")).to_be_visible()
    with page.expect_request("**/api/v1/sessions"):
        start.click()
    held[1].fulfill(status=503, json={**problem, "status": 503})
