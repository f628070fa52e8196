"""Forms submitted without a change."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Page, expect

from tests.browser.scenes import Api
from tests.live import Live

WHO = "bob"
# values that a form cannot prefill
REQUIRED = {
    "notebook": ("Notebook", "untouched.ipynb"),
    "batch-inference": ("Model", "untouched.pt"),
}
JOB_PAGE = re.compile(r"/jobs/[0-9a-f-]{36}$")


def clear(api: Api, portal: Live) -> None:
    """End everything that runs, so that the next form finds an empty cluster."""
    for session in api.ask("GET", "/sessions?state=live")["items"]:
        api.ask("DELETE", f"/sessions/{session['id']}?remove=false")
        api.until(f"/sessions/{session['id']}", "ended")
    portal.exec_as(WHO, ["scancel", f"--user={WHO}"])


def open_template(page: Page, portal: Live, template: dict[str, Any]) -> None:
    page.goto(f"{portal.base_url}/jobs/new?{urlencode({'template': template['name']})}")
    page.get_by_role("heading", name=template["title"], level=1).wait_for()
    if template["name"] in REQUIRED:
        label, value = REQUIRED[template["name"]]
        page.get_by_label(label).first.fill(value)


def submit_untouched(page: Page, api: Api) -> dict[str, Any]:
    """Press Submit in an open form; return the job, which is cancelled."""
    button = page.get_by_role("button", name=re.compile("^Submit "))
    expect(button).to_be_enabled()
    expect(page.locator("form [aria-invalid=true]")).to_have_count(0)
    button.click()
    page.wait_for_url(JOB_PAGE)
    job: dict[str, Any] = api.ask("GET", f"/jobs/{page.url.rsplit('/', 1)[1]}")
    api.ask("POST", f"/jobs/{job['id']}/cancel")
    return job


def start_untouched(page: Page, api: Api, *, runs: bool = False) -> dict[str, Any]:
    """Press Start in an open form; return the session, which is stopped: at once, or with `runs`
    when it is running.
    """
    before = {each["id"] for each in api.ask("GET", "/sessions")["items"]}
    button = page.get_by_role("complementary").or_(page.locator("section"))
    button = button.get_by_role("button", name="Start session")
    expect(button).to_be_enabled()
    with page.expect_response(
        lambda answer: answer.url.endswith("/sessions") and answer.request.method == "POST"
    ) as started:
        button.click()
    assert started.value.ok, started.value.text()
    session: dict[str, Any] = started.value.json()
    assert session["id"] not in before
    if runs:
        api.until(f"/sessions/{session['id']}", "running")
    api.ask("DELETE", f"/sessions/{session['id']}?remove=false")
    api.until(f"/sessions/{session['id']}", "ended")
    return session
