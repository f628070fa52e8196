"""An app of a session in a real browser: from its start to its own page.

It is started on the session's page, or chosen on the page that starts the session.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from cluster.config.paths import Paths
from tests.browser.scenes import SMALL, Api
from tests.live import Live
from tests.polling import wait_until

LogIn = Callable[[Page, str], None]
NAME = f"apps-{token_hex(2)}"
CHOSEN = f"chosen-{token_hex(2)}"
START = "/start?environment=python3&partition=cpu&gpus=0&cpus=1&memory_gb=2&time_limit_minutes=20"
PROGRAM = (Path(__file__).parents[1] / "cluster/app_program.py").read_text("utf-8")
DASHBOARD = """\
title: Dashboard
description: Serves a page once its data is there.
command:
  - sh
  - -c
  - |
    cd app-test
    if [ ! -e dashboard.data ]; then echo the reason is here; exit 5; fi
    exec python3 program.py "$PORT"
environments: [python3]
"""


@pytest.fixture
def api(portal: Live, context: BrowserContext, log_in: LogIn) -> Api:
    """The API as alice, who has a program that serves HTTP, and is logged in in this browser."""
    script = "mkdir -p app-test && cat > app-test/program.py <<'END'\n" + PROGRAM + "\nEND"
    portal.exec_as("alice", ["/bin/sh", "-c", f"cd ~ && {script}"])
    log_in(context.new_page(), "alice")
    return Api(context.request, portal.base_url)


@pytest.fixture
def session(api: Api) -> Iterator[dict[str, Any]]:
    """A session of alice's."""
    wanted = {"environment": "python3", "name": NAME, "resources": {**SMALL, "memory_gb": 2}}
    made = api.ask("POST", "/sessions", wanted)
    yield api.until(f"/sessions/{made['id']}", "running")
    api.end(made["id"])


@pytest.fixture
def dashboard(portal: Live, api: Api) -> Iterator[None]:
    """An app of the site's catalog that needs no input; its data is missing.

    Sessions that open with it end with the test.
    """
    portal.exec_as("alice", ["/bin/sh", "-c", "rm -f ~/app-test/dashboard.data"])
    declared = Paths(portal.state).catalog / "apps" / "dashboard.yaml"
    declared.parent.mkdir(exist_ok=True)
    declared.write_text(DASHBOARD)

    def is_offered() -> bool:
        return "dashboard" in [app["name"] for app in api.ask("GET", "/apps")["items"]]

    wait_until(is_offered, "the catalog is read")
    yield
    declared.unlink()
    for made in api.ask("GET", "/sessions?state=live")["items"]:
        if made["name"] == CHOSEN:
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


def test_a_session_opens_with_the_chosen_app(
    portal: Live, context: BrowserContext, dashboard: None
) -> None:
    page = context.pages[0]
    a_session_is_started_with_the_app(portal, page)
    page.reload()  # keeps the choice
    a_failed_start_is_shown(page)
    another_tab_leads_to_jupyterlab(portal, context)
    page.reload()  # starts nothing
    a_failed_start_is_shown(page)
    portal.exec_as("alice", ["/bin/sh", "-c", "touch ~/app-test/dashboard.data"])
    page.get_by_role("button", name="Start Dashboard again").click()
    page.wait_for_url(re.compile(f"/user/alice/{CHOSEN}/app/dashboard/"))
    served = f"Served from /user/alice/{CHOSEN}/app/dashboard"
    expect(page.get_by_role("heading", name=served)).to_be_visible()
    page.go_back()  # the app's page took the place of the waiting one
    expect(page).to_have_url(re.compile(r"/start\?"))
    page.goto(portal.base_url)
    card = page.get_by_role("article", name=CHOSEN)
    expect(card.get_by_role("link", name="Open JupyterLab")).to_be_visible()
    expect(card.get_by_role("link", name="Open Dashboard")).to_be_visible()


def a_session_is_started_with_the_app(portal: Live, page: Page) -> None:
    page.goto(portal.base_url + START)
    choice = page.get_by_label("Open with", exact=True)
    expect(choice).to_have_value("")
    expect(choice.get_by_role("option", name="Your own web app")).to_have_count(0)
    choice.select_option(label="Dashboard")
    summary = page.get_by_role("region", name="Your session", exact=True)
    expect(summary).to_contain_text("Opens with Dashboard")
    page.reload()  # the form keeps its entries
    expect(choice).to_have_value("dashboard")
    page.get_by_label("Name (optional)").fill(CHOSEN)
    page.get_by_role("button", name="Start session").click()
    page.wait_for_url(f"**/start-again/{CHOSEN}")


def a_failed_start_is_shown(page: Page) -> None:
    """The session's JupyterLab stays available."""
    expect(page.get_by_text("It ended with status 5.")).to_be_visible()
    expect(page.get_by_role("region", name="Last output")).to_contain_text("the reason is here")
    expect(page.get_by_role("button", name="Start Dashboard again")).to_be_enabled()
    card = page.get_by_role("article", name=CHOSEN)
    expect(card.get_by_role("link", name="Open JupyterLab")).to_be_visible()


def another_tab_leads_to_jupyterlab(portal: Live, context: BrowserContext) -> None:
    other = context.new_page()
    other.goto(f"{portal.base_url}/start-again/{CHOSEN}")
    other.wait_for_url(re.compile(f"/user/alice/{CHOSEN}/lab"))
    other.close()
