"""A job as a user runs it: choose a template, submit, watch, log, TensorBoard.

Also sharing with bob, refusals, and imported batch scripts. The rest of the form:
tests/more/browser/test_job_form.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.chromium import window
from tests.browser.clicks import Counted
from tests.browser.job_form import (
    BATCH,
    IMPORTED,
    check_imported,
    drop,
    open_jobs,
    submit_script,
)
from tests.live import Live

LogIn = Callable[[Page, str], None]
JOB = "browser-job"
SLEEPER = "browser-sleeper"
FAILING = "browser-failing"
SLEEP = "#!/bin/bash\nseq 20000\nprintf 'fast \\033[31masleep\\033[0m\\n'\nsleep 600\n"
FAIL = "#!/bin/bash\necho before\nls /no-such-folder\nexit 3\n"


@pytest.fixture(autouse=True)
def clean(portal: Live) -> Iterator[None]:
    """alice's jobs end with the test, whatever its result."""
    yield
    portal.exec_as("alice", ["scancel", "--user=alice"])


def choose(page: Page, template: str) -> None:
    """Open a template's form from the list of jobs."""
    page.get_by_role("link", name="Submit a job").click()
    page.get_by_role("link", name=template, exact=True).click()
    page.get_by_role("heading", name=template, level=1).wait_for()


def newest(page: Page, name: str) -> Locator:
    """Return the newest job with this name in the list."""
    return page.get_by_role("row").filter(has_text=name).first


def choose_action(page: Page, name: str, action: str) -> None:
    """Choose an action in the menu of the newest job with this name."""
    newest(page, name).get_by_role("button", name=f"Actions of {name}").click()
    page.get_by_role("menuitem", name=action).click()


def test_from_a_template_to_tensorboard(
    portal: Live, context: BrowserContext, log_in: LogIn
) -> None:
    page = context.new_page()
    log_in(page, "alice")
    way = Counted()
    way.click(page.get_by_role("navigation", name="Main").get_by_role("link", name="Jobs"))
    way.click(page.get_by_role("link", name="Submit a job"))
    way.click(page.get_by_role("link", name="Training with NumPy", exact=True))
    page.get_by_label("Epochs").fill("12")
    page.get_by_label("Name, optional").fill(JOB)
    page.get_by_text("Batch script").click()
    expect(page.get_by_label("The script", exact=True)).to_contain_text("epochs=12")
    expect(page.get_by_text(re.compile("^Starts at once|^Would start"))).to_be_visible()
    way.click(page.get_by_role("button", name="Submit job"))
    page.get_by_role("heading", name=JOB, level=1).wait_for()
    assert way.clicks <= 4
    expect(page.get_by_text("Completed", exact=True)).to_be_visible()
    log = page.locator("section pre").first
    expect(log).to_contain_text(re.compile(r"\n\s+11\s+0\.\d+"))
    expect(log).not_to_contain_text(re.compile(r"\n\s+12\s+0\.\d+"))
    expect(page.get_by_text("End of log.")).to_be_visible()
    job_url = page.url

    with context.expect_page() as opened:
        page.get_by_role("link", name="TensorBoard").click()
    board = opened.value
    board.locator("card-view", has_text="loss").first.wait_for()
    expect(board.locator("card-view line-chart").first).to_be_visible()
    assert re.search(r"/tensorboard/[0-9a-f-]{36}/[0-9a-f]{32}/", board.url)

    share_with_bob(page, context, log_in, board.url)

    page.get_by_role("link", name="Run again").click()
    expect(page.get_by_label("Epochs")).to_have_value("12")
    expect(page.get_by_label("Name, optional")).to_have_value(JOB)

    refuse_bob(portal, context, log_in, job_url, board.url)


