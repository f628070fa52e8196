"""The table of jobs: sorting, columns, groups, saved views, keys, and the menu of a row."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, Request, expect

from tests.browser.axe import findings
from tests.browser.scenes import Api
from tests.live import Live

LogIn = Callable[[Page, str], None]
NAME = f"table{uuid4().hex[:6]}"  # unique to this run's jobs
SMALL = {"cpus": 1, "memory_gb": 0.25, "gpus": 0, "time_limit_minutes": 5}
FAST = "#!/bin/bash\ntrue\n"
MISSING_MODULE = "#!/bin/bash\npython3 -c 'import nothing_like_that'\n"
MANY = 20
MAX_REQUESTS = 8
MAX_LIMITS = 5
LISTED = re.compile(r"/api/v1/jobs(/count)?(\?|$)")
LIMITS = re.compile(r"/api/v1/me/limits$")


@pytest.fixture
def page(portal: Live, context: BrowserContext, log_in: LogIn) -> Iterator[Page]:
    """bob's page; his jobs end, and his preferences are as before, with the test."""
    page = context.new_page()
    log_in(page, "bob")
    yield page
    Api(page.request, portal.base_url).ask(
        "PATCH", "/me/preferences", {"jobs_table": {"columns": None, "views": []}}
    )
    portal.exec_as("bob", ["scancel", "--user=bob"])


def submit(api: Api, name: str, script: str = FAST) -> str:
    body = {"script": script, "name": name, "resources": SMALL}
    return str(api.ask("POST", "/jobs", body)["id"])


def names(page: Page) -> Locator:
    return page.get_by_role("table").get_by_role("rowheader")


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def test_sorted_grouped_and_kept_as_a_view(portal: Live, page: Page) -> None:
    api = Api(page.request, portal.base_url)
    first, second, third = (f"{NAME}-{end}" for end in ("b 1", "a 1", "b 2"))
    for name in (first, second, third):
        api.until(f"/jobs/{submit(api, name)}", "ended")
    page.goto(f"{portal.base_url}/jobs?q={NAME}")
    expect(names(page)).to_have_text([third, second, first])
    sort(page, first, second, third)
    choose_columns(page)
    save_a_view(portal, page)
    assert findings(page) == []
    delete_the_view(page)


def sort(page: Page, first: str, second: str, third: str) -> None:
    head = page.get_by_role("columnheader", name="Name")
    head.get_by_role("link").click()
    expect(names(page)).to_have_text([second, first, third])
    expect(head).to_have_attribute("aria-sort", "ascending")
    head.get_by_role("link").click()
    expect(names(page)).to_have_text([third, first, second])
    expect(head).to_have_attribute("aria-sort", "descending")
    page.get_by_label("Group by").select_option("By name without number")
    group = page.get_by_role("button", name=re.compile(f"^{NAME}-b.*2 jobs"))
    group.click()
    expect(names(page).filter(has_text=first)).to_have_count(0)
    expect(names(page).filter(has_text=second)).to_have_count(1)
    group.click()
    expect(names(page).filter(has_text=first)).to_have_count(1)


def test_a_long_reason_is_cut_off_and_shown_on_request(portal: Live, page: Page) -> None:
    """In the default columns, at 1280 pixels."""
    api = Api(page.request, portal.base_url)
    name = f"{NAME}-why"
    api.until(f"/jobs/{submit(api, name, MISSING_MODULE)}", "ended")
    page.goto(f"{portal.base_url}/jobs?q={name}")
    cell = row(page, name).get_by_role("cell").filter(has_text="It could not load")
    text = cell.get_by_text("It could not load")
    expect(text).to_be_visible()
    menu = row(page, name).get_by_role("button", name=f"Actions of {name}")
    assert text.evaluate("text => text.scrollWidth > text.clientWidth"), "it is cut off"
    assert right(text) <= menu.bounding_box()["x"], "the menu covers it"  # type: ignore[index]
    expect(cell).to_have_attribute("title", re.compile("^It could not load .*nothing_like_that"))
    row(page, name).get_by_role("link", name=name).focus()
    page.keyboard.press("Tab")  # the button before the reason
    assert not text.evaluate("text => text.scrollWidth > text.clientWidth"), "all of it is shown"
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("nothing_like_that")


