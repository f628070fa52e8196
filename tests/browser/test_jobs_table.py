"""The table of jobs: sorting, columns, groups, saved views, reasons, and keys.

Selecting a range, the menu of a row, and requests: tests/more/browser/test_jobs_table.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import findings
from tests.browser.jobs_table import NAME, WHO, restored_jobs_table, row, submit
from tests.browser.scenes import Api
from tests.live import Live

MISSING_MODULE = "#!/bin/bash\npython3 -c 'import nothing_like_that'\n"


@pytest.fixture
def page(portal: Live, logged_in: Callable[[str], Page]) -> Iterator[Page]:
    with restored_jobs_table(portal, logged_in(WHO)) as page:
        yield page


def names(page: Page) -> Locator:
    return page.get_by_role("table").get_by_role("rowheader")


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
