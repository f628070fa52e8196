"""Outputs of cells that run while no browser is connected, or another one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from secrets import token_hex

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import jupyterlab as jl
from tests.browser.notebooks import (
    KERNEL,
    Session,
    outputs,
    prompt,
    running_session,
    write_notebook,
)
from tests.live import Live
from tests.polling import wait_until

STEPS = 40
GO = f"outputs-go-{token_hex(4)}"
WAIT = f"""import os, time
def wait():
    while not os.path.exists(os.path.expanduser("~/{GO}")):
        time.sleep(0.1)
"""
LONG = f"""{WAIT}import sys
import matplotlib.pyplot as plt
print("begins", flush=True)
for step in range(1, {STEPS} + 1):
    print(f"\\r{{step}} of {STEPS} steps", end="", file=sys.stderr, flush=True)
    if step == {STEPS} // 2:
        wait()
print("ends", flush=True)
plt.plot([3, 1, 2])
plt.show()"""
QUEUED = ('print("first queued")', 'from IPython.display import HTML\nHTML("<b>second</b> queued")')
SHORT = f'{WAIT}print("begins", flush=True)\nwait()\nprint("ends")'


@pytest.fixture(scope="module")
def session(portal: Live, chromium: Browser) -> Iterator[Session]:
    """One session for the whole file."""
    with running_session(portal, chromium) as session:
        yield session


@pytest.fixture
def notebook(portal: Live) -> Iterator[str]:
    """A notebook with one empty cell in alice's home."""
    name = f"outputs-{token_hex(3)}.ipynb"
    write_notebook(portal, name, "")
    yield name
    portal.exec_as("alice", ["/bin/sh", "-c", f"rm -f ~/{name} ~/{GO}"])


def end_the_cell(portal: Live) -> None:
    """Let a cell that waits go on to its end."""
    portal.exec_as("alice", ["/bin/sh", "-c", f"touch ~/{GO}"])


def wait_until_saved(session: Session, notebook: str, output: str) -> None:
    """Wait until the notebook's file has a cell with this in an output."""

    def outputs() -> str:
        return json.dumps([cell.get("outputs") for cell in session.read(notebook)])

    wait_until(outputs, f"{output!r} is saved", 180, done=lambda text: output in text, pause_s=1)


def run_long(session: Session, notebook: str) -> None:
    """Run the long cell and those after it, and close the browser while the first runs."""
    context = session.open_browser()
    lab = session.open_notebook(context, notebook)
    jl.idle(lab, KERNEL)
    for code in (LONG, *QUEUED):
        jl.run_cell(lab, code)
    expect(outputs(lab, 0).nth(1)).to_have_text(f"{STEPS // 2} of {STEPS} steps")
    context.close()


def expect_complete(lab: Page) -> None:
    """Expect each output once, and the prompts of cells that are done."""
    expect(prompt(lab, 2)).to_have_text("[3]:")
    expect(outputs(lab, 0)).to_have_count(4)
    for number, text in enumerate(("begins\n", f"{STEPS} of {STEPS} steps", "ends\n")):
        expect(outputs(lab, 0).nth(number)).to_have_text(text)
    expect(outputs(lab, 0).nth(3).locator("img")).to_be_visible()
    expect(outputs(lab, 1)).to_have_text(["first queued\n"])
    expect(outputs(lab, 2).locator("b")).to_have_text("second")
    expect(outputs(lab, 2)).to_have_count(1)
    assert [prompt(lab, cell).inner_text() for cell in range(3)] == ["[1]:", "[2]:", "[3]:"]


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


def test_notebook_is_complete_though_no_browser_was_open(session: Session, notebook: str) -> None:
    run_long(session, notebook)
    end_the_cell(session.portal)
    wait_until_saved(session, notebook, "<b>second</b> queued")
    for _ in range(2):  # the first browser saves nothing
        context = session.open_browser()
        expect_complete(session.open_notebook(context, notebook))
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
