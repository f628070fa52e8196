"""VS Code in a real browser: started on the session's page, a file edited, a command run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.scenes import SMALL, Api
from tests.live import Live
from tests.polling import wait_until

LogIn = Callable[[Page, str], None]
NAME = f"vscode-{token_hex(2)}"
# the first file of the explorer, which renders only what is visible
FILE = f"0-vscode-{token_hex(2)}.py"


@pytest.fixture
def session(portal: Live, context: BrowserContext, log_in: LogIn) -> Iterator[dict[str, Any]]:
    """A session of alice's, who is logged in in this browser."""
    portal.exec_as(
        "alice",
        ["/bin/sh", "-c", f"cd ~ && echo 'print(6 * 7)' > {FILE}"],
    )
    log_in(context.new_page(), "alice")
    api = Api(context.request, portal.base_url)
    wanted = {"environment": "python3", "name": NAME, "resources": {**SMALL, "memory_gb": 3}}
    made = api.ask("POST", "/sessions", wanted)
    yield api.until(f"/sessions/{made['id']}", "running")
    api.end(made["id"])


def test_a_file_is_edited_and_run_without_other_hosts(
    portal: Live, context: BrowserContext, asked: set[str], session: dict[str, Any]
) -> None:
    page = context.pages[0]
    page.goto(f"{portal.base_url}/sessions/{session['id']}")
    page.get_by_text("Apps", exact=True).click()
    shown = page.get_by_role("article", name="VS Code")
    shown.get_by_role("button", name="Start").click()
    with context.expect_page() as opening:
        shown.get_by_role("link", name="Open").click()
    vscode = opening.value
    edit(portal, vscode)
    run(portal, vscode)
    assert asked == {urlsplit(portal.base_url).hostname}


def edit(portal: Live, vscode: Page) -> None:
    """Open a file from the explorer, change it, and save it."""
    vscode.get_by_role("treeitem", name=FILE).click()
    editor = vscode.locator(".monaco-editor[data-uri$='.py'] .view-lines")
    expect(editor).to_contain_text("6")
    editor.click()
    vscode.keyboard.press("Control+Home")
    vscode.keyboard.insert_text("from platform import python_version\n")
    vscode.keyboard.press("Control+s")
    read = ["/bin/sh", "-c", f"cat ~/{FILE}"]
    wait_until(
        lambda: portal.exec_as("alice", read), "the file is saved",
        done=lambda text: text.startswith("from platform"), pause_s=0.5,
    )  # fmt: skip


def run(portal: Live, vscode: Page) -> None:
    """Run the file in a terminal, which is in the session's environment."""
    vscode.keyboard.press("Control+Shift+`")
    # in a folder that isn't trusted yet, nothing runs
    vscode.get_by_role("dialog").get_by_role("button", name=re.compile("Trust")).click()
    terminal = vscode.locator(".xterm-helper-textarea")
    terminal.wait_for(state="attached")
    vscode.keyboard.type(f'echo "$PORTAL_ENVIRONMENT $(python3 {FILE})" > ~/{FILE}.out\n')
    read = ["/bin/sh", "-c", f"cat ~/{FILE}.out 2>/dev/null; true"]
    written = wait_until(
        lambda: portal.exec_as("alice", read), "the command has run", done=bool, pause_s=0.5
    )
    assert written.split() == ["python3", "42"]
