"""The browser of the tests and of the screenshots: Debian's Chromium, without background
traffic."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Browser, BrowserContext, Playwright

from tests.browser import failed_pages

PATIENCE_MS = 120_000
"""The timeout for pages and servers on a busy machine; successful tests never reach it."""

HEADLESS = "/usr/bin/chromium-headless-shell"
"""Chromium without its desktop: two thirds of the processor time, and no permission for
notifications."""
DESKTOP = "/usr/bin/chromium"
QUIET = [
    "--no-sandbox",  # CI runs as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def window(browser: Browser, **options: Any) -> BrowserContext:
    """Open a context with separate cookies and a long timeout; `options` are passed to
    `new_context`."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE_MS)
    failed_pages.watch(context)
    return context


def launch(playwright: Playwright, program: str = HEADLESS) -> Browser:
    return playwright.chromium.launch(executable_path=program, args=QUIET)
