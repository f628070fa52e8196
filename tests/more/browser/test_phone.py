"""The main journeys on a phone, by touch: a session, a job, files, the cluster, the menu."""

from __future__ import annotations

import re
from collections.abc import Iterator
from secrets import token_hex

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.phone import ill_fitting, phone
from tests.browser.scenes import Api
from tests.live import Live

WHO = "alice"
SESSION = f"phone-{token_hex(2)}"
JOB = f"phone job {token_hex(2)} with a name that is longer than a screen is wide"


@pytest.fixture
def page(portal: Live, chromium: Browser) -> Iterator[Page]:
    """alice's phone; her sessions and jobs end with the test."""
    context = phone(chromium)
    yield context.new_page()
    api = Api(context.request, portal.base_url)
    api.ask("POST", "/login", {"username": WHO, "password": portal.users[WHO]})
    for session in api.ask("GET", "/sessions?state=live")["items"]:
        if session["name"] == SESSION:
            api.ask("DELETE", f"/sessions/{session['id']}")
    context.close()
    portal.exec_as(WHO, ["scancel", f"--user={WHO}"])


class Fitting:
    """Pages checked one by one, and their violations."""

    def __init__(self, page: Page) -> None:
        self.page, self.wrong = page, list[str]()

    def look(self, name: str) -> None:
        self.wrong += ill_fitting(self.page, name)


def test_the_main_journeys_by_touch(portal: Live, page: Page) -> None:
    fitting = Fitting(page)
    log_in(portal, page)
    fitting.look("home")
    start_a_session(fitting)
    submit_a_job(fitting)
    look_around(fitting)
    stop_the_session(fitting)
    log_out(fitting)
    assert not fitting.wrong, "\n\n".join(fitting.wrong)


def go(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Main").get_by_role("link", name=name).tap()
    expect(page.get_by_role("heading", level=1).first).to_be_visible()


def log_in(portal: Live, page: Page) -> None:
    page.goto(portal.base_url)
    page.get_by_label("User name").fill(WHO)
    page.get_by_label("Password", exact=True).fill(portal.users[WHO])
    page.get_by_role("button", name="Log in").tap()
    expect(page.get_by_role("heading", name="Your sessions")).to_be_visible()


def start_a_session(fitting: Fitting) -> None:
    """From Home, with the button at the foot of the screen, to the session's page."""
    page = fitting.page
    page.get_by_role("link", name="Start a session").first.tap()
    page.get_by_label("Name (optional)").fill(SESSION)
    page.get_by_role("radio", name=re.compile("^Custom")).check()
    page.get_by_label("GPUs", exact=True).fill("0")
    fitting.look("start, with numbers of one's own")
    home = page.url.partition("/start")[0]
    page.get_by_role("button", name="Start session").tap()
    # In a narrow window the notebook gets the full width: the file browser is closed.
    page.locator(".jp-LauncherCard, .jp-NotebookPanel").first.wait_for()
    expect(page.locator("#filebrowser")).to_be_hidden()
    page.goto(home)
    page.get_by_role("link", name=SESSION, exact=True).first.tap()
    expect(page.get_by_role("heading", name=SESSION, level=1)).to_be_visible()
    expect(page.get_by_role("link", name="Open JupyterLab")).to_be_visible()
    page.get_by_text("Log", exact=True).tap()
    expect(page.get_by_text("listening after")).to_be_visible()
    fitting.look("a session that runs, with its log")


def submit_a_job(fitting: Fitting) -> None:
    """From the list of jobs by a template to its log."""
    page = fitting.page
    go(page, "Jobs")
    page.get_by_role("link", name="Submit a job").tap()
    page.get_by_role("link", name="Training with NumPy", exact=True).tap()
    page.get_by_label("Epochs").fill("2")
    page.get_by_label("Name, optional").fill(JOB)
    page.get_by_text("Batch script").tap()
    expect(page.get_by_label("The script", exact=True)).to_contain_text("epochs=2")
    fitting.look("a template, with its script")
    page.get_by_role("button", name="Submit job").tap()
    expect(page.get_by_role("heading", name=JOB, level=1)).to_be_visible()
    expect(page.get_by_text("Completed", exact=True)).to_be_visible()
    expect(page.get_by_text("End of log.")).to_be_visible()
    fitting.look("a job that is done")
    go(page, "Jobs")
    card = page.get_by_role("article").filter(has_text=JOB)
    card.get_by_role("link", name="Log").tap()
    expect(page.get_by_role("region", name="stdout")).to_contain_text("loss")
    fitting.look("a log")
    go(page, "Jobs")
    card.get_by_role("checkbox").tap()
    expect(page.get_by_role("button", name="Remove 1")).to_be_in_viewport()
    fitting.look("jobs, one of them chosen")


def look_around(fitting: Fitting) -> None:
    page = fitting.page
    go(page, "Files")
    fitting.look("files")
    go(page, "Cluster")
    page.get_by_role("button", name=re.compile("^node01: ")).tap()
    expect(page.get_by_role("complementary", name="Node node01")).to_be_in_viewport()
    fitting.look("a node")
    page.get_by_text("Table", exact=True).tap()
    expect(page.get_by_role("region", name="Table of nodes")).to_be_visible()
    fitting.look("the table of nodes")
    page.get_by_role("button", name=re.compile("^Find anything")).tap()
    page.get_by_role("combobox", name=re.compile("^Find a page")).fill("glossary")
    fitting.look("the palette")
    page.get_by_role("option", name=re.compile("^Glossary")).tap()
    expect(page.get_by_role("heading", name="Glossary")).to_be_visible()


def stop_the_session(fitting: Fitting) -> None:
    page = fitting.page
    go(page, "Home")
    card = page.get_by_role("article").filter(has_text=SESSION)
    card.get_by_role("button", name="Stop", exact=True).tap()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_in_viewport()
    fitting.look("a question before an act")
    dialog.get_by_role("button", name=re.compile("Stop")).tap()
    expect(card.first).to_contain_text("Stopped")


def log_out(fitting: Fitting) -> None:
    page = fitting.page
    page.get_by_role("button", name=re.compile("^Account of Alice")).tap()
    expect(page.get_by_role("menu")).to_be_in_viewport()
    fitting.look("the menu of one's own")
    page.get_by_role("menuitem", name="Log out").tap()
    expect(page.get_by_label("User name")).to_be_visible()
    fitting.look("the login page")


def test_start_without_an_account_brings_the_reason_into_view(portal: Live, page: Page) -> None:
    problem = "You have no Slurm account yet. Ask your administrators to give you one."

    def without_account(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "no_session": problem})

    log_in(portal, page)
    page.route("**/api/v1/me/limits", without_account)
    page.goto(f"{portal.base_url}/start")
    reason = page.get_by_text(problem)
    expect(reason).to_be_attached()
    expect(reason).not_to_be_in_viewport()
    page.locator("form").get_by_role("button", name="Start session").last.tap()
    expect(reason).to_be_in_viewport()
