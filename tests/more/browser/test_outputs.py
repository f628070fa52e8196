"""Outputs of running cells in another browser, and in a second tab of the same one."""

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


@pytest.fixture(scope="module")
def session(portal: Live, chromium: Browser) -> Iterator[Session]:
    """One session for the whole file."""
    with running_session(portal, chromium) as session:
        yield session


@pytest.fixture
def notebook(portal: Live) -> Iterator[str]:
    with waiting_notebook(portal) as name:
        yield name


def test_another_browser_shows_a_cell_that_still_runs(session: Session, notebook: str) -> None:
    run_long(session, notebook)
    context = session.open_browser()
    lab = session.open_notebook(context, notebook)
    expect(outputs(lab, 0).first).to_have_text("begins\n")
    expect(prompt(lab, 0)).to_have_text("[*]:")
    expect(prompt(lab, 2)).to_have_text("[*]:")
    end_the_cell(session.portal)
    expect_complete(lab)
    jl.add_cell(lab)
    jl.run_cell(lab, "print(6 * 7)")
    jl.output(lab, "42")
    wait_until_saved(session, notebook, "42")
    expect(lab.get_by_text("File Changed")).to_have_count(0)
    context.close()


def test_two_tabs_show_the_same_and_lose_nothing(session: Session, notebook: str) -> None:
    context = session.open_browser()
    one = session.open_notebook(context, notebook)
    jl.idle(one, KERNEL)
    two = session.open_notebook(context, notebook)
    jl.idle(two, KERNEL)
    expect(two.get_by_text("File Changed")).to_have_count(0)

    jl.front(one).locator(".jp-CodeCell .cm-content").first.click()
    one.keyboard.insert_text(SHORT)
    one.keyboard.press("Shift+Enter")
    expect(outputs(two, 0)).to_have_text(["begins\n"])
    expect(prompt(two, 0)).to_have_text("[*]:")
    end_the_cell(session.portal)
    expect(outputs(two, 0)).to_have_text(["begins\nends\n"])
    expect(prompt(two, 0)).to_have_text("[1]:")
    expect(outputs(one, 0)).to_have_text(["begins\nends\n"])

    jl.run_cell(two, 'print("of the second tab")')
    question = two.get_by_role("dialog").filter(has_text="has changed on disk")
    expect(question).to_be_visible()
    saved = session.read(notebook)
    assert SHORT in "".join(saved[0]["source"])
    question.get_by_role("button", name="Revert").click()
    expect(jl.front(two).locator(".cm-content").first).to_contain_text("ends")
    context.close()
