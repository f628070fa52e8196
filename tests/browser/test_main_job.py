"""The main workflow as a user runs it: log in, start, cells, TensorBoard, stop; and access by
bob."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.chromium import window
from tests.live import Live

LogIn = Callable[[Page, str], None]
SESSION = "browser"
WHERE = (
    "import os, platform; print('where', platform.node(), os.environ['SLURM_JOB_ID'],"
    " os.environ['CUDA_VISIBLE_DEVICES'], os.path.exists('/.singularity.d'))"
)
EVENTS = (
    "from tensorboardX import SummaryWriter; log = SummaryWriter(os.environ['PORTAL_LOGDIR']);"
    " [log.add_scalar('loss', 1 / (n + 1), n) for n in range(20)]; log.close(); print('written')"
)


@pytest.fixture(autouse=True)
def clean(portal: Live) -> Iterator[None]:
    """alice's sessions end with the test, whatever its result."""
    yield
    portal.exec_as("alice", ["scancel", "--user=alice"])


def start(page: Page, name: str) -> None:
    """Start a session with one GPU from the form."""
    page.get_by_role("link", name="Start a session").first.click()
    page.get_by_role("radio", name=re.compile("^One GPU")).check()
    page.get_by_label(re.compile("^Name")).fill(name)
    page.get_by_role("button", name="Start session").click()


def run_cell(page: Page, code: str) -> None:
    """Type into the last cell of the open notebook and run it."""
    cell = page.locator(".jp-Notebook .jp-CodeCell").last
    cell.locator(".cm-content").click()
    page.keyboard.insert_text(code)
    page.keyboard.press("Shift+Enter")


def output(page: Page, text: str | re.Pattern[str]) -> str:
    """Return the output that contains this text, once it is there."""
    found = page.locator(".jp-OutputArea-output", has_text=text).last
    found.wait_for()
    return found.inner_text()


def open_notebook(lab: Page) -> None:
    """Open a notebook from JupyterLab's launcher, without the earlier layout; wait for its
    kernel."""
    lab.wait_for_url(re.compile("/lab"))
    lab.goto(lab.url.partition("/lab")[0] + "/lab?reset")  # it may have opened a notebook
    lab.locator(".jp-LauncherCard[data-category=Notebook]").first.click()
    lab.locator(".jp-Notebook .jp-CodeCell .cm-content").first.wait_for()
    lab.get_by_text(re.compile(r"\| Idle$")).first.wait_for()


def test_the_main_job(portal: Live, context: BrowserContext, log_in: LogIn) -> None:
    lab = context.new_page()
    lab.goto(f"{portal.base_url}/login")
    lab.get_by_label("User name").fill("alice")
    lab.get_by_label("Password", exact=True).fill(portal.users["alice"])
    lab.keyboard.press("Enter")
    lab.get_by_role("heading", name="Your sessions").wait_for()
    start(lab, SESSION)  # JupyterLab opens by itself
    page = context.new_page()
    page.goto(portal.base_url)
    card = page.get_by_role("article").filter(has_text=SESSION).first
    expect(card).to_contain_text("Running", timeout=60_000)
    expect(card.get_by_role("link", name="Open JupyterLab")).to_be_visible()
    open_notebook(lab)

    run_cell(lab, WHERE)
    _, node, job_id, devices, contained = output(lab, re.compile("where node")).split()
    expect(card).to_contain_text(node)
    assert node in {"node01", "node02"}
    assert job_id.isdigit()
    assert devices in {"0", "1", "2", "3"}
    assert contained == "True"

    run_cell(lab, "import time; print('asleep'); time.sleep(600)")
    output(lab, "asleep")
    lab.get_by_role("menuitem", name="Kernel").click()
    lab.get_by_role("menuitem", name="Interrupt Kernel").click()
    output(lab, "KeyboardInterrupt")

    run_cell(lab, EVENTS)
    output(lab, "written")
    lab.get_by_role("menuitem", name="Kernel").click()
    lab.get_by_role("menuitem", name=re.compile("^Restart Kernel…")).click()
    lab.get_by_role("button", name="Confirm Kernel Restart").click()
    run_cell(lab, "print('log' in globals())")
    output(lab, "False")

    card.get_by_role("button", name=re.compile("^Actions of")).click()
    with context.expect_page() as opened:
        page.get_by_role("menuitem", name="TensorBoard").click()
    board = opened.value
    board.locator("card-view", has_text="loss").first.wait_for(timeout=60_000)
    expect(board.locator("card-view line-chart").first).to_be_visible()
    assert re.search(r"/tensorboard/[0-9a-f-]{36}/[0-9a-f]{32}/", board.url)

    refuse_bob(portal, context, log_in, lab.url, board.url)

    card.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("Stop")).click()
    expect(page.get_by_role("article").filter(has_text=SESSION).first).to_contain_text(
        re.compile("Stopped"), timeout=60_000
    )


def refuse_bob(
    portal: Live, alices: BrowserContext, log_in: LogIn, lab_url: str, board_url: str
) -> None:
    """Even with the addresses, bob gets neither notebook nor TensorBoard nor API."""
    browser = alices.browser
    assert browser is not None
    bobs = window(browser)
    page = bobs.new_page()
    log_in(page, "bob")
    expect(page.get_by_text(SESSION, exact=True)).to_have_count(0)
    for url, status in ((lab_url, 403), (board_url, 404)):
        answer = page.goto(url)
        assert answer is not None
        assert answer.status == status
    sessions = page.request.get(f"{portal.base_url}/api/v1/sessions").json()
    assert SESSION not in [session["name"] for session in sessions["items"]]
    bobs.close()


def test_wrong_password_shows_alert(portal: Live, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(portal.base_url)
    page.get_by_label("User name").fill("alice")
    page.get_by_label("Password", exact=True).fill("not-the-password")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert").first).to_contain_text("Wrong")
    page.get_by_label("User name").fill("dave")
    page.get_by_label("Password", exact=True).fill(portal.users["dave"])
    with page.expect_response("**/api/v1/login") as answer:
        page.keyboard.press("Enter")
    # a browser without an earlier login of dave's does not reveal that his account is locked
    assert answer.value.status == 401
    expect(page.get_by_role("alert").first).to_contain_text("Wrong")


def test_impossible_resources_are_reported_while_typing(
    portal: Live, context: BrowserContext, log_in: LogIn
) -> None:
    page = context.new_page()
    log_in(page, "bob")
    page.get_by_role("link", name="Start a session").first.click()
    page.get_by_role("radio", name=re.compile("^Custom")).check()
    page.get_by_label("GPUs", exact=True).fill("9")
    expect(page.get_by_text(re.compile("more than 4"))).to_be_visible()
    page.get_by_role("button", name="Start session").click()
    expect(page.get_by_text(re.compile("^Correct the marked fields"))).to_be_visible()
    expect(page).to_have_url(re.compile("/start"))
