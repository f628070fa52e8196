"""Cells that wait until a test lets them go on, and their outputs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex

from playwright.sync_api import Page, expect

from tests.browser import jupyterlab as jl
from tests.browser.notebooks import KERNEL, Session, outputs, prompt, write_notebook
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


@contextmanager
def waiting_notebook(portal: Live) -> Iterator[str]:
    """Write a notebook with one empty cell to alice's home; remove it and GO afterwards."""
    name = f"outputs-{token_hex(3)}.ipynb"
    write_notebook(portal, name, "")
    try:
        yield name
    finally:
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
    prompts = [prompt(lab, cell).inner_text() for cell in range(3)]
    assert prompts == ["[1]:", "[2]:", "[3]:"], prompts
