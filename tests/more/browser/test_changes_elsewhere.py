"""Changes behind an open page: the user navigates back, or its object ends elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from secrets import token_hex

import pytest
from playwright.sync_api import BrowserContext, Page, Request, expect

from tests.browser.scenes import SMALL, Api
from tests.live import Live

LogIn = Callable[[Page, str], None]
WHO = "bob"
NAME = f"elsewhere-{token_hex(2)}"
SLEEP = "#!/bin/bash\nsleep 600\n"
SUBMISSION = re.compile(r"/api/v1/(jobs|sessions|setups/[^/]+/start)$")


@pytest.fixture
def page(portal: Live, context: BrowserContext, log_in: LogIn) -> Iterator[Page]:
    """bob's page; this test's jobs and sessions end with it."""
    page = context.new_page()
    log_in(page, WHO)
    yield page
    api = Api(context.request, portal.base_url)
    for session in api.ask("GET", "/sessions?state=live")["items"]:
        if session["name"].startswith(NAME):
            api.ask("DELETE", f"/sessions/{session['id']}")
    portal.exec_as(WHO, ["scancel", f"--user={WHO}"])


@pytest.fixture
def sent(page: Page) -> list[Request]:
    """Record every request of the page that submits or starts something."""
    found: list[Request] = []

    def note(request: Request) -> None:
        if request.method == "POST" and SUBMISSION.search(request.url):
            found.append(request)

    page.on("request", note)
    return found


def test_going_back_submits_nothing_again(portal: Live, page: Page, sent: list[Request]) -> None:
    page.goto(f"{portal.base_url}/jobs/new?own=true")
    page.get_by_label("Name, optional").fill(NAME)
    page.get_by_role("button", name="Submit job").click()
    expect(page.get_by_text("This is the example.")).to_be_visible()
    page.get_by_label("Script", exact=True).fill("#!/bin/bash\ntrue\n")
    page.get_by_role("button", name="Submit job").click()
    heading = page.get_by_role("heading", name=NAME, level=1)
    expect(heading).to_be_visible()
    page.go_back()
    expect(page.get_by_role("button", name="Submit job")).to_be_visible()
    page.go_forward()
    expect(heading).to_be_visible()
    page.reload()
    expect(heading).to_be_visible()
    page.go_back()
    expect(page.get_by_role("button", name="Submit job")).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="Submit job")).to_be_visible()
    assert len(sent) == 1

    page.goto(f"{portal.base_url}/start?environment=python3&partition=cpu&gpus=0&memory_gb=1")
    page.get_by_label("Name (optional)").fill(NAME)
    page.get_by_role("button", name="Start session").click()
    page.wait_for_url(re.compile(f"/{NAME}/lab"))
    page.go_back()
    expect(page.get_by_role("button", name="Start session")).to_be_visible()
    page.reload()
    page.go_forward()
    page.wait_for_url(re.compile(f"/{NAME}/lab"))
    assert len(sent) == 2
    api = Api(page.context.request, portal.base_url)
    assert [job["name"] for job in api.ask("GET", "/jobs")["items"]].count(NAME) == 1


def test_what_a_question_is_about_ends_elsewhere(portal: Live, page: Page) -> None:
    """A job and a session end while their page asks whether to end them; also on a page without
    events."""
    api = Api(page.context.request, portal.base_url)
    body = {"script": SLEEP, "resources": SMALL}
    job, deaf = (api.ask("POST", "/jobs", body | {"name": f"{NAME}-{n}"}) for n in ("job", "deaf"))
    small = {"environment": "python3", "resources": {"cpus": 1, "memory_gb": 1}}
    one, other = (api.ask("POST", "/sessions", small | {"name": f"{NAME}-{n}"}) for n in "ab")
    api.until(f"/jobs/{job['id']}", "running")
    a_job_cancelled_by_scancel(portal, page, job["id"])
    a_session_stopped_elsewhere(portal, page, api, one["id"])
    on_a_page_that_is_cut_off(portal, page, api, deaf["id"], other["id"])


def a_job_cancelled_by_scancel(portal: Live, page: Page, job: str) -> None:
    page.goto(f"{portal.base_url}/jobs/{job}")
    # A click is lost if the button moves under it while the page fills.
    page.get_by_role("button", name="Cancel", exact=True).press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Cancel it")).to_be_visible()
    portal.exec_as(WHO, ["scancel", f"--user={WHO}", f"--name={NAME}-job"])
    expect(page.get_by_text("Cancelled", exact=True).first).to_be_visible()
    expect(dialog).to_have_count(0)  # there is nothing left to confirm
    expect(page.get_by_role("link", name="Run again")).to_be_visible()


def a_session_stopped_elsewhere(portal: Live, page: Page, api: Api, session: str) -> None:
    page.goto(f"{portal.base_url}/sessions/{session}")
    expect(page.get_by_role("link", name="Open JupyterLab")).to_be_visible()
    page.get_by_role("button", name="Stop", exact=True).press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Stop it")).to_be_visible()
    api.ask("DELETE", f"/sessions/{session}")
    expect(page.get_by_text("Stopped", exact=True).first).to_be_visible()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("link", name="Open JupyterLab")).to_have_count(0)
    expect(page.get_by_role("button", name="Start again")).to_be_visible()


def cut_off(page: Page) -> None:
    """Cut the page's event stream off; its other requests work."""
    page.context.set_offline(True)
    expect(page.get_by_text("no network connection").first).to_be_visible()  # it is cut off by now
    page.route("**/api/v1/events*", lambda route: route.abort())
    page.context.set_offline(False)


def on_a_page_that_is_cut_off(portal: Live, page: Page, api: Api, job: str, session: str) -> None:
    """A request to end an ended object is reported, and has no other effect."""
    page.goto(f"{portal.base_url}/jobs/{job}")
    # A click is lost if the button moves under it while the page fills.
    page.get_by_role("button", name="Cancel", exact=True).press("Enter")
    cut_off(page)
    api.ask("POST", f"/jobs/{job}/cancel")
    api.until(f"/jobs/{job}", "ended")
    page.get_by_role("dialog").get_by_role("button", name="Cancel it").click()
    expect(page.get_by_role("alert").filter(has_text=re.compile("ended|cancelled"))).to_be_visible()
    page.unroute_all()

    page.goto(f"{portal.base_url}/sessions/{session}")
    page.get_by_role("button", name="Stop", exact=True).press("Enter")
    cut_off(page)
    api.ask("DELETE", f"/sessions/{session}")
    api.until(f"/sessions/{session}", "ended")
    page.get_by_role("dialog").get_by_role("button", name="Stop it").click()
    expect(page.get_by_text("Stopped", exact=True).first).to_be_visible()
    expect(page.get_by_role("button", name="Start again")).to_be_visible()
