"""`%tensorboard` in a notebook: the session's own TensorBoard, in the cell that requests it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from secrets import token_hex
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, FrameLocator, Page, expect

from tests.browser import jupyterlab as jl
from tests.browser.scenes import Api
from tests.images import needs
from tests.live import Live
from tests.polling import wait_until

LogIn = Callable[[Page, str], None]
SLOW_S = 120
STARTS_MS = SLOW_S * 1000
MIME = "application/vnd.data-scientist-portal.tensorboard+json"


@pytest.fixture(scope="module")
def session(portal: Live, chromium: Browser) -> Iterator[dict[str, Any]]:
    """One session of alice's for the whole file."""
    context = chromium.new_context(extra_http_headers={"Origin": portal.base_url})
    api = f"{portal.base_url}/api/v1"
    login = {"username": "alice", "password": portal.users["alice"]}
    assert context.request.post(f"{api}/login", data=login).ok
    asked = {
        "environment": "python3",
        "name": f"frames-{token_hex(2)}",
        "resources": {"memory_gb": 4},
    }
    made = context.request.post(f"{api}/sessions", data=asked)
    assert made.ok, made.text()
    session_id, calls = made.json()["id"], Api(context.request, portal.base_url)
    yield calls.until(f"/sessions/{session_id}", "running")
    calls.end(session_id)
    context.close()
    portal.exec_as("alice", ["/bin/sh", "-c", "rm -rf Untitled*.ipynb runs-framed"])


def frame_of(lab: Page) -> FrameLocator:
    return jl.front(lab).frame_locator("iframe[title=TensorBoard]").last


@pytest.mark.parametrize(
    "kernel", ["Python 3.11", pytest.param("Python 2.7", marks=needs("python2"))]
)
def test_a_cell_shows_the_sessions_tensorboard(
    portal: Live, context: BrowserContext, log_in: LogIn, session: dict[str, Any], kernel: str
) -> None:
    lab = context.new_page()
    log_in(lab, "alice")
    jl.open_launcher(lab, session["url"])
    jl.open_notebook(lab, kernel)
    folder = f"{portal.state}/home/alice/runs-framed"
    jl.run_cell(lab, "%load_ext tensorboard\n%tensorboard --logdir runs-framed")
    caption = jl.front(lab).locator(".portal-tensorboard p")
    expect(caption).to_have_text(f"TensorBoard of this session: {folder}")
    dashboard = frame_of(lab).locator("tb-webapp")
    expect(dashboard).to_be_visible(timeout=STARTS_MS)
    expect(dashboard).to_contain_text("No dashboards are active", timeout=STARTS_MS)

    jl.run_cell(lab, "%tensorboard --logdir /nowhere/\x07")
    expect(caption.last).to_contain_text("Enter the folder's full path")


def test_a_saved_notebook_holds_no_address(
    portal: Live, context: BrowserContext, log_in: LogIn, session: dict[str, Any]
) -> None:
    lab = context.new_page()
    log_in(lab, "alice")
    jl.open_launcher(lab, session["url"])
    jl.open_notebook(lab, "Python 3.11")
    jl.run_cell(lab, "%tensorboard")
    expect(frame_of(lab).locator("tb-webapp")).to_be_visible(timeout=STARTS_MS)
    jl.save_untitled(lab)
    find = "ls -t Untitled*.ipynb | head -1 | xargs cat"
    text = wait_until(
        lambda: portal.exec_as("alice", ["/bin/sh", "-c", find]),
        "the output in the saved notebook",
        SLOW_S,
        done=lambda text: MIME in text,
        pause_s=0.2,
    )
    (output,) = json.loads(text)["cells"][0]["outputs"]
    assert output["data"].keys() == {MIME, "text/plain"}
    assert output["data"][MIME].keys() == {"logdir", "asked"}
    assert "/tensorboard/" not in text
