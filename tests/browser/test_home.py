"""The Home page is consistent: sessions, usage and recent use change together."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.browser.scenes import Api
from tests.browser.test_first_paint import MAX_SHIFT, RECORD
from tests.live import Live

RESOURCES = {"gpus": 1, "cpus": 1, "memory_gb": 0.5, "time_limit_minutes": 10}
AT_ONCE_MS = 5_000
MEASURED_MS = 120_000
"""A node reports twice a minute, and the page asks as often."""
ONE_GPU = re.compile(r"1 (of \d+ GPUs?|GPU) in use")
RECENT = "**/api/v1/me/recent-usage"


def test_usage_follows_a_session(
    portal: Live, context: BrowserContext, log_in: Callable[[Page, str], None]
) -> None:
    context.add_init_script(f"({RECORD})()")
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    log_in(page, "bob")
    first = re.compile("^(Nothing is running|Start your first session)$")
    expect(page.get_by_role("heading", name=first)).to_be_visible()
    assert not [url for url in asked if url.endswith("/recent-usage")], "nothing runs"
    api = Api(context.request, portal.base_url)
    made = api.ask("POST", "/sessions", {"environment": "python3", "resources": RESOURCES})
    usage = page.get_by_role("region", name="Your current usage")
    expect(usage).to_contain_text("1 session")
    api.until(f"/sessions/{made['id']}", "running")
    card = page.get_by_role("article", name=made["name"]).first  # ended ones follow
    expect(card).to_contain_text(re.compile(r"[CG]PU \d+ % now"), timeout=MEASURED_MS)
    expect(card.get_by_role("img", name=re.compile("in the last 15 minutes"))).to_be_visible()
    strip = page.get_by_role("list", name="In use now").get_by_role("listitem")
    expect(strip.filter(has_text="You")).to_contain_text(ONE_GPU)
    expect(strip.filter(has_text="Cluster")).to_contain_text("GPUs in use")
    keep_or_stop(portal, page, made["name"], made["id"])
    expect(page.get_by_role("heading", name="Nothing is running")).to_be_visible()
    expect(usage).not_to_contain_text("1 session", timeout=AT_ONCE_MS)
    api.until(f"/sessions/{made['id']}", "ended")


def keep_or_stop(portal: Live, page: Page, name: str, session_id: str) -> None:
    """A hint at an idle GPU moves nothing, stays away once the session is kept, and stops it."""
    since = datetime.now(UTC) - timedelta(minutes=25)
    trend = {"resource": "gpu", "percent": [0] * 30, "gpu_idle_longer": False}

    def idle_since(at: datetime) -> Callable[[Route], None]:
        item: dict[str, Any] = {**trend, "id": session_id, "gpu_idle_since": at.isoformat()}
        body = json.dumps({"step_s": 30, "items": [item]})
        return lambda route: route.fulfill(content_type="application/json", body=body)

    page.route(RECENT, idle_since(since))
    page.goto(portal.base_url)
    card = page.get_by_role("article", name=name).first
    expect(card).to_contain_text("GPU idle for 25 min")
    assert page.evaluate("window.shift") < MAX_SHIFT
    card.get_by_role("button", name=f"Keep running: {name}").click()
    expect(card).to_contain_text("GPU 0 % now")
    page.reload()
    expect(card).to_contain_text("GPU 0 % now")
    # used again, and idle since then
    page.unroute(RECENT)
    page.evaluate("localStorage.setItem('portal-idle-gpus-kept', '{}')")
    page.route(RECENT, idle_since(since))
    page.reload()
    card.get_by_role("button", name=f"Stop {name}").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop it").click()
