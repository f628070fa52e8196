"""The header fits into every window, and its links work again after a lost network."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, expect

from tests.live import Live

LINE_PX = 45
"""More than the height of a link or button of one line."""

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
