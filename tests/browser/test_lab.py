"""The portal inside JupyterLab: remaining time, extension, jobs, and links out of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from secrets import token_hex
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.browser import jupyterlab as jl
from tests.browser.lab_session import (
    MINUTES,
    SESSION,
    Started,
    choose,
    left,
    return_to_tab,
    started,
)
from tests.browser.scenes import SMALL, Api
from tests.live import Live

LogIn = Callable[[Page, str], None]
SLOW_S = 120
NOTEBOOK = {
    "cells": [
        {
            "id": "one",
            "cell_type": "code",
            "source": "print(6 * 7)",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
        }
    ],
    "metadata": {"kernelspec": {"name": "python3", "display_name": "Python"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}


@pytest.fixture
def session(portal: Live, chromium: Browser) -> Iterator[Started]:
    """A session that ends soon."""
    with started(portal, chromium, MINUTES) as session:
        yield session


def test_the_session_is_looked_after_from_within_jupyterlab(
    portal: Live, context: BrowserContext, log_in: LogIn, session: Started
) -> None:
    lab = context.new_page()
    log_in(lab, "alice")
    now = session.now()
    jl.open_launcher(lab, now["url"])

    expect(left(lab)).to_have_attribute("data-urgency", "soon")
    expect(lab.get_by_role("note")).to_contain_text(now["node"])
    warning = lab.get_by_role("alert").filter(has_text="Save your work")
    expect(warning).to_be_visible()
    warning.get_by_role("button", name="Extend by 1 Hour").click()
    expect(left(lab)).to_have_attribute("data-urgency", "calm")
    expect(left(lab)).to_have_text(re.compile(r"^1 h 1\d min left$"))
    expect(warning).to_be_hidden()
    ends = datetime.fromisoformat(now["expires_at"]) + timedelta(hours=1)
    assert session.expires_at() == ends

    open_the_menu_by_keyboard(lab)
    with context.expect_page() as opened:
        choose(lab, "Back to the Portal")
    back = opened.value
    back.get_by_role("heading", name=SESSION, level=1).wait_for()
    assert back.url == f"{portal.base_url}/sessions/{session.id}"
    back.close()

    keep_it_running(context, lab)
    check_the_file_menu(lab)
    check_the_panel(portal, lab, Api(session.context.request, portal.base_url))
    check_the_tensorboard_tab(lab)

    with context.expect_page() as opened:
        choose(lab, "Open TensorBoard")
    opened.value.wait_for_url(re.compile(r"/tensorboard/[0-9a-f-]{36}/[0-9a-f]{32}/"))
    opened.value.close()

    jl.open_notebook(lab, "Python 3.11")
    with context.expect_page() as opened:
        choose(lab, "Run This Notebook as a Job")
    form = opened.value
    form.get_by_role("heading", name="Run a notebook", level=1).wait_for()
    path = re.compile(r"^~/Untitled\d*\.ipynb$")
    expect(form.get_by_label("Notebook", exact=True)).to_have_value(path)
    expect(form.get_by_role("combobox", name="Environment")).to_have_value("python3")

    page = context.new_page()
    page.goto(portal.base_url)
    page.get_by_role("button", name=f"More time for {SESSION}").click()
    page.get_by_role("menuitem", name="1 h more").click()
    card = page.get_by_role("article").filter(has_text=SESSION).first
    expect(card.get_by_text(re.compile(r"^2 h \d+ min left"))).to_be_visible()
    assert session.expires_at() == ends + timedelta(hours=1)
    check_a_phone(lab, now["url"])


def open_the_menu_by_keyboard(lab: Page) -> None:
    left(lab).focus()
    lab.keyboard.press("Enter")
    menu = lab.get_by_role("menu")
    expect(menu.get_by_role("menuitem", name="Back to the Portal")).to_be_visible()
    lab.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(left(lab)).to_be_focused()


def keep_it_running(context: BrowserContext, lab: Page) -> None:
    """Choose to stop the session; the portal's page asks first."""
    with context.expect_page() as opened:
        choose(lab, "Stop Session…")
    question = opened.value.get_by_role("dialog", name=f"Stop session {SESSION}?")
    question.get_by_role("button", name="Keep it running").click()
    opened.value.close()


def check_the_file_menu(lab: Page) -> None:
    """It has a submenu of terminals, and no entries of the hub, which has no pages."""
    lab.get_by_role("menuitem", name="File", exact=True).click()
    menu = lab.get_by_role("menu")
    expect(menu.get_by_role("menuitem", name="Hub Control Panel")).to_have_count(0)
    expect(menu.get_by_role("menuitem", name="Log Out")).to_have_count(0)
    menu.locator(".lm-Menu-item", has_text="Terminal in Environment").click()
    expect(lab.get_by_role("menuitem", name="Python 3.11", exact=True)).to_be_visible()
    lab.keyboard.press("Escape")
    lab.keyboard.press("Escape")
    expect(menu).to_have_count(0)


def submit(api: Api, name: str, **body: Any) -> str:
    """Submit a job, and return its path in the API."""
    job = api.ask("POST", "/jobs", {"name": name, "resources": SMALL, **body})
    return f"/jobs/{job['id']}"


