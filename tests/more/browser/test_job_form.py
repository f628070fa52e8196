"""The form that submits a job: its editor, unsent input, and files chosen or dropped.

Also the log on which the submitted job's page opens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, FilePayload, Page, Route, expect

from tests.browser.forms import RESTORED
from tests.browser.job_form import BATCH, check_imported, drop, open_jobs, submit_script
from tests.live import Live

LogIn = Callable[[Page, str], None]
JOB = "browser-form"
HALF = "#!/bin/bash\necho half <written> 数据\n"
EDITOR = "**/assets/editor-*.js"


@pytest.fixture(autouse=True)
def clean(portal: Live) -> Iterator[None]:
    """alice's jobs end with the test, whatever its result."""
    yield
    portal.exec_as("alice", ["scancel", "--user=alice"])


def test_the_editor_takes_over_what_is_written(context: BrowserContext, log_in: LogIn) -> None:
    """The editor loads while the plain field's text is about to be replaced."""
    page = context.new_page()
    log_in(page, "alice")
    late: list[Route] = []

    def hold(route: Route) -> None:
        late.append(route)

    page.route(EDITOR, hold)
    open_jobs(page)
    page.get_by_role("link", name="Submit a job").click()
    with page.expect_request(EDITOR):
        page.get_by_text("Custom script", exact=True).click()
    script = page.get_by_label("Script", exact=True)
    script.fill("echo first\n" * 20)
    script.press("ControlOrMeta+a")
    for route in late:
        route.continue_()
    page.locator(".cm-editor").wait_for()
    page.keyboard.insert_text("echo second")
    expect(script).to_have_text("echo second")


def half_written(page: Page) -> None:
    """Check the custom script's input after returning."""
    expect(page.get_by_label("Script", exact=True)).to_contain_text("half <written> 数据")
    expect(page.get_by_label("Name, optional")).to_have_value(JOB)
    expect(page.get_by_text(RESTORED)).to_be_visible()


def test_what_was_typed_waits_until_it_is_sent(context: BrowserContext, log_in: LogIn) -> None:
    page = context.new_page()
    log_in(page, "alice")
    open_jobs(page)
    page.get_by_role("link", name="Submit a job").click()
    page.get_by_text("Custom script", exact=True).click()
    page.get_by_label("Script", exact=True).fill(HALF)
    page.get_by_label("Name, optional").fill(JOB)
    page.get_by_text("Template", exact=True).click()
    page.get_by_role("link", name="Training with NumPy", exact=True).click()
    page.get_by_label("Epochs").fill("7")
    page.reload()
    expect(page.get_by_label("Epochs")).to_have_value("7")
    expect(page.get_by_text(RESTORED)).to_be_visible()
    page.get_by_role("button", name="Discard entries").click()
    page.get_by_role("dialog").get_by_role("button", name="Discard entries").click()
    expect(page.get_by_text(RESTORED)).to_have_count(0)
    expect(page.get_by_label("Epochs")).not_to_have_value("7")

    page.get_by_role("link", name="All templates").click()
    page.get_by_text("Custom script", exact=True).click()
    half_written(page)
    page.reload()
    half_written(page)
    open_jobs(page)
    page.go_back()
    half_written(page)
    page.get_by_role("button", name="Submit job").click()
    page.get_by_role("heading", name=JOB, level=1).wait_for()
    page.go_back()
    expect(page.get_by_label("Script", exact=True)).to_contain_text("SLURM_JOB_ID")
    expect(page.get_by_label("Name, optional")).to_have_value("")
    expect(page.get_by_text(RESTORED)).to_have_count(0)


def test_a_file_dropped_on_the_start_page_opens_the_form_for_jobs(
    context: BrowserContext, log_in: LogIn
) -> None:
    page = context.new_page()
    log_in(page, "alice")
    page.get_by_role("link", name="Start a session").first.click()
    page.get_by_role("heading", name="Start a session", level=1).wait_for()
    drop(page, ["job.sh", BATCH])
    check_imported(page)


def test_a_chosen_file_is_uploaded_first(
    portal: Live, context: BrowserContext, log_in: LogIn
) -> None:
    """With the keyboard, and a name that is taken."""
    name = "browser chosen.py"
    portal.exec_as("alice", ["bash", "-c", f"cd && echo old > '{name}'"])
    page = context.new_page()
    # Playwright doesn't wait until Chromium reports dialogs, so a key pressed right after
    # `expect_file_chooser` may open one that is never reported: ask for them before.
    page.on("filechooser", lambda _: None)
    log_in(page, "alice")
    open_jobs(page)
    page.get_by_role("link", name="Submit a job").click()
    # a new page gets the focus once it is there
    expect(page.get_by_role("heading", name="Submit a job", level=1)).to_be_focused()
    button = page.get_by_role("button", name="Choose a file…")
    button.focus()
    expect(button).to_be_focused()
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    chooser.value.set_files(
        FilePayload(name=name, mimeType="text/x-python", buffer=b"print('chosen')\n")
    )
    page.get_by_role("button", name=f"Replace: {name}").click()
    expect(page.get_by_label("Script", exact=True)).to_contain_text(f"python3 ~/'{name}'")
    page.get_by_role("button", name="Submit job").click()
    page.get_by_role("heading", name="browser chosen", level=1).wait_for()
    expect(page.locator("section pre").first).to_contain_text("chosen")
    portal.exec_as("alice", ["bash", "-c", f"cd && rm '{name}'"])


def test_log_opens_on_the_output_that_holds_anything(
    portal: Live, context: BrowserContext, log_in: LogIn
) -> None:
    page = context.new_page()
    log_in(page, "alice")
    open_jobs(page)
    submit_script(page, "#!/usr/bin/env python3\nimport nothing_like_that\n", "only-stderr")
    log = page.get_by_role("region", name="Log", exact=True)
    expect(log).to_contain_text("Traceback (most recent call last)")
    expect(log.get_by_role("radio", name="stderr")).to_be_checked()
    expect(log.get_by_text("No output yet.")).to_have_count(0)
    reason = page.get_by_text("It could not load “nothing_like_that”", exact=False)
    expect(reason.first).to_be_visible()