def share_with_bob(page: Page, alices: BrowserContext, log_in: LogIn, board_url: str) -> None:
    """Share on alice's job page: bob finds it, opens it, and loses access again."""
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Share TensorBoard…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("User name").fill("unknown-user")
    dialog.get_by_role("button", name="Share", exact=True).click()
    expect(dialog.get_by_text("There is no user with this username.")).to_be_visible()
    dialog.get_by_label("User name").fill("bob")
    dialog.get_by_role("button", name="Share", exact=True).click()
    expect(dialog.get_by_role("listitem").filter(has_text="bob")).to_be_visible()

    browser = alices.browser
    assert browser is not None
    bobs = window(browser)
    his = bobs.new_page()
    log_in(his, "bob")
    open_jobs(his)
    his.get_by_role("link", name="Shared with you").click()
    card = his.get_by_role("article").filter(has_text=JOB)
    with bobs.expect_page() as opened:
        card.get_by_role("link", name="Open TensorBoard").click()
    # the same TensorBoard, at bob's own address
    board = re.search(r"/tensorboard/[0-9a-f-]{36}/", board_url)
    assert board is not None
    opened.value.wait_for_url(re.compile(f"{board[0]}[0-9a-f]{{32}}/"))
    assert opened.value.url.partition("#")[0] != board_url.partition("#")[0]
    opened.value.locator("card-view", has_text="loss").first.wait_for()

    dialog.get_by_role("button", name="Stop sharing with bob").click()
    expect(dialog.get_by_role("listitem").filter(has_text="bob")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(his.get_by_text("No TensorBoards are shared with you")).to_be_visible()
    bobs.close()


def refuse_bob(
    portal: Live, alices: BrowserContext, log_in: LogIn, job_url: str, board_url: str
) -> None:
    """Even with the addresses, bob gets neither job nor log nor TensorBoard."""
    browser = alices.browser
    assert browser is not None
    bobs = window(browser)
    page = bobs.new_page()
    log_in(page, "bob")
    open_jobs(page)
    page.get_by_role("link", name="Submit a job").wait_for()
    expect(page.get_by_text(JOB, exact=True)).to_have_count(0)
    page.goto(job_url)
    page.get_by_role("heading", name="There is nothing at this address").wait_for()
    batch_job_id = job_url.rstrip("/").rsplit("/", 1)[1]
    api = f"{portal.base_url}/api/v1/jobs"
    assert JOB not in [job["name"] for job in page.request.get(api).json()["items"]]
    for path in ("", "/log", "/tensorboard"):
        assert page.request.get(f"{api}/{batch_job_id}{path}").status == 404
    answer = page.goto(board_url)
    assert answer is not None
    assert answer.status == 404
    bobs.close()


def test_cancelled_from_the_list_and_removed(context: BrowserContext, log_in: LogIn) -> None:
    page = context.new_page()
    log_in(page, "alice")
    open_jobs(page)
    submit_script(page, SLEEP, SLEEPER)
    expect(page.locator("section pre").first).to_contain_text("fast asleep")
    read_the_log(page)
    open_jobs(page)
    row = newest(page, SLEEPER)
    expect(row).to_contain_text("Running")
    choose_action(page, SLEEPER, "Cancel…")
    page.get_by_role("dialog").get_by_role("button", name="Cancel it").click()
    expect(row).to_contain_text("Cancelled")
    before = page.get_by_role("row").filter(has_text=SLEEPER).count()
    choose_action(page, SLEEPER, "Remove")
    expect(page.get_by_role("row").filter(has_text=SLEEPER)).to_have_count(before - 1)


def read_the_log(page: Page) -> None:
    """A long log, while it is written: search, scroll back, download all of it."""
    page.reload()  # a page that was open from the beginning has all of it
    log = page.get_by_role("region", name="stdout")
    expect(log).to_contain_text("fast asleep")
    find = page.get_by_label("Find in this log")
    find.fill("ASLEEP")
    expect(page.get_by_text("1 of 1 in the loaded part")).to_be_visible()
    expect(log.locator("mark")).to_have_text("asleep")
    find.fill("no such words")
    expect(page.get_by_text("Not found in the loaded part")).to_be_visible()
    find.fill("")
    before = page.get_by_role("button", name="Load earlier lines")
    before.click()
    expect(before).to_have_count(0)
    shown = log.text_content() or ""
    assert (shown[:6], shown[-18:]) == ("1\n2\n3\n", "20000\nfast asleep\n")
    with page.expect_download() as saved:
        page.get_by_role("link", name="Download").click()
    text = saved.value.path().read_text()
    assert (text[:6], text[-27:]) == ("1\n2\n3\n", "20000\nfast \x1b[31masleep\x1b[0m\n")


def test_running_job_shows_its_usage_over_time(context: BrowserContext, log_in: LogIn) -> None:
    page = context.new_page()
    log_in(page, "alice")
    open_jobs(page)
    submit_script(page, SLEEP, SLEEPER)
    usage = page.get_by_role("region", name="Resource usage")
    memory = usage.get_by_role("figure").filter(has_text="used now; peak")
    expect(memory.locator(".uplot canvas")).to_be_visible()
    expect(usage.get_by_role("figure").filter(has_text="busy now")).to_be_visible()
    memory.get_by_text("Memory as a table").click()
    rows = memory.get_by_role("row")
    expect(rows.nth(1).get_by_role("cell")).to_have_text(re.compile(r"^\d+ MB$"))
    before = rows.count()
    expect(rows).not_to_have_count(before)  # it follows the job


def test_a_failed_job_shows_its_error_in_one_click(context: BrowserContext, log_in: LogIn) -> None:
    page = context.new_page()
    log_in(page, "alice")
    open_jobs(page)
    submit_script(page, FAIL, FAILING)
    open_jobs(page)
    row = newest(page, FAILING)
    expect(row).to_contain_text("Failed")
    way = Counted()
    way.click(row.get_by_role("button", name="Show the error"))
    error = page.get_by_role("dialog", name=f"Error of {FAILING}")
    expect(error.get_by_text(re.compile("no-such-folder.*No such file")).first).to_be_visible()
    assert way.clicks == 1
    page.keyboard.press("Escape")
    row.get_by_role("link", name=FAILING).click()
    page.get_by_role("button", name="Show it in the log").click()
    shown = page.get_by_role("region", name="stderr").locator("mark")
    expect(shown).to_have_text(re.compile("no-such-folder.*No such file"))
    expect(shown).to_be_in_viewport()


def test_what_is_refused_stands_at_its_field(context: BrowserContext, log_in: LogIn) -> None:
    page = context.new_page()
    log_in(page, "bob")
    open_jobs(page)
    choose(page, "Training with NumPy")
    page.get_by_label("Epochs").fill("0")
    expect(page.get_by_text("Epochs must be at least 1.")).to_be_visible()
    page.get_by_role("button", name="Submit job").click()
    expect(page.get_by_label("Epochs")).to_be_focused()

    page.get_by_role("link", name="All templates").click()
    page.get_by_text("Custom script", exact=True).click()
    script = page.get_by_label("Script", exact=True)
    page.locator(".cm-content").wait_for()
    script.fill("#!/bin/bash\n#SBATCH --array=1-9\nhostname\n")
    page.keyboard.press("Control+End")
    page.keyboard.press("Tab")
    page.keyboard.type("true")
    expect(script.locator(".cm-line").last).to_have_text("  true")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Environment")).to_be_focused()
    page.get_by_role("button", name="Submit job").click()
    expect(page.get_by_text(re.compile("^Line 2: "))).to_be_visible()
    expect(script).to_be_focused()


def test_a_dropped_file_starts_the_form(context: BrowserContext, log_in: LogIn) -> None:
    page = context.new_page()
    log_in(page, "alice")
    open_jobs(page)
    page.get_by_role("link", name="Submit a job").click()
    page.get_by_role("region", name="Start with a file").wait_for()
    problem = page.get_by_role("alert")
    drop(page, ["data.csv", "a,b"])
    expect(problem).to_contain_text("“data.csv” can't start a job.")
    drop(page, ["binary.py", "PK\0\0"])
    expect(problem).to_contain_text("not a text file")
    drop(page, ["empty.sh", ""])
    expect(problem).to_contain_text("“empty.sh” is empty.")

    drop(page, ["job.sh", BATCH])
    check_imported(page)
    page.reload()
    expect(page.get_by_label("Name, optional")).to_have_value(IMPORTED)
    page.get_by_role("button", name="Submit job").click()
    page.get_by_role("heading", name=IMPORTED, level=1).wait_for()
    expect(page.locator("section pre").first).to_contain_text("imported")


def test_pasted_sbatch_lines_become_fields(context: BrowserContext, log_in: LogIn) -> None:
    page = context.new_page()
    log_in(page, "alice")
    open_jobs(page)
    page.get_by_role("link", name="Submit a job").click()
    page.get_by_text("Custom script", exact=True).click()
    page.locator(".cm-content").wait_for()
    page.get_by_label("Script", exact=True).fill("#!/bin/bash\n#SBATCH -c 3 -C fast\nhostname\n")
    page.get_by_role("button", name="Turn the #SBATCH lines into fields").click()
    expect(page.get_by_label("CPUs", exact=True)).to_have_value("3")
    expect(page.get_by_label("Script", exact=True)).to_contain_text("#SBATCH -C fast")
    expect(page.get_by_role("button", name="Turn the #SBATCH lines into fields")).to_have_count(0)