def right(what: Locator) -> float:
    box = what.bounding_box()
    assert box is not None
    return box["x"] + box["width"]


def choose_columns(page: Page) -> None:
    """Columns are stored by the portal, so they are there after a reload."""
    page.get_by_role("button", name="Columns").click()
    dialog = page.get_by_role("dialog", name="Columns")
    expect(dialog).to_be_visible()
    assert findings(page) == []
    for label, checked in (("Exit code", True), ("Node", False)):
        dialog.get_by_label(label).click()  # check() doesn't wait for the preference to be stored
        expect(dialog.get_by_label(label)).to_be_checked(checked=checked)
    page.keyboard.press("Escape")
    heads = page.get_by_role("columnheader")
    expect(heads.filter(has_text="Exit code")).to_be_visible()
    page.reload()
    expect(heads.filter(has_text="Exit code")).to_be_visible()
    expect(heads.filter(has_text="Node")).to_have_count(0)


def save_a_view(portal: Live, page: Page) -> None:
    page.get_by_role("button", name="Views").click()
    expect(page.get_by_role("menuitem", name="Save as a view…")).to_be_visible()
    assert findings(page) == []
    page.get_by_role("menuitem", name="Save as a view…").click()
    page.get_by_role("dialog").get_by_label("Name").fill("By exit code")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="View: By exit code")).to_be_visible()
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("button", name="Default columns").click()
    page.keyboard.press("Escape")
    page.goto(f"{portal.base_url}/jobs")
    page.get_by_role("button", name="Views").click()
    page.get_by_role("menuitem", name="By exit code").click()
    page.wait_for_url(re.compile(f"q={NAME}"))
    assert "order=name_down" in page.url
    assert "group=name" in page.url
    expect(page.get_by_role("columnheader").filter(has_text="Exit code")).to_be_visible()


def delete_the_view(page: Page) -> None:
    """It can be undone."""
    page.get_by_role("button", name="View: By exit code").click()
    page.get_by_role("menuitem", name="Rename or delete views…").click()
    page.get_by_role("button", name="Delete By exit code").click()
    expect(page.get_by_role("button", name="Views")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="View: By exit code")).to_be_visible()


def test_moved_through_by_keys(portal: Live, page: Page) -> None:
    api = Api(page.request, portal.base_url)
    made = [f"{NAME}-key {number}" for number in range(4)]
    for name in made:
        submit(api, name)
    page.goto(f"{portal.base_url}/jobs?q={NAME}-key&order=name")
    expect(names(page)).to_have_text(made)
    for key in ("j", "j", "x"):
        page.keyboard.press(key)
    expect(row(page, made[1]).get_by_role("checkbox")).to_be_checked()
    page.keyboard.press("Shift+J")
    page.keyboard.press("Shift+ArrowDown")
    expect(page.get_by_role("checkbox", name=re.compile("^Select t"), checked=True)).to_have_count(
        3
    )
    page.keyboard.press("k")
    expect(page.get_by_role("link", name=made[2], exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=made[2], level=1).wait_for()
    page.go_back()
    without_single_keys(page, made)


def without_single_keys(page: Page, made: list[str]) -> None:
    """The setting of the shortcuts' dialog holds here, too, and the dialog lists these keys."""
    names(page).first.wait_for()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog.get_by_text("Jobs: open the row")).to_be_visible()
    shortcuts = dialog.get_by_label("Single-key shortcuts")
    shortcuts.click()
    expect(shortcuts).not_to_be_checked()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.keyboard.press("j")
    expect(page.get_by_role("link", name=made[0], exact=True)).not_to_be_focused()
    page.get_by_role("link", name=made[0], exact=True).focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("link", name=made[1], exact=True)).to_be_focused()
    page.keyboard.press("x")
    expect(row(page, made[1]).get_by_role("checkbox")).not_to_be_checked()


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
