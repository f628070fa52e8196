"""The browser of the tests and of the screenshots: Debian's Chromium, with its own traffic off."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Browser, BrowserContext, Playwright

PATIENCE_MS = 120_000
"""For what a page or a server on a busy machine does; nothing waits for it in vain."""

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
    """With cookies of its own, and patience; `options` are those of `new_context`."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE_MS)
    return context


def launch(playwright: Playwright) -> Browser:
    return playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
