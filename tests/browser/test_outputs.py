"""Outputs of cells that run while no browser is connected.

Another browser or tab is connected: tests/more/browser/test_outputs.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import jupyterlab as jl
from tests.browser.notebooks import KERNEL, Session, outputs, prompt, running_session
from tests.browser.waiting_cells import (
    SHORT,
    end_the_cell,
    expect_complete,
    run_long,
    wait_until_saved,
    waiting_notebook,
)
from tests.live import Live
from tests.polling import wait_until


@pytest.fixture(scope="module")
def session(portal: Live, chromium: Browser) -> Iterator[Session]:
    """One session for the whole file."""
    with running_session(portal, chromium) as session:
        yield session


@pytest.fixture
def notebook(portal: Live) -> Iterator[str]:
    with waiting_notebook(portal) as name:
        yield name


def test_notebook_is_complete_though_no_browser_was_open(session: Session, notebook: str) -> None:
    run_long(session, notebook)
    end_the_cell(session.portal)
    wait_until_saved(session, notebook, "<b>second</b> queued")
    for _ in range(2):  # the first browser saves nothing
        context = session.open_browser()
        expect_complete(session.open_notebook(context, notebook))
        context.close()


def test_page_that_loses_its_connection_misses_nothing(session: Session, notebook: str) -> None:
    context = session.open_browser()
    lab = session.open_notebook(context, notebook)
    jl.idle(lab, KERNEL)
    jl.run_cell(lab, SHORT)
    expect(outputs(lab, 0)).to_have_text(["begins\n"])
    # a save that fails shows a dialog
    wait_until(lambda: session.read(notebook)[0]["source"], "the code is saved", 60, pause_s=0.5)
    session.portal.stop("nginx")
    end_the_cell(session.portal)
    wait_until_saved(session, notebook, "ends")
    session.portal.start("nginx")
    lab.get_by_role("button", name="Dismiss").click()  # the session doesn't answer
    expect(outputs(lab, 0)).to_have_text(["begins\nends\n"])
    expect(prompt(lab, 0)).to_have_text("[1]:")
    jl.run_cell(lab, "print(6 * 7)")
    jl.output(lab, "42")
    wait_until_saved(session, notebook, "42")
    expect(lab.get_by_text("File Changed")).to_have_count(0)
    context.close()
