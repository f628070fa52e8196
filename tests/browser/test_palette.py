"""The command palette stops, extends, cancels and finds files, by keys alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from secrets import token_hex

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser import scenes
from tests.browser.places import settle
from tests.browser.scenes import Api
from tests.live import Live

OWNER = "bob"
MARK = token_hex(4)
FOLDER = f"palette-{MARK}"
HOSTILE = f"{MARK} <img src=x onerror=window.caught=1>.txt"
SESSION = {"cpus": 1, "memory_gb": 0.5, "time_limit_minutes": 10}


@pytest.fixture
def api(portal: Live, context: BrowserContext) -> Iterator[Api]:
    """The API as the owner of some files, which are removed afterwards."""
    api = scenes.log_in(context, portal.base_url, OWNER, portal.users[OWNER])
    portal.exec_as(OWNER, ["mkdir", "-p", f"{FOLDER}/deep/er"])
    portal.exec_as(OWNER, ["touch", f"{FOLDER}/{HOSTILE}", f"{FOLDER}/deep/er/{MARK} model.pt"])
    portal.exec_as(OWNER, ["ln", "-s", "/", f"{FOLDER}/{MARK} link"])
    yield api
    portal.exec_as(OWNER, ["rm", "-rf", FOLDER])


@pytest.fixture
def page(portal: Live, context: BrowserContext, api: Api) -> Page:
    page = context.new_page()
    page.goto(portal.base_url)
    settle(page)
    return page


@pytest.fixture
def session(api: Api) -> Iterator[str]:
    """The name of a running session, which has ended afterwards."""
    name = f"palette-{MARK}"
    body = {"environment": "python3", "name": name, "resources": SESSION}
    path = f"/sessions/{api.ask('POST', '/sessions', body)['id']}"
    api.until(path, "running")
    yield name
    if api.ask("GET", path)["state"] != "ended":
        api.ask("DELETE", path)
    api.until(path, "ended")


@pytest.fixture
def job(api: Api) -> Iterator[str]:
    """The name of a job that waits or runs, which has ended afterwards."""
    name = f"sleeper-{MARK}"
    body = {"script": "#!/bin/bash\nsleep 600\n", "name": name, "resources": scenes.SMALL}
    path = f"/jobs/{api.ask('POST', '/jobs', body)['id']}"
    yield name
    if api.ask("GET", path)["state"] != "ended":
        api.ask("POST", f"{path}/cancel")
    api.until(path, "ended")


def find(page: Page, text: str) -> Locator:
    """Type into the palette, and return its options."""
    expect(page.get_by_role("dialog")).to_have_count(0)  # while one closes, keys are for it
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name=re.compile("^Find a page"))
    expect(field).to_be_focused()
    field.fill(text)
    return page.get_by_role("option")


def selected(page: Page) -> Locator:
    return page.get_by_role("option", selected=True)


def test_palette_stops_and_extends_a_session_and_cancels_a_job(
    page: Page, session: str, job: str
) -> None:
    find(page, f"more {session}")
    expect(selected(page)).to_contain_text(f"more for {session}")
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile(f"more for {session}\\.$"))).to_be_visible()

    find(page, f"stop {session}")
    expect(selected(page)).to_contain_text(f"Stop {session}…")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name=f"Stop session {session}?")
    expect(dialog.get_by_role("button", name="Keep it running")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    card = page.get_by_role("article", name=session)
    expect(card).to_contain_text("Running")

    find(page, f"stop {session}")
    expect(selected(page)).to_contain_text(f"Stop {session}…")
    page.keyboard.press("Enter")
    dialog.get_by_role("button", name="Stop it").press("Enter")
    expect(dialog).to_have_count(0)
    expect(card).not_to_contain_text("Running")

    find(page, f"cancel {job}")
    expect(selected(page)).to_contain_text(f"Cancel {job}…")
    page.keyboard.press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Cancel it").press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    find(page, f"run {job} again")
    expect(selected(page)).to_contain_text(f"Run {job} again")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/jobs/new\?from="))


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
