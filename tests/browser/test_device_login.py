"""The page on which a user confirms the login of the command line, with the program itself."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from client.config import load_logins
from tests.live import Live
from tests.polling import PATIENCE_S
from tests.portal.client.program import ClientProgram


@pytest.fixture
def program(portal: Live, tmp_path: Path) -> ClientProgram:
    return ClientProgram(portal.base_url, tmp_path)


@contextmanager
def logging_in(program: ClientProgram) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run `dsp login`; yield its code and the process, which is ended with the block."""
    argv = [sys.executable, "-m", "client", "login", "--no-browser", "--json"]
    with subprocess.Popen(
        [*argv, "--portal", program.url],
        cwd=program.home, env=program.environment, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["user_code"], process
        finally:
            process.kill()


def test_a_login_is_confirmed_on_its_page(
    portal: Live, program: ClientProgram, logged_in: Callable[[str], Page]
) -> None:
    page = logged_in("alice")
    with logging_in(program) as (code, process):
        page.goto(f"{portal.base_url}/device#{code}")
        expect(page.get_by_label("Code")).to_have_value(code)
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_test_id("device")).to_contain_text("dsp on ")
        expect(page.get_by_text("Submit, cancel and remove jobs.")).to_be_visible()
        page.get_by_role("button", name="Confirm the login").click()
        expect(page.get_by_text("The device is logged in.")).to_be_visible()
        assert process.wait(PATIENCE_S) == 0
    assert load_logins(program.config).logins[program.url].username == "alice"
    page.goto(f"{portal.base_url}/account/tokens")
    page.get_by_role("button", name="Revoke token dsp on ").first.click()
    page.get_by_role("button", name="Revoke it").click()


def test_a_login_is_refused_on_its_page(
    portal: Live, program: ClientProgram, logged_in: Callable[[str], Page]
) -> None:
    page = logged_in("alice")
    with logging_in(program) as (code, process):
        page.goto(f"{portal.base_url}/device")
        page.get_by_label("Code").fill("XXXX-XXXX")
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_text("No login waits with this code.")).to_be_visible()
        page.get_by_label("Code").fill(code.lower())
        page.get_by_role("button", name="Continue").click()
        page.get_by_role("button", name="Refuse").click()
        expect(page.get_by_text("The login was refused.")).to_be_visible()
        assert process.wait(PATIENCE_S) == 5
    assert not program.config.exists()
