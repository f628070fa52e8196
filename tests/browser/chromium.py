"""The browser of the tests and of the screenshots: Debian's Chromium, without background
traffic. `chromium-headless-shell` takes a third less processor time, but shows no notifications."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Browser, BrowserContext, Playwright

PATIENCE_MS = 120_000
"""The timeout for pages and servers on a busy machine; successful tests never reach it."""

CHROMIUM = "/usr/bin/chromium"
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
