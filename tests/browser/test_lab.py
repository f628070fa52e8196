"""The portal inside JupyterLab: how long the session goes on, more time, and the ways out of it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from secrets import token_hex
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.browser import jupyterlab as jl
from tests.live import Live

LogIn = Callable[[Page, str], None]
SESSION = f"lab-{token_hex(2)}"
MINUTES = 14  # under a quarter of an hour: the warning is due at once
SLOW_S = 120


@dataclass(frozen=True)
class Started:
    """A session as the portal's API has it."""

    context: BrowserContext
    api: str
    id: str

    def now(self) -> Any:
        return self.context.request.get(f"{self.api}/sessions/{self.id}").json()

    def expires_at(self) -> datetime:
        return datetime.fromisoformat(self.now()["expires_at"])


@pytest.fixture
def session(portal: Live, chromium: Browser) -> Iterator[Started]:
    """A short session of alice's."""
    context = chromium.new_context(extra_http_headers={"Origin": portal.base_url})
    api = f"{portal.base_url}/api/v1"
    login = {"username": "alice", "password": portal.users["alice"]}
    assert context.request.post(f"{api}/login", data=login).ok
    wanted = {"time_limit_minutes": MINUTES, "memory_gb": 4}
    made = context.request.post(
        f"{api}/sessions", data={"environment": "python3", "name": SESSION, "resources": wanted}
    )
    assert made.ok, made.text()
    started = Started(context, api, made.json()["id"])
    deadline = time.monotonic() + SLOW_S
    while (now := started.now())["state"] != "running":
        assert now["state"] != "ended", now["reason"]
        assert time.monotonic() < deadline, now
        time.sleep(0.1)
    yield started
    for what in ("/tensorboard", ""):
        context.request.delete(f"{api}/sessions/{started.id}{what}")
    context.close()
    portal.exec_as("alice", ["/bin/sh", "-c", "rm -f Untitled*.ipynb"])


def left(lab: Page) -> Locator:
    """How long the session goes on, in the status bar."""
    return lab.get_by_role("button", name=re.compile(r"left$"))


def choose(lab: Page, item: str) -> None:
    """From the menu that the time left opens."""
    left(lab).click()
    lab.get_by_role("menuitem", name=item).click()


def test_the_session_is_looked_after_from_within_jupyterlab(
    portal: Live, context: BrowserContext, log_in: LogIn, session: Started
) -> None:
    lab = context.new_page()
    log_in(lab, "alice")
    now = session.now()
    jl.open_launcher(lab, f"{portal.base_url}{now['url']}")

    expect(left(lab)).to_have_attribute("data-urgency", "soon", timeout=jl.SLOW_MS)
    expect(lab.get_by_role("note")).to_contain_text(now["node"])
    warning = lab.get_by_role("alert").filter(has_text="Save your work")
    expect(warning).to_be_visible()
    warning.get_by_role("button", name="Extend by 1 Hour").click()
    expect(left(lab)).to_have_attribute("data-urgency", "calm", timeout=jl.SLOW_MS)
    expect(left(lab)).to_have_text(re.compile(r"^1 h 1\d min left$"))
    expect(warning).to_be_hidden()
    ends = datetime.fromisoformat(now["expires_at"]) + timedelta(hours=1)
    assert session.expires_at() == ends

    left(lab).focus()  # and now without a mouse
    lab.keyboard.press("Enter")
    menu = lab.get_by_role("menu")
    expect(menu.get_by_role("menuitem", name="Back to the Portal")).to_be_visible()
    lab.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(left(lab)).to_be_focused()

    with context.expect_page() as opened:
        choose(lab, "Open TensorBoard")
    opened.value.wait_for_url(re.compile(r"/tensorboard/[0-9a-f-]{36}/"), timeout=jl.SLOW_MS)
    opened.value.close()

    jl.open_notebook(lab, "Python 3.11")
    with context.expect_page() as opened:
        choose(lab, "Run This Notebook as a Job")
    form = opened.value
    form.get_by_role("heading", name="Run a notebook", level=1).wait_for(timeout=jl.SLOW_MS)
    path = re.compile(r"^~/Untitled\d*\.ipynb$")
    expect(form.get_by_label("Notebook", exact=True)).to_have_value(path)
    expect(form.get_by_role("combobox", name="Environment")).to_have_value("python3")

    page = context.new_page()
    page.goto(portal.base_url)
    page.get_by_role("button", name=f"More time for {SESSION}").click()
    page.get_by_role("menuitem", name="1 h more").click()
    card = page.get_by_role("article").filter(has_text=SESSION).first
    expect(card.get_by_text(re.compile(r"^2 h \d+ min left"))).to_be_visible(timeout=jl.SLOW_MS)
    assert session.expires_at() == ends + timedelta(hours=1)
