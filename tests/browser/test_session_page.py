"""A session's own page, from its first usage to the values of Slurm's accounting at the end."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from tests.browser.scenes import Api
from tests.live import Live
from tests.unit.spawner.files.jobs.event_files import scalar_event

LogIn = Callable[[Page, str], None]
OWNER = "bob"
MINUTES = 14  # less than 15 minutes: every page warns
SLOW_S = 120
POLL_MS = 16_000
"""A little more than the interval of requests for curves."""
CHART = "**/assets/TimePlot-*.js"
PACKAGE = f"portal_test_{token_hex(2)}"
SINGLE = f"portal_single_{token_hex(2)}"
SITE = ".local/share/portal/packages/python3/lib/python3.11/site-packages"


@dataclass(frozen=True)
class Started:
    id: str
    name: str


@pytest.fixture
def session(portal: Live, chromium: Browser) -> Iterator[Started]:
    """A short session that runs."""
    context = chromium.new_context(extra_http_headers={"Origin": portal.base_url})
    api = f"{portal.base_url}/api/v1"
    login = {"username": OWNER, "password": portal.users[OWNER]}
    assert context.request.post(f"{api}/login", data=login).ok
    wanted = {"gpus": 0, "time_limit_minutes": MINUTES, "memory_gb": 2}
    name = f"page-{token_hex(2)}"
    made = context.request.post(
        f"{api}/sessions", data={"environment": "python3", "name": name, "resources": wanted}
    )
    assert made.ok, made.text()
    started = Started(made.json()["id"], name)
    calls = Api(context.request, portal.base_url)
    calls.until(f"/sessions/{started.id}", "running")
    yield started
    for session in calls.ask("GET", "/sessions")["items"]:
        if session["name"] == name:  # it was restarted
            calls.end(session["id"])
    context.close()


def _now(context: BrowserContext, address: str) -> Any:
    return context.request.get(address).json()


@pytest.fixture
def installed(portal: Live) -> Iterator[None]:
    """Two packages of the owner's, as pip installs them; one lists its files."""
    folder, single = f"{SITE}/{PACKAGE}-1.2.dist-info", f"{SITE}/{SINGLE}-2.0.dist-info"
    record = f"{SINGLE}/__init__.py,,\\n{SINGLE}-2.0.dist-info/RECORD,,\\n"
    portal.exec_as(OWNER, ["/bin/mkdir", "-p", folder, single, f"{SITE}/{SINGLE}"])
    portal.exec_as(OWNER, ["/bin/touch", f"{SITE}/{SINGLE}/__init__.py"])
    portal.exec_as(OWNER, ["/bin/sh", "-c", f"printf '{record}' > {single}/RECORD"])
    yield
    portal.exec_as(OWNER, ["/bin/rm", "-rf", folder, single, f"{SITE}/{SINGLE}"])


@pytest.mark.usefixtures("installed")
def test_a_session_s_page(
    portal: Live, context: BrowserContext, log_in: LogIn, session: Started
) -> None:
    page = context.new_page()
    log_in(page, OWNER)
    restarted(page, session, portal)
    more_time_anywhere(page, session)
    page.route(CHART, lambda route: route.abort())
    page.get_by_role("link", name=session.name, exact=True).first.click()
    expect(page.get_by_role("heading", name=session.name, level=1)).to_be_visible()
    what_it_uses(page)
    range_and_cursor(page)
    packages(page)
    metrics_grow(portal, page)
    to_its_end(page, session)


def restarted(page: Page, session: Started, portal: Live) -> None:
    """Stop it and start it again; JupyterLab opens, and the ended session is removed."""
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Restart it").click()
    expect(page.get_by_role("heading", name=f"Restarting {session.name}")).to_be_visible()
    page.wait_for_url(re.compile(r"/user/[^?]*/lab"), timeout=SLOW_S * 1000)
    Api(page.request, portal.base_url).ask("DELETE", f"/sessions/{session.id}")
    page.goto(portal.base_url)


def more_time_anywhere(page: Page, session: Started) -> None:
    """Any other page warns that the time is running out, and can extend it."""
    menu = page.get_by_role("navigation", name="Main")
    menu.get_by_role("link", name="Files").click()
    warning = page.get_by_role("status").filter(has_text=f"Session {session.name} ends at")
    expect(warning).to_be_visible()
    warning.get_by_role("button", name=f"More time for {session.name}").click()
    page.get_by_role("menuitem", name="1 h more").click()
    expect(warning).to_be_hidden()
    menu.get_by_role("link", name="Home").click()


def what_it_uses(page: Page) -> None:
    """The node's measurements, as a chart and as a table."""
    use = page.get_by_role("region", name="Usage")
    expect(use.get_by_text("of 2 GB used now")).to_be_visible()
    expect(use.get_by_text("couldn't be loaded").first).to_be_visible()
    page.unroute(CHART)
    use.get_by_role("button", name="Try again").first.click()
    expect(use.locator(".uplot canvas").first).to_be_visible()
    use.get_by_text("Memory as a table").click()
    expect(use.get_by_role("table").get_by_text("MB").first).to_be_visible()


