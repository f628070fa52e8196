"""An app of a session in a real browser: from its start on the session's page to its own page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.scenes import SMALL, Api
from tests.live import Live

LogIn = Callable[[Page, str], None]
NAME = f"apps-{token_hex(2)}"
PROGRAM = (Path(__file__).parents[1] / "cluster/app_program.py").read_text("utf-8")


@pytest.fixture
def session(portal: Live, context: BrowserContext, log_in: LogIn) -> Iterator[dict[str, Any]]:
    """A session of alice's, who is logged in in this browser."""
    script = "mkdir -p app-test && cat > app-test/program.py <<'END'\n" + PROGRAM + "\nEND"
    portal.exec_as("alice", ["/bin/sh", "-c", f"cd ~ && {script}"])
    log_in(context.new_page(), "alice")
    api = Api(context.request, portal.base_url)
    wanted = {"environment": "python3", "name": NAME, "resources": {**SMALL, "memory_gb": 2}}
    made = api.ask("POST", "/sessions", wanted)
    yield api.until(f"/sessions/{made['id']}", "running")
    api.end(made["id"])


def test_an_app_from_its_start_to_its_page(
    portal: Live, context: BrowserContext, session: dict[str, Any]
) -> None:
    page = context.pages[0]
    page.goto(f"{portal.base_url}/sessions/{session['id']}")
    page.get_by_text("Apps", exact=True).click()
    own = page.get_by_role("article", name="Your own web app")
    a_failure_shows_the_output(page, own)
    start(page, own, 'python3 app-test/program.py "$PORT"')
    expect(own.get_by_role("button", name="Stop")).to_be_focused()
    expect(own.get_by_text("Running")).to_be_visible()
    its_page(portal, context, own)
    a_running_app_is_restarted(page, own)
    confirm(page, own, "Stop", "Stop it")
    expect(own.get_by_text("Not started")).to_be_visible()
    expect(own.get_by_role("button", name="Start…")).to_be_focused()


def a_running_app_is_restarted(page: Page, own: Any) -> None:
    """It asks first: what isn't saved in the app is lost."""
    own.get_by_role("button", name="Restart").click()
    dialog = page.get_by_role("dialog", name="Restart the app “Your own web app”?")
    dialog.get_by_role("button", name="Keep it running").click()
    expect(dialog).to_be_hidden()
    expect(own.get_by_role("button", name="Restart")).to_be_focused()
    confirm(page, own, "Restart", "Restart it")
    expect(own.get_by_text("Running")).to_be_visible()


def confirm(page: Page, own: Any, action: str, answer: str) -> None:
    own.get_by_role("button", name=action).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name=answer).click()
    expect(dialog).to_be_hidden()


def start(page: Page, own: Any, command: str) -> None:
    own.get_by_role("button", name="Start…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Command").fill(command)
    dialog.get_by_label("Port").fill("8123")
    dialog.get_by_role("button", name="Start").click()
    expect(dialog).to_be_hidden()


def a_failure_shows_the_output(page: Page, own: Any) -> None:
    start(page, own, "echo the reason is here; exit 5")
    expect(own.get_by_text("It ended with status 5.")).to_be_visible()
    expect(own.get_by_role("region", name="Last output")).to_contain_text("the reason is here")


def its_page(portal: Live, context: BrowserContext, own: Any) -> None:
    """It opens at the notebooks' origin, through the hub's login, and can't call the portal."""
    with context.expect_page() as opening:
        own.get_by_role("link", name="Open").click()
    app = opening.value
    expect(
        app.get_by_role("heading", name=f"Served from /user/alice/{NAME}/app/own")
    ).to_be_visible()
    expect(app.locator("#socket")).to_have_text("over the websocket")
    assert not app.url.startswith(f"{portal.base_url}/")
    app.goto(f"{app.url}?portal={portal.base_url}")
    expect(app.locator("#portal")).to_have_text("TypeError")
    planted = [c for c in context.cookies() if c["value"] == "planted"]
    assert {cookie["path"] for cookie in planted} <= {f"/user/alice/{NAME}/app/own/"}
    app.close()
    assert Api(context.request, portal.base_url).ask("GET", "/me")["username"] == "alice"
