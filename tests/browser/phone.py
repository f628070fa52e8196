"""A phone: a small screen, a finger instead of a mouse, and what must hold on it everywhere."""

from __future__ import annotations

from playwright.sync_api import Browser, BrowserContext, Page, StorageState

from tests.browser.axe import findings
from tests.browser.chromium import window
from tests.browser.places import settle

WIDTH, HEIGHT = 390, 844


def phone(chromium: Browser, login: StorageState | None = None) -> BrowserContext:
    """One that holds still and is light; `login`: the cookies of another browser."""
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
    """What is wider than the screen, too small for a finger, or shuts anybody out, as sentences."""
    settle(page)
    # a phone makes its window as wide as the page is
    wide = page.evaluate("document.documentElement.scrollWidth") - WIDTH
    found = [f"{name}: {wide} pixels wider than the screen"] if wide > 0 else []
    # the size of what is touched is one of these rules (WCAG 2.2, 2.5.8)
    return found + [f"{name}: {text}" for text in findings(page)]