def range_and_cursor(page: Page) -> None:
    """The charts of usage share the chosen time range, and the time below the pointer."""

    def for_two_hours(route: Route) -> None:
        """The measurements of a session that has used the same memory and CPUs for two hours."""
        usage = route.fetch().json()
        last, points = usage["at"][-1], 2 * 60
        usage |= {"step_s": 60, "at": [last - 60 * back for back in reversed(range(points + 1))]}
        for name in ("memory_mb", "cpus"):
            usage[name] = [max(filter(None, usage[name]), default=1)] * (points + 1)
        route.fulfill(json=usage)

    page.route("**/api/v1/sessions/*/use", for_two_hours)
    page.reload()
    use = page.get_by_role("region", name="Usage")
    plots = use.locator(".uplot .u-over")
    expect(plots).to_have_count(2)
    times = use.locator(".u-legend .u-series:first-child .u-value")

    def at_left_edge() -> str:
        """The time that both charts show while the pointer is at the left edge of the first."""
        plots.first.hover(position={"x": 1, "y": 20})
        expect(times.nth(1)).to_have_text(times.first.inner_text())
        return times.first.inner_text()

    hours_ago = at_left_edge()
    page.mouse.move(0, 0)
    now = times.first.inner_text()
    assert now != hours_ago
    use.get_by_role("radiogroup", name="Time range of the charts").get_by_text("Last 1 h").click()
    assert at_left_edge() not in (now, hours_ago)
    page.unroute("**/api/v1/sessions/*/use")
    page.reload()


def metrics_grow(portal: Live, page: Page) -> None:
    """Curves of what a notebook logs appear, and follow it."""
    api = Api(page.request, portal.base_url)
    folder = api.ask("GET", f"/sessions/{page.url.rpartition('/')[2]}")["logdir"]
    log_scalars(portal, folder, range(3))
    page.clock.install()
    page.reload()
    chart = page.get_by_role("region", name="Metrics").get_by_role("figure")
    expect(chart.locator(".uplot canvas")).to_be_visible()
    chart.get_by_text("as a table").click()
    rows = chart.get_by_role("row")
    expect(rows).to_have_count(1 + 3)
    log_scalars(portal, folder, range(3, 5))
    page.clock.fast_forward(POLL_MS)
    expect(rows).to_have_count(1 + 5)


def log_scalars(portal: Live, folder: str, steps: range) -> None:
    """Append to an event file, as TensorBoard's writers do."""
    events = b"".join(scalar_event(step, "loss", 1 / (step + 1), 1000.0 + step) for step in steps)
    text = base64.b64encode(events).decode()
    write = f"mkdir -p '{folder}' && echo {text} | base64 -d >> '{folder}/events.out.tfevents.1'"
    portal.exec_as(OWNER, ["/bin/sh", "-c", write])


def packages(page: Page) -> None:
    own = page.get_by_role("region", name="Your packages")
    names = own.get_by_role("list", name="Installed packages")
    expect(names.get_by_text(PACKAGE)).to_be_visible()
    remove_one(page)
    own.get_by_role("button", name="Remove them all…").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(own.get_by_text("You have not installed any packages")).to_be_visible()
    page.reload()
    own.get_by_role("button", name="Restore them").click()
    expect(names.get_by_text(PACKAGE)).to_be_visible()
    expect(names.get_by_text(SINGLE)).to_have_count(0)


def remove_one(page: Page) -> None:
    """Remove a single package; the other stays."""
    names = page.get_by_role("list", name="Installed packages")
    names.get_by_role("button", name=f"Remove {SINGLE}…").click()
    dialog = page.get_by_role("dialog", name=f"Remove {SINGLE}?")
    dialog.get_by_role("button", name="Remove it", exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(names.get_by_text(SINGLE)).to_have_count(0)
    expect(names.get_by_text(PACKAGE)).to_be_visible()


def to_its_end(page: Page, session: Started) -> None:
    page.get_by_text("Log", exact=True).click()
    expect(page.get_by_text("listening after")).to_be_visible()
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Stop it").click()
    expect(page.get_by_text("Stopped", exact=True)).to_be_visible()
    expect(page.get_by_text("Totals from Slurm's accounting")).to_be_visible()
    expect(page.get_by_role("region", name="Usage").get_by_text("Peak: ")).to_be_visible()
    page.get_by_role("button", name="Remove from the list").click()
    expect(page.get_by_role("heading", name="Home", level=1)).to_be_visible()
    expect(page.get_by_role("link", name=session.name, exact=True)).to_be_hidden()
