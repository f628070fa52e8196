"""The table of jobs: a selected range, the menu of a row, and requests after many submissions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from playwright.sync_api import Page, Request, expect

from tests.browser.axe import findings
from tests.browser.jobs_table import NAME, WHO, restored_jobs_table, row, submit
from tests.browser.scenes import Api
from tests.live import Live

MANY = 20
MAX_REQUESTS = 8
MAX_LIMITS = 5
LISTED = re.compile(r"/api/v1/jobs(/count)?(\?|$)")
LIMITS = re.compile(r"/api/v1/me/limits$")


@pytest.fixture
def page(portal: Live, logged_in: Callable[[str], Page]) -> Iterator[Page]:
    with restored_jobs_table(portal, logged_in(WHO)) as page:
        yield page


def test_a_range_is_selected_with_shift(portal: Live, page: Page) -> None:
    api = Api(page.request, portal.base_url)
    made = [f"{NAME}-range {number}" for number in range(3)]
    for name in made:
        submit(api, name)
    page.goto(f"{portal.base_url}/jobs?q={NAME}-range")
    row(page, made[2]).get_by_role("checkbox").click()
    row(page, made[0]).get_by_role("checkbox").click(modifiers=["Shift"])
    expect(page.get_by_text("3 selected").first).to_be_visible()


def test_menu_of_a_row(portal: Live, page: Page) -> None:
    """Its actions; those chosen while offline are reported, and work afterwards."""
    api = Api(page.request, portal.base_url)
    name = f"{NAME}-menu"
    job = submit(api, name, "#!/bin/bash\nsleep 600\n")
    api.until(f"/jobs/{job}", "running")
    page.goto(f"{portal.base_url}/jobs?q={name}")
    row(page, name).click(button="right")
    page.get_by_role("menuitem", name="Copy the folder's path").click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    button = row(page, name).get_by_role("button", name=f"Actions of {name}")
    button.click()
    expect(page.get_by_role("menuitem", name="Open the folder in Files")).to_be_visible()
    assert findings(page) == []
    page.keyboard.press("Escape")
    expect(button).to_be_focused()
    button.click()
    page.get_by_role("menuitem", name="Cancel…").click()
    dialog = page.get_by_role("dialog")
    page.context.set_offline(True)
    dialog.get_by_role("button", name="Cancel it").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Check your network connection")
    page.context.set_offline(False)
    dialog.get_by_role("button", name="Cancel it").click()
    expect(row(page, name)).to_contain_text("Cancelled")
    button.click()
    expect(page.get_by_role("menuitem", name="Run again")).to_be_visible()
    page.context.set_offline(True)
    page.get_by_role("menuitem", name="Remove").click()
    expect(page.get_by_role("alert")).to_contain_text("Check your network connection")
    page.context.set_offline(False)
    button.click()
    page.get_by_role("menuitem", name="Remove").click()
    expect(page.get_by_text("No matching jobs.")).to_be_visible()


@pytest.mark.parametrize("path", ["/", "/jobs"])
def test_many_submissions_cause_few_requests(portal: Live, page: Page, path: str) -> None:
    """Each of them changes the lists and numbers of all open pages."""
    api = Api(page.request, portal.base_url)
    page.goto(f"{portal.base_url}{path}")
    page.get_by_role("heading", name="Your jobs").wait_for()
    asked: list[str] = []

    def note(request: Request) -> None:
        if request.method == "GET":
            asked.append(request.url)

    page.on("request", note)
    series = f"{NAME}-many{uuid4().hex[:4]}"
    made = [submit(api, f"{series} {number}") for number in range(MANY)]
    last = f"{series} {MANY - 1}"
    expect(page.get_by_role("link", name=last, exact=True)).to_be_visible()
    assert sum(1 for url in asked if LISTED.search(url)) <= MAX_REQUESTS, asked
    assert sum(1 for url in asked if LIMITS.search(url)) <= MAX_LIMITS, asked
    api.ask("POST", "/jobs/cancel-many", {"ids": made})
