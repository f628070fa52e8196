"""Notebooks in a session that several browsers of alice's open."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Locator, Page

from tests.browser import jupyterlab as jl
from tests.browser.chromium import window
from tests.browser.scenes import log_in
from tests.live import Live

KERNEL = "Python 3.11"


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


@contextmanager
def running_session(portal: Live, chromium: Browser) -> Iterator[Session]:
    """Start a session of alice's, and end it afterwards."""
    context = chromium.new_context(extra_http_headers={"Origin": portal.base_url})
    api = log_in(context, portal.base_url, "alice", portal.users["alice"])
    resources = {"time_limit_minutes": 60, "memory_gb": 6}
    name = f"notebooks-{token_hex(2)}"
    wanted = {"environment": "python3", "name": name, "resources": resources}
    made = api.ask("POST", "/sessions", wanted)
    try:
        yield Session(portal, chromium, api.until(f"/sessions/{made['id']}", "running")["url"])
    finally:
        api.end(made["id"])
        context.close()


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
