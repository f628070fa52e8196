"""A session of alice's, seen from JupyterLab and from the portal's API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from secrets import token_hex
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Locator, Page

from tests.browser.scenes import Api
from tests.live import Live

SESSION = f"lab-{token_hex(2)}"
MINUTES = 14  # less than 15 minutes: the warning is shown at once


@dataclass(frozen=True)
class Started:
    """A session with access to the portal's API."""

    context: BrowserContext
    api: str
    id: str

    def now(self) -> Any:
        return self.context.request.get(f"{self.api}/sessions/{self.id}").json()

    def expires_at(self) -> datetime:
        return datetime.fromisoformat(self.now()["expires_at"])


@contextmanager
def reading(context: BrowserContext, api: str, language: str | None) -> Iterator[None]:
    """Set the logged-in user's language, and reset it afterwards in any case."""
    chosen = f"{api}/me/preferences"
    assert context.request.patch(chosen, data={"language": language}).ok
    try:
        yield
    finally:
        context.request.patch(chosen, data={"language": None})


@contextmanager
def started(
    portal: Live, chromium: Browser, minutes: int, language: str | None = None
) -> Iterator[Started]:
    """A session of alice's, with this language."""
    context = chromium.new_context(extra_http_headers={"Origin": portal.base_url})
    api = f"{portal.base_url}/api/v1"
    login = {"username": "alice", "password": portal.users["alice"]}
    assert context.request.post(f"{api}/login", data=login).ok
    with closing(context), reading(context, api, language):
        wanted = {"time_limit_minutes": minutes, "memory_gb": 4}
        made = context.request.post(
            f"{api}/sessions", data={"environment": "python3", "name": SESSION, "resources": wanted}
        )
        assert made.ok, made.text()
        session = Started(context, api, made.json()["id"])
        try:
            Api(context.request, portal.base_url).until(f"/sessions/{session.id}", "running")
            yield session
        finally:
            Api(context.request, portal.base_url).end(session.id)
    portal.exec_as("alice", ["/bin/sh", "-c", "rm -f Untitled*.ipynb"])


def left(lab: Page) -> Locator:
    """Return the remaining time in the status bar."""
    return lab.get_by_role("button", name=re.compile(r"left$"))


def choose(lab: Page, item: str) -> None:
    """Choose an item from the menu of the remaining time."""
    left(lab).click()
    lab.get_by_role("menuitem", name=item).click()


def return_to_tab(lab: Page) -> None:
    """Make JupyterLab ask the portal at once, as it does when the user returns to its tab."""
    lab.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
