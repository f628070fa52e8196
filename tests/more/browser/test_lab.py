"""The portal inside JupyterLab: an idle session, and the user's language."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser import jupyterlab as jl
from tests.browser.lab_session import MINUTES, SESSION, left, started
from tests.live import Live

LogIn = Callable[[Page, str], None]
IDLE_MINUTES = 0.2  # two measurements of the node program


@pytest.fixture
def soon_idle(portal: Live) -> Iterator[None]:
    """A portal that reports an idle session after the shortest possible time."""
    settings = portal.state / "etc/portal.toml"
    before = settings.read_text()
    settings.write_text(f"session_idle_warning_minutes = {IDLE_MINUTES}\n{before}")
    restart(portal)
    yield
    settings.write_text(before)
    restart(portal)


def restart(portal: Live) -> None:
    portal.stop("portal")
    portal.start("portal")


@pytest.mark.usefixtures("soon_idle")
def test_idle_session_warns_until_something_runs(
    portal: Live, context: BrowserContext, log_in: LogIn, chromium: Browser
) -> None:
    lab = context.new_page()
    log_in(lab, "alice")
    with started(portal, chromium, minutes=60) as session:
        url = session.now()["url"]
        jl.open_launcher(lab, url)
        warning = lab.get_by_role("alert").filter(has_text="Nothing has run here for")
        expect(warning).to_contain_text("CPU")
        with context.expect_page() as opened:
            warning.get_by_role("button", name="Stop Session…").click()
        page = opened.value
        page.get_by_role("heading", name=SESSION, level=1).wait_for()
        idle = page.get_by_text(re.compile(r"^Idle for"))
        expect(idle).to_be_visible()
        page.get_by_role("dialog").get_by_role("button", name="Keep it running").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert page.url == f"{portal.base_url}/sessions/{session.id}"
        page.goto(portal.base_url)
        expect(page.get_by_role("article").filter(has_text=SESSION).first).to_contain_text("Idle")

        jl.open_launcher(lab, url)
        warning.get_by_role("button", name="Keep Running").click()
        expect(warning).to_be_hidden()
        with lab.expect_response(re.compile(r"/portal/session(\?|$)")) as received:
            jl.open_launcher(lab, url)
        assert received.value.json()["kept"], "the server remembers it for every tab"
        left(lab).wait_for()
        expect(warning).to_be_hidden()

        jl.open_notebook(lab, "Python 3.11")
        jl.run_cell(lab, "import time; time.sleep(3600)")
        lab.get_by_text("Python 3.11 | Busy").first.wait_for()
        lab.close()
        expect(idle).to_be_hidden()  # it is waiting, but the cell is still running
        assert session.now()["idle_since"] is None
        assert session.now()["state"] == "running"


def test_jupyterlab_speaks_the_language_of_the_portal(
    portal: Live, context: BrowserContext, log_in: LogIn, chromium: Browser
) -> None:
    lab = context.new_page()
    log_in(lab, "alice")
    with started(portal, chromium, MINUTES, language="zh") as session:
        with lab.expect_response(re.compile(r"/zh\.[\w-]+\.json$")) as sentences:
            lab.goto(f"{session.now()['url']}lab?reset")
        assert sentences.value.ok, "the portal's sentences come with it"
        time_left = lab.get_by_role("button", name=re.compile(r"^剩余 1\d:\d\d 分钟$"))
        time_left.click()
        offered = lab.get_by_role("menu").get_by_role("menuitem")
        expect(offered.filter(has_text="返回门户")).to_be_visible()
        expect(offered.filter(has_text="延长 1 小时")).to_be_visible()
        expect(lab.get_by_role("menuitem", name="会话", exact=True)).to_be_visible()
        expect(lab.get_by_role("menuitem", name="文件", exact=True)).to_be_visible()
        expect(lab.get_by_role("alert")).to_contain_text("请保存您的工作")
