"""The command palette stops and extends a session and cancels a job, by keys alone.

It also finds files: tests/more/browser/test_palette.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from secrets import token_hex

import pytest
from playwright.sync_api import Page, expect

from tests.browser import scenes
from tests.browser.palette import find, selected
from tests.browser.places import settle
from tests.browser.scenes import Api

OWNER = "bob"
MARK = token_hex(4)
SESSION = {"cpus": 1, "memory_gb": 0.5, "time_limit_minutes": 10}


@pytest.fixture
def page(logged_in: Callable[[str], Page]) -> Page:
    page = logged_in(OWNER)
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
