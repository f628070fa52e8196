"""Outputs of cells that run while no browser is connected, or another one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.browser import jupyterlab as jl
from tests.browser.chromium import window
from tests.browser.scenes import log_in
from tests.live import Live
from tests.polling import wait_until

SESSION = f"outputs-{token_hex(2)}"
KERNEL = "Python 3.11"
STEPS = 40
LONG = f"""import sys, time
import matplotlib.pyplot as plt
print("begins", flush=True)
for step in range(1, {STEPS} + 1):
    print(f"\\r{{step}} of {STEPS} steps", end="", file=sys.stderr, flush=True)
    time.sleep(0.5)
print("ends", flush=True)
plt.plot([3, 1, 2])
plt.show()"""
QUEUED = ('print("first queued")', 'from IPython.display import HTML\nHTML("<b>second</b> queued")')
SHORT = 'import time\nprint("begins", flush=True)\ntime.sleep(10)\nprint("ends")'
BIG_MB = 200


@dataclass(frozen=True)
class Session:
    """A session of alice's, and her browsers."""

    portal: Live
    chromium: Browser
    url: str

    def open_browser(self) -> BrowserContext:
        """Open a browser in which alice has logged in."""
        context = window(self.chromium, viewport={"width": 1280, "height": 900})
        log_in(context, self.portal.base_url, "alice", self.portal.users["alice"])
        return context

    def open_notebook(self, context: BrowserContext, name: str) -> Page:
        """Open a notebook in JupyterLab, and wait for its first cell."""
        lab = context.new_page()
        lab.goto(f"{self.url}lab/tree/{name}?reset")
        jl.front(lab).locator(".jp-CodeCell").first.wait_for()
        return lab

    def read(self, name: str) -> list[dict[str, Any]]:
        """Return the cells in the notebook's file."""
        text = self.portal.exec_as("alice", ["/bin/sh", "-c", f"cat ~/{name}"])
        cells: list[dict[str, Any]] = json.loads(text)["cells"]
        return cells


@pytest.fixture(scope="module")
def session(portal: Live, chromium: Browser) -> Iterator[Session]:
    """One session for the whole file."""
    context = chromium.new_context(extra_http_headers={"Origin": portal.base_url})
    api = log_in(context, portal.base_url, "alice", portal.users["alice"])
    resources = {"time_limit_minutes": 60, "memory_gb": 6}
    wanted = {"environment": "python3", "name": SESSION, "resources": resources}
    made = api.ask("POST", "/sessions", wanted)
    yield Session(portal, chromium, api.until(f"/sessions/{made['id']}", "running")["url"])
    api.end(made["id"])
    context.close()


@pytest.fixture
def notebook(portal: Live) -> Iterator[str]:
    """A notebook with one empty cell in alice's home."""
    name = f"outputs-{token_hex(3)}.ipynb"
    write_notebook(portal, name, "")
    yield name
    portal.exec_as("alice", ["/bin/sh", "-c", f"rm -f ~/{name}"])


def write_notebook(portal: Live, name: str, program: str) -> None:
    """Write a notebook with one empty cell; the program may change it, as `book`."""
    lines = (
        "import json, sys",
        "cell = dict(id='one', cell_type='code', source='', metadata={}, outputs=[])",
        "spec = {'kernelspec': {'name': 'python3', 'display_name': 'Python'}}",
        "cells = [{**cell, 'execution_count': None}]",
        "book = dict(cells=cells, metadata=spec, nbformat=4, nbformat_minor=5)",
        program,
        f"json.dump(book, open({name!r}, 'w'))",
    )
    code = "import os; os.chdir(os.path.expanduser('~'))\n" + "\n".join(lines)
    portal.exec_as("alice", ["/usr/bin/python3", "-c", code])


def outputs(lab: Page, cell: int) -> Locator:
    return jl.front(lab).locator(".jp-CodeCell").nth(cell).locator(".jp-OutputArea-output")


def prompt(lab: Page, cell: int) -> Locator:
    return jl.front(lab).locator(".jp-CodeCell").nth(cell).locator(".jp-InputPrompt")


def wait_until_saved(session: Session, notebook: str, output: str) -> None:
    """Wait until the notebook's file has a cell with this in an output."""

    def outputs() -> str:
        return json.dumps([cell.get("outputs") for cell in session.read(notebook)])

    wait_until(outputs, f"{output!r} is saved", 180, done=lambda text: output in text, pause_s=1)


def run_long(session: Session, notebook: str) -> None:
    """Run the long cell and those behind it, and close the browser while the first runs."""
    context = session.open_browser()
    lab = session.open_notebook(context, notebook)
    jl.idle(lab, KERNEL)
    for code in (LONG, *QUEUED):
        jl.run_cell(lab, code)
    expect(outputs(lab, 0).nth(1)).to_contain_text(re.compile(rf"^[1-9]\d? of {STEPS} steps"))
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
    expect_complete(lab)
    jl.add_cell(lab)
    jl.run_cell(lab, "print(6 * 7)")
    jl.output(lab, "42")
    wait_until_saved(session, notebook, "42")
    expect(lab.get_by_text("File Changed")).to_have_count(0)
    context.close()


def test_notebook_is_complete_though_no_browser_was_open(session: Session, notebook: str) -> None:
    run_long(session, notebook)

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


def test_large_notebook_does_not_end_the_session(session: Session, notebook: str) -> None:
    program = (
        "output = dict(output_type='display_data', metadata={})\n"
        f"data = [{{'application/x-test': 'A' * 1000000}} for _ in range({BIG_MB})]\n"
        "book['cells'].append({**cell, 'id': 'two', 'source': '1', 'execution_count': 1,"
        " 'outputs': [{**output, 'data': each} for each in data]})"
    )
    write_notebook(session.portal, notebook, program)
    context = session.open_browser()
    lab = session.open_notebook(context, notebook)
    jl.idle(lab, KERNEL)
    jl.front(lab).locator(".jp-CodeCell .cm-content").first.click()
    lab.keyboard.insert_text("print(6 * 7)")
    lab.keyboard.press("Shift+Enter")
    expect(outputs(lab, 0)).to_have_text(["42\n"])
    begin = ["/bin/sh", "-c", f"head -c 1000 ~/{notebook}"]
    wait_until(
        lambda: "42" in session.portal.exec_as("alice", begin), "it is saved", 180, pause_s=1
    )
    context.close()
    small = f"small-{notebook}"
    write_notebook(session.portal, small, "")
    context = session.open_browser()
    lab = session.open_notebook(context, small)
    jl.idle(lab, KERNEL)
    jl.run_cell(lab, "print(6 * 7)")
    jl.output(lab, "42")
    context.close()
    session.portal.exec_as("alice", ["/bin/sh", "-c", f"rm ~/{small}"])
