"""The Home page is consistent: sessions and usage change together."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.scenes import Api
from tests.live import Live

RESOURCES = {"cpus": 1, "memory_gb": 0.5, "time_limit_minutes": 10}
AT_ONCE_MS = 5_000


def test_usage_follows_the_end_of_a_session(
    portal: Live, context: BrowserContext, log_in: Callable[[Page, str], None]
) -> None:
    page = context.new_page()
    log_in(page, "bob")
    api = Api(context.request, portal.base_url)
    made = api.ask("POST", "/sessions", {"environment": "python3", "resources": RESOURCES})
    usage = page.get_by_role("region", name="Your current usage")
    expect(usage).to_contain_text("1 session")
    api.ask("DELETE", f"/sessions/{made['id']}")
    expect(page.get_by_role("heading", name="Nothing is running")).to_be_visible()
    expect(usage).not_to_contain_text("1 session", timeout=AT_ONCE_MS)
