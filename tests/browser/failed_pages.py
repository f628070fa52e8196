"""What the pages of a failed test show and still wait for, for its report."""

from __future__ import annotations

from playwright.sync_api import Browser, BrowserContext, Error, Page, Request

STATE_MS = 5_000
STATE = """() => JSON.stringify({
  ready: document.readyState,
  visibility: document.visibilityState,
  text: (document.body?.innerText ?? '').slice(0, 500),
  loaded: performance.getEntriesByType('resource').map((entry) => [
    new URL(entry.name).pathname, Math.round(entry.startTime), Math.round(entry.responseEnd),
  ]),
})"""
_unanswered: dict[BrowserContext, set[Request]] = {}


def watch(context: BrowserContext) -> None:
    """Keep the context's unanswered requests, until it is closed."""
    waiting: set[Request] = set()
    _unanswered[context] = waiting

    # not the set's methods: Playwright keeps an attribute on each listener
    def begin(request: Request) -> None:
        waiting.add(request)

    def end(request: Request) -> None:
        waiting.discard(request)

    def forget(_: BrowserContext) -> None:
        del _unanswered[context]

    context.on("request", begin)
    context.on("requestfinished", end)
    context.on("requestfailed", end)
    context.on("close", forget)


def describe(browser: Browser) -> str:
    """Return the state of every open page, and the requests without a complete response."""
    lines = []
    for context in browser.contexts:
        lines += [_describe_page(page) for page in context.pages]
        lines += [f"unanswered: {one.method} {one.url}" for one in _unanswered.get(context, ())]
    return "\n".join(lines)


def _describe_page(page: Page) -> str:
    try:  # unlike evaluate(), this ends if the page's process hangs
        state = page.wait_for_function(STATE, timeout=STATE_MS).json_value()
    except Error as error:
        return f"{page.url}: {error.message}"
    return f"{page.url}: {state}"
