"""The start page, for a user who has nothing yet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page

from tests.browser.scenes import Api
from tests.live import Live

WHO = "bob"
LINK = "/start?environment=python3&partition=cpu&gpus=0&cpus=1&memory_gb=1&time_limit_minutes=20"


@contextmanager
def clean_start(portal: Live, page: Page) -> Iterator[Page]:
    """Open Home in WHO's page; he has neither sessions nor setups nor the notebook, before and
    after."""
    api = Api(page.context.request, portal.base_url)
    clear(api, portal)
    page.goto(portal.base_url)
    try:
        yield page
    finally:
        clear(api, portal)


def clear(api: Api, portal: Live) -> None:
    for session in api.ask("GET", "/sessions")["items"]:
        end(api, session)
        api.ask("DELETE", f"/sessions/{session['id']}")
    for setup in api.ask("GET", "/setups")["items"]:
        api.ask("DELETE", f"/setups/{setup['id']}")
    portal.exec_as(WHO, ["sh", "-c", 'rm -f "$HOME/python3.ipynb"'])


def end(api: Api, session: dict[str, str]) -> None:
    """Stop a session, unless it has ended, and wait for its end."""
    if session["state"] != "ended":
        api.ask("DELETE", f"/sessions/{session['id']}?remove=false")
        api.until(f"/sessions/{session['id']}", "ended")
