"""A phone: a small touch screen, and the properties that every page must have on it."""

from __future__ import annotations

from playwright.sync_api import Browser, BrowserContext, Page, StorageState

from tests.browser.axe import findings
from tests.browser.chromium import window
from tests.browser.places import settle

WIDTH, HEIGHT = 390, 844


def phone(chromium: Browser, login: StorageState | None = None) -> BrowserContext:
    """Open a phone context without animations and in the light scheme.

    `login`: the cookies and storage of another browser.
    """
    return window(
        chromium,
        viewport={"width": WIDTH, "height": HEIGHT},
        is_mobile=True,
        has_touch=True,
        reduced_motion="reduce",
        color_scheme="light",
        storage_state=login,
    )


def ill_fitting(page: Page, name: str) -> list[str]:
    """Return content wider than the screen, small touch targets and other violations, as
    sentences."""
    settle(page)
    # a phone widens its viewport to the page's width
    wide = page.evaluate("document.documentElement.scrollWidth") - WIDTH
    found = [f"{name}: {wide} pixels wider than the screen"] if wide > 0 else []
    # the target size is one of these rules (WCAG 2.2, 2.5.8)
    return found + [f"{name}: {text}" for text in findings(page)]
