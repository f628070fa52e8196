"""The browser of the tests and of the screenshots: Debian's Chromium without a window system, and
without background traffic. It takes two thirds of the processor time of the desktop's Chromium."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Browser, BrowserContext, Playwright

PATIENCE_MS = 120_000
"""The timeout for pages and servers on a busy machine; successful tests never reach it."""

CHROMIUM = "/usr/bin/chromium-headless-shell"
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
    return context


def launch(playwright: Playwright) -> Browser:
    return playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