def check_the_panel(portal: Live, lab: Page, api: Api) -> None:
    """It shows the usage and the jobs; a notification reports a job that ends."""
    name, wait = f"watched-{token_hex(2)}", f"go-{token_hex(4)}"
    script = f"#!/bin/bash\necho begins\nuntil [ -e ~/{wait} ]; do sleep 0.2; done\necho ends\n"
    job = submit(api, name, script=script)
    api.until(job, "running")
    return_to_tab(lab)
    lab.keyboard.press("Alt+Shift+J")
    panel = lab.get_by_role("region", name="Jobs and Usage")
    memory = re.compile(r"^Memory in the last 15 min: now .*, highest .*, limit 4 GB$")
    expect(panel.get_by_role("img", name=memory)).to_be_visible()
    row = panel.get_by_role("listitem").filter(has_text=name)
    expect(row).to_contain_text("Running")
    row.get_by_role("button", name=f"Log of {name}").click()
    expect(row.locator("pre")).to_contain_text("begins")

    portal.exec_as("alice", ["/bin/sh", "-c", f"touch ~/{wait}"])
    api.until(job, "ended")
    return_to_tab(lab)
    ended = lab.get_by_role("alert").filter(has_text=f"{name}: Completed")
    expect(ended).to_be_visible(timeout=SLOW_S * 1000)
    row.get_by_role("button", name=f"Log of {name}").click()
    ended.get_by_role("button", name="Open Log").click()
    expect(row.locator("pre")).to_contain_text("ends")
    portal.exec_as("alice", ["/bin/sh", "-c", f"rm ~/{wait}"])
    cancel_a_job(api, lab, panel)
    open_an_executed_notebook(portal, api, lab)


def cancel_a_job(api: Api, lab: Page, panel: Locator) -> None:
    name = f"unwanted-{token_hex(2)}"
    job = submit(api, name, script="#!/bin/bash\nsleep 600\n")
    return_to_tab(lab)
    cancel = panel.get_by_role("button", name=f"Cancel {name}…")
    cancel.click(timeout=SLOW_S * 1000)  # once the list has it
    lab.get_by_role("button", name="Keep It Running").click()
    cancel.click()
    lab.get_by_role("dialog").get_by_role("button", name="Cancel Job").click()
    expect(cancel).to_be_hidden()
    api.until(job, "ended")


def open_an_executed_notebook(portal: Live, api: Api, lab: Page) -> None:
    """The notification of its job opens it in JupyterLab."""
    stem = f"executed-{token_hex(4)}"
    notebook = json.dumps(NOTEBOOK)
    portal.exec_as("alice", ["/bin/sh", "-c", f"printf %s '{notebook}' > ~/{stem}.ipynb"])
    parameters = {"notebook": f"~/{stem}.ipynb", "output": f"~/{stem}-out.ipynb"}
    resources = {**SMALL, "memory_gb": 2}
    job = submit(api, stem, template="notebook", parameters=parameters, resources=resources)
    api.until(job, "ended")
    return_to_tab(lab)
    ended = lab.get_by_role("alert").filter(has_text=f"{stem}: Completed")
    ended.get_by_role("button", name="Open Notebook").click(timeout=SLOW_S * 1000)
    tab = lab.get_by_role("tab", name=f"{stem}-out.ipynb")
    expect(tab).to_be_visible()
    expect(jl.front(lab).locator(".jp-OutputArea-output")).to_have_text("42")
    tab.get_by_title("Close").click()
    expect(tab).to_have_count(0)
    page = lab.context.new_page()
    page.goto(f"{api.base_url}{job}")
    page.get_by_text("The executed notebook").click()
    expect(page.get_by_role("link", name=f"{stem}-out.ipynb")).to_be_visible()
    expect(page.get_by_text("42", exact=True)).to_be_visible()
    page.close()
    portal.exec_as("alice", ["/bin/sh", "-c", f"rm -f ~/{stem}*.ipynb"])


def check_the_tensorboard_tab(lab: Page) -> None:
    """It is beside the notebooks, and opened once."""
    choose(lab, "TensorBoard in JupyterLab")
    frame = lab.locator(".portal-tensorboard-tab iframe")
    expect(frame).to_have_attribute("sandbox", re.compile("allow-scripts"))
    dashboard = lab.frame_locator(".portal-tensorboard-tab iframe").locator("tb-webapp")
    expect(dashboard).to_be_visible(timeout=SLOW_S * 1000)
    choose(lab, "TensorBoard in JupyterLab")
    expect(frame).to_have_count(1)
    lab.get_by_role("tab", name="TensorBoard").get_by_title("Close").click()
    expect(frame).to_have_count(0)
    lab.locator(".jp-LauncherCard").first.wait_for()


def check_a_phone(lab: Page, url: str) -> None:
    """There the file browser begins closed, so that a notebook has the width."""
    files = lab.locator("#jp-left-stack")
    expect(files).to_be_visible()
    lab.set_viewport_size({"width": 390, "height": 844})
    jl.open_launcher(lab, url)
    expect(files).to_be_hidden()
    box = lab.locator("#jp-main-dock-panel").bounding_box()
    assert box is not None
    assert box["width"] > 300
