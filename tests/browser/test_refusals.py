"""The most important forms, when a request is refused or not answered (tests/browser/forms.py).

They start a session, submit a template's job, and log in. The others are in tests/more/browser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from secrets import token_hex

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.forms import ODD, TOO_LONG, Form, endure
from tests.browser.scenes import Api
from tests.live import Live

LogIn = Callable[[Page, str], None]
NAME = f"refused-{token_hex(3)}"


@pytest.fixture
def alice(portal: Live, context: BrowserContext, log_in: LogIn) -> Iterator[Page]:
    """alice's page; sessions started here end with the test."""
    page = context.new_page()
    log_in(page, "alice")
    yield page
    api = Api(context.request, portal.base_url)
    for session in api.ask("GET", "/sessions?state=live")["items"]:
        if session["name"] == NAME:
            api.ask("DELETE", f"/sessions/{session['id']}")
    portal.exec_as("alice", ["scancel", "--user=alice"])


def test_starting_a_session(portal: Live, alice: Page) -> None:
    page = alice
    page.goto(f"{portal.base_url}/start?environment=python3&partition=cpu&gpus=0")
    name = "Name (optional)"
    typed = {"Memory (GB)": "1", "CPUs": "1", name: NAME}
    wrong = (("CPUs", ""), (name, TOO_LONG))
    form = Form("/api/v1/sessions", "Start session", typed, ("name", name), wrong)
    endure(page, form, portal.users["alice"])
    form.send(page).click()
    page.wait_for_url(re.compile(f"/user/alice/{NAME}/lab"))  # JupyterLab opens by itself


def test_a_job_from_a_template(portal: Live, alice: Page) -> None:
    page = alice
    page.goto(f"{portal.base_url}/jobs/new?template=python-training")
    name = "Name, optional"
    typed = {"Epochs": "7", "Memory (GB)": "1", name: f"{NAME} {ODD}"}
    wrong = (("Epochs", ""), (name, TOO_LONG))
    form = Form("/api/v1/jobs", "Submit job", typed, ("parameters.epochs", "Epochs"), wrong)
    refusing = endure(page, form, portal.users["alice"])
    refusing.asked.clear()
    form.send(page).click()
    expect(page.get_by_role("heading", name=f"{NAME} {ODD}", level=1)).to_be_visible()
    assert len(refusing.asked) == 1


def test_logging_in(portal: Live, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{portal.base_url}/login")
    typed = {"User name": "alice", "Password": portal.users["alice"]}
    wrong = (("Password", ""), ("User name", TOO_LONG))
    form = Form("/api/v1/login", "Log in", typed, ("username", "User name"), wrong)
    endure(page, form, None)
    form.send(page).click()
    expect(page.get_by_role("heading", name="Your sessions")).to_be_visible()
