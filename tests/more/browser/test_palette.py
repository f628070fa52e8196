"""The command palette finds files by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from secrets import token_hex

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.palette import find, selected
from tests.browser.places import settle
from tests.live import Live

OWNER = "bob"
MARK = token_hex(4)
FOLDER = f"palette-{MARK}"
HOSTILE = f"{MARK} <img src=x onerror=window.caught=1>.txt"


@pytest.fixture
def files(portal: Live) -> Iterator[None]:
    """Some files of the owner, which are removed afterwards."""
    portal.exec_as(OWNER, ["mkdir", "-p", f"{FOLDER}/deep/er"])
    portal.exec_as(OWNER, ["touch", f"{FOLDER}/{HOSTILE}", f"{FOLDER}/deep/er/{MARK} model.pt"])
    portal.exec_as(OWNER, ["ln", "-s", "/", f"{FOLDER}/{MARK} link"])
    yield
    portal.exec_as(OWNER, ["rm", "-rf", FOLDER])


@pytest.fixture
def page(logged_in: Callable[[str], Page], files: None) -> Page:
    page = logged_in(OWNER)
    settle(page)
    return page


def test_palette_finds_files_by_name(portal: Live, page: Page) -> None:
    options = find(page, MARK)
    expect(options.filter(has_text=HOSTILE)).to_be_visible()
    expect(options.filter(has_text=f"{FOLDER}/deep/er")).to_be_visible()
    expect(options.filter(has_text=f"{MARK} link")).to_be_visible()
    options = find_again(page, f"{MARK} onerror")
    expect(selected(page)).to_contain_text(HOSTILE)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/files"))
    expect(page.get_by_role("heading", name=HOSTILE)).to_be_visible()
    assert page.evaluate("window.caught") is None

    # below the folder that the page shows
    page.goto(f"{portal.base_url}/files?root=home&path={FOLDER}/deep")
    settle(page)
    options = find(page, MARK)
    expect(options.filter(has_text="model.pt")).to_be_visible()
    expect(options.filter(has_text=HOSTILE)).to_have_count(0)
    page.keyboard.press("Escape")

    page.goto(f"{portal.base_url}/files?root=home&path=gone-{MARK}")
    expect(page.get_by_text(re.compile("does not exist")).first).to_be_visible()
    find(page, MARK)
    note = page.get_by_text(re.compile("^Files can't be searched. .*does not exist"))
    expect(note).to_be_visible()


def find_again(page: Page, text: str) -> Locator:
    page.get_by_role("combobox", name=re.compile("^Find a page")).fill(text)
    return page.get_by_role("option")
