"""The places that open apps, in a real browser: Files, Home, and JupyterLab's launcher."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from cluster.config.paths import Paths
from tests.browser import jupyterlab as jl
from tests.browser.scenes import SMALL, Api
from tests.live import Live
from tests.polling import wait_until

LogIn = Callable[[Page, str], None]
NAME = f"places-{token_hex(2)}"
PROGRAM = (Path(__file__).parents[1] / "cluster/app_program.py").read_text("utf-8")
VIEWER = """\
title: Viewer
description: Shows a file.
command:
  - sh
  - -c
  - |
    if grep -q bad "$1"; then echo the reason is here; exit 5; fi
    exec python3 program.py "$PORT"
  - sh
  - "{file}"
input: file
extensions: [.viewer]
"""
SERVED = f"Served from /user/alice/{NAME}/app/viewer"


@pytest.fixture
def viewer(portal: Live, context: BrowserContext, log_in: LogIn) -> Iterator[Api]:
    """An app of the site's catalog, two files for it, and alice, who is logged in."""
    files = "echo good > good.viewer && echo bad > bad.viewer && echo text > plain.txt"
    script = (
        f"mkdir -p app-test && cd app-test && {files} && cat > program.py <<'END'\n{PROGRAM}\nEND"
    )
    portal.exec_as("alice", ["/bin/sh", "-c", f"cd ~ && {script}"])
    declared = Paths(portal.state).catalog / "apps" / "viewer.yaml"
    declared.parent.mkdir(exist_ok=True)
    declared.write_text(VIEWER)
    log_in(context.new_page(), "alice")
    api = Api(context.request, portal.base_url)

    def is_offered() -> bool:
        return "viewer" in [app["name"] for app in api.ask("GET", "/apps")["items"]]

    wait_until(is_offered, "the catalog is read")
    yield api
    declared.unlink()


@pytest.fixture
def session(viewer: Api) -> Iterator[Any]:
    wanted = {"environment": "python3", "name": NAME, "resources": {**SMALL, "memory_gb": 2}}
    made = viewer.ask("POST", "/sessions", wanted)
    yield viewer.until(f"/sessions/{made['id']}", "running")
    viewer.end(made["id"])


def show_file(portal: Live, page: Page, name: str) -> Locator:
    """Open the preview of a file; return its button."""
    page.goto(f"{portal.base_url}/files?path=app-test&show={name}")
    preview = page.get_by_role("region", name="Preview")
    expect(preview.get_by_role("link", name="Download")).to_be_visible()
    return preview.get_by_role("button", name="Open as app…")


def test_files_without_a_session_lead_to_its_start(
    portal: Live, context: BrowserContext, viewer: Api
) -> None:
    page = context.pages[0]
    expect(show_file(portal, page, "plain.txt")).to_have_count(0)
    show_file(portal, page, "good.viewer").click()
    dialog = page.get_by_role("dialog", name="Open good.viewer as an app")
    expect(dialog).to_contain_text("none of yours is running")
    dialog.get_by_role("link", name="Start a session").click()
    page.wait_for_url("**/start")


def test_apps_open_from_files_home_and_jupyterlab(
    portal: Live, context: BrowserContext, session: Any
) -> None:
    page = context.pages[0]
    a_failure_shows_the_output(portal, page)
    a_file_opens(portal, context, page)
    home_links_to_the_running_app(portal, context, page)
    jupyterlab_replaces_the_file(portal, context, page, session)


def a_failure_shows_the_output(portal: Live, page: Page) -> None:
    button = show_file(portal, page, "bad.viewer")
    button.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Open").click()
    expect(dialog.get_by_text("It ended with status 5.")).to_be_visible()
    expect(dialog.get_by_role("region", name="Last output")).to_contain_text("the reason is here")
    expect(dialog.get_by_role("button", name="Start again")).to_be_visible()
    dialog.get_by_role("button", name="Close").last.click()
    expect(button).to_be_focused()


def a_file_opens(portal: Live, context: BrowserContext, page: Page) -> None:
    show_file(portal, page, "good.viewer").click()
    with context.expect_page() as opening:
        page.get_by_role("dialog").get_by_role("button", name="Open").click()
    expect(opening.value.get_by_role("heading", name=SERVED)).to_be_visible()
    opening.value.close()
    expect(page.get_by_role("dialog")).to_be_hidden()


def home_links_to_the_running_app(portal: Live, context: BrowserContext, page: Page) -> None:
    page.goto(f"{portal.base_url}/")
    card = page.get_by_role("article", name=NAME)
    with context.expect_page() as opening:
        card.get_by_role("link", name="Open Viewer").click()
    expect(opening.value.get_by_role("heading", name=SERVED)).to_be_visible()
    opening.value.close()


def jupyterlab_replaces_the_file(
    portal: Live, context: BrowserContext, page: Page, session: Any
) -> None:
    """It asks before it stops the app, which runs with another file; a wrong path stops nothing."""
    jl.open_launcher(page, session["url"])
    card = page.locator(".jp-LauncherCard[data-category=Apps]").filter(has_text="Viewer")
    missing, bad = "Viewer: There is no such file", "Viewer: It ended with status 5"
    for name, shown in (("missing.viewer", missing), ("bad.viewer", bad)):
        card.click()
        page.get_by_role("dialog").get_by_role("textbox").fill(f"app-test/{name}")
        page.get_by_role("button", name="Open", exact=True).click()
        page.get_by_role("button", name="Stop and Open").click()
        expect(page.get_by_text(re.compile(shown))).to_be_visible()
    card.click()
    page.get_by_role("dialog").get_by_role("textbox").fill("app-test/good.viewer")
    with context.expect_page() as opening:
        page.get_by_role("button", name="Open", exact=True).click()
    expect(opening.value.get_by_role("heading", name=SERVED)).to_be_visible()
    opening.value.close()
    shown = Api(context.request, portal.base_url).ask("GET", f"/sessions/{session['id']}/apps")
    running = [app["file"] for app in shown["items"] if app["state"] == "running"]
    assert running == [running[0]]
    assert running[0].endswith("/app-test/good.viewer")
