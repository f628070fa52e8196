"""Slurm stops answering while a user works, and returns: nothing is lost, nothing is reloaded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from secrets import token_hex

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.scenes import Api
from tests.live import Live

LogIn = Callable[[Page, str], None]
WHO = "alice"
SLURM = "slurmctld"
JOB, SESSION = f"outage-{token_hex(2)}", f"outage-{token_hex(2)}"
SMALL = {"cpus": 1, "memory_gb": 1, "time_limit_minutes": 20}
SLEEP = "#!/bin/bash\necho awake\nsleep 600\n"
SILENT = re.compile("^Slurm has not responded since")


@pytest.fixture
def page(portal: Live, context: BrowserContext, log_in: LogIn) -> Iterator[Page]:
    """alice's page, with a running job. Slurm is restarted afterwards, and her jobs are removed."""
    page = context.new_page()
    log_in(page, WHO)
    api = Api(context.request, portal.base_url)
    job = api.ask("POST", "/jobs", {"script": SLEEP, "name": JOB, "resources": SMALL})
    api.until(f"/jobs/{job['id']}", "running")
    yield page
    portal.start(SLURM)
    for session in api.ask("GET", "/sessions?state=live")["items"]:
        if session["name"] == SESSION:
            api.ask("DELETE", f"/sessions/{session['id']}")
    portal.exec_as(WHO, ["scancel", f"--user={WHO}"])


def go(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Main").get_by_role("link", name=name).click()


def banner(page: Page) -> None:
    expect(page.get_by_text(SILENT)).to_be_visible()


def test_slurm_is_silent_for_a_while(portal: Live, page: Page) -> None:
    page.evaluate("window.neverReloaded = true")
    running = (
        page.get_by_role("region", name="Your jobs").get_by_role("listitem").filter(has_text=JOB)
    )
    expect(running).to_contain_text("Running")
    portal.stop(SLURM)
    banner(page)
    expect(running).to_contain_text("Running")  # the last known state
    look_at_jobs(page)
    try_to_start(page)
    portal.start(SLURM)
    expect(page.get_by_text(SILENT)).to_have_count(0)
    still_typed(page)
    assert page.evaluate("window.neverReloaded")
    start_after_all(page)
    go(page, "Jobs")
    row = page.get_by_role("row").filter(has_text=JOB)
    expect(row).to_contain_text("Cancelled")  # as requested during the outage


def look_at_jobs(page: Page) -> None:
    """The list and the job show the last known state; a cancellation is recorded for later."""
    go(page, "Jobs")
    banner(page)
    row = page.get_by_role("row").filter(has_text=JOB)
    expect(row).to_contain_text("Running")
    row.get_by_role("link", name=JOB).click()
    expect(page.get_by_role("heading", name=JOB, level=1)).to_be_visible()
    expect(page.get_by_text("Running", exact=True).first).to_be_visible()
    banner(page)
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel it").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Cancel", exact=True)).to_have_count(0)


def try_to_start(page: Page) -> None:
    """The reason is shown beside the button; the input stays."""
    go(page, "Home")
    page.get_by_role("link", name="Start a session").first.click()
    page.get_by_role("radio", name=re.compile("^Custom")).check()
    page.get_by_label("GPUs", exact=True).fill("0")
    page.get_by_label("Memory (GB)").fill("1")
    page.get_by_label("Name (optional)").fill(SESSION)
    banner(page)
    page.get_by_role("button", name="Start session").click()
    expect(page.get_by_role("alert").filter(has_text="Slurm")).to_be_in_viewport()
    still_typed(page)


def still_typed(page: Page) -> None:
    expect(page.get_by_label("Name (optional)")).to_have_value(SESSION)
    expect(page.get_by_label("Memory (GB)")).to_have_value("1")
    expect(page.get_by_role("radio", name=re.compile("^Custom"))).to_be_checked()


def start_after_all(page: Page) -> None:
    home = page.url.partition("/start")[0]
    page.get_by_role("button", name="Start session").click()
    page.wait_for_url(re.compile(f"/{SESSION}/lab"))
    page.goto(home)
    card = page.get_by_role("article").filter(has_text=SESSION)
    expect(card).to_contain_text("Running")
