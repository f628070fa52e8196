"""The page's frame: the header in every window, the site's own logo, the width of the pages."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.places import settle
from tests.browser.scenes import Api
from tests.live import Live

LINE_PX = 45
"""More than the height of a link or button of one line."""
LARGE = {"width": 1920, "height": 1080}
WIDE_PX, NARROW_PX = 1800, 1200
TAGLINE = "Example University, Institute of Things"
LOGO = """<svg xmlns="http://www.w3.org/2000/svg" width="90" height="30">
<rect width="90" height="30" fill="navy"/></svg>"""
OWN_LOGO = "img[src='/favicon.svg']"
SITE_LOGO = "img[src='/api/v1/site/logo']"

# How far the page or a part of the header is beyond the window, and the tallest part
MEASURE = """() => {
  const parts = [...document.querySelectorAll('header a, header button')]
    .map((part) => part.getBoundingClientRect())
    .filter(({ width }) => width > 0);
  const page = document.documentElement;
  return [
    Math.max(page.scrollWidth, ...parts.map(({ right }) => right)) - page.clientWidth,
    Math.max(...parts.map(({ height }) => height)),
  ];
}"""


def test_header_fits_into_every_window(portal: Live, logged_in: Callable[[str], Page]) -> None:
    """As carol, whose header has the most links: tablets, and 200 % zoom."""
    page = logged_in("carol")
    found: dict[int, tuple[float, float]] = {}
    for width in range(320, 1000, 20):
        page.set_viewport_size({"width": width, "height": 700})
        beyond, tallest = page.evaluate(MEASURE)
        if beyond > 0 or tallest > LINE_PX:
            found[width] = (beyond, tallest)
    assert not found


def test_a_page_opened_offline_appears_once_the_network_is_back(
    context: BrowserContext, logged_in: Callable[[str], Page]
) -> None:
    page = logged_in("carol")
    context.set_offline(True)
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Files").click()
    expect(page.get_by_role("heading", name="This page can't be shown")).to_be_visible()
    context.set_offline(False)
    expect(page.get_by_role("heading", name="Files", level=1)).to_be_visible()


def test_a_site_s_logo_and_tag_line_replace_the_portal_s(
    portal: Live, context: BrowserContext, log_in: Callable[[Page, str], None]
) -> None:
    page = context.new_page()
    page.goto(f"{portal.base_url}/login")
    expect(page.locator(OWN_LOGO)).to_be_visible()
    expect(page.get_by_text("Notebooks and jobs on your cluster")).to_be_visible()
    site = json.dumps({"logo": True, "tagline": TAGLINE})
    page.route(
        "**/api/v1/site", lambda route: route.fulfill(content_type="application/json", body=site)
    )
    page.route(
        "**/api/v1/site/logo",
        lambda route: route.fulfill(content_type="image/svg+xml", body=LOGO),
    )
    page.reload()
    expect(page.get_by_role("main").get_by_text(TAGLINE)).to_be_visible()
    expect(page.get_by_text("Notebooks and jobs on your cluster")).to_have_count(0)
    expect_logo(page)
    log_in(page, "alice")
    header = page.locator("header")
    expect(header.get_by_text(TAGLINE)).to_be_visible()
    expect_logo(page)
    page.set_viewport_size({"width": 700, "height": 700})
    beyond, tallest = page.evaluate(MEASURE)
    assert beyond <= 0
    assert tallest <= LINE_PX


def expect_logo(page: Page) -> None:
    """The site's logo in its own proportions, and no other."""
    logo = page.locator(SITE_LOGO)
    expect(logo).to_be_visible()
    width, height = logo.evaluate("image => [image.width, image.height]")
    assert width == 3 * height
    expect(page.locator(OWN_LOGO)).to_have_count(0)


@pytest.fixture
def carol(logged_in: Callable[[str], Page]) -> Page:
    """carol's page on a large screen."""
    page = logged_in("carol")
    page.set_viewport_size(LARGE)  # type: ignore[arg-type]
    return page


def test_tables_logs_and_charts_use_a_large_screen(portal: Live, carol: Page) -> None:
    api = Api(carol.request, portal.base_url)
    resources = {"cpus": 1, "memory_gb": 0.25, "gpus": 0, "time_limit_minutes": 5}
    script = {"script": "#!/bin/bash\necho wide\n", "name": "wide", "resources": resources}
    job = api.ask("POST", "/jobs", script)["id"]
    widths: dict[str, float] = {}

    def measure(path: str, what: str) -> None:
        carol.goto(f"{portal.base_url}{path}")
        settle(carol)
        box = carol.locator(what).first.bounding_box()
        assert box is not None, path
        widths[path] = box["width"]

    measure("/jobs", "[aria-label='Table of jobs']")
    measure("/admin/users", "main table")
    measure("/cluster", "main section:has(figure)")
    api.until(f"/jobs/{job}", "ended")
    measure(f"/jobs/{job}/log", "main pre")
    assert {path: width for path, width in widths.items() if width < WIDE_PX} == {}
    widths.clear()
    measure("/start", "main form")
    measure("/jobs/new", "main")
    measure("/account", "main")
    assert {path: width for path, width in widths.items() if width > NARROW_PX} == {}
    api.ask("DELETE", f"/jobs/{job}")
