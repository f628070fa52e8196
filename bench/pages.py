"""Time until a page is usable in a real Chromium: each page from the browser's cache, and Home on a
first visit over a slow network.
"""

from __future__ import annotations

import json
import time

from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from bench.cluster_access import BenchCluster
from bench.figure import Figure, Result, at_most, median
from tests.browser.chromium import DESKTOP, QUIET
from tests.browser.places import PLACES
from tests.browser.scenes import REMEMBER_LOGIN

USER = "carol"  # an administrator, who sees every page
ROUNDS = 5
BUDGET_S = 1.0
LATENCY_MS = 100
MBIT_S = 10
SLOW_NETWORK = {
    "offline": False,
    "latency": LATENCY_MS,
    "downloadThroughput": MBIT_S * 1e6 / 8,
    "uploadThroughput": MBIT_S * 1e6 / 8,
}
SETTLE_MS = 2000
FIRST_LOAD_BUDGET_S = 2.0
MAX_SCRIPTS = 20
MAX_SHIFT = 0.1
OBSERVE = """() => {
    let [lcp, cls] = [0, 0];
    const observe = (type, add) => new PerformanceObserver((list) => list.getEntries().forEach(add))
        .observe({ type, buffered: true });
    observe('largest-contentful-paint', (paint) => { lcp = paint.startTime; });
    observe('layout-shift', (shift) => { cls += shift.value; });
    window.firstLoad = () => ({
        lcp_s: lcp / 1000,
        cls,
        scripts: performance.getEntriesByType('resource')
            .filter(({ name }) => new URL(name).pathname.endsWith('.js')).length,
    });
}"""
# Usable: a heading and no loading placeholder, checked at each animation frame.
USABLE = """() => document.querySelector('h1') !== null
    && document.querySelector('.mantine-Skeleton-root, [aria-label=Loading]') === null"""


async def measure(cluster: BenchCluster) -> Result:
    """Measure the pages that need no parameters, each loaded from the browser's cache."""
    pages = {page.name: page.address({}) for page in PLACES if not page.needs}
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=DESKTOP, args=QUIET)
        first_loads = [await _measure_first_load(cluster, browser) for _ in range(ROUNDS)]
        context = await _open_context(cluster, browser)
        page = await context.new_page()
        for path in pages.values():
            await _measure_page(page, path)
        rounds = [
            {name: await _measure_page(page, path) for name, path in pages.items()}
            for _ in range(ROUNDS)
        ]
        await browser.close()
    medians = {name: median([timings[name] for timings in rounds]) for name in pages}
    slowest = max(medians, key=lambda name: medians[name])
    return Result(
        (
            Figure(
                f"the slowest page is usable, once loaded before ({slowest})",
                medians[slowest],
                "s",
                budget=at_most(BUDGET_S),
            ),
            Figure(f"the same, median of {len(medians)} pages", median([*medians.values()]), "s"),
            Figure(
                f"first load of Home, {LATENCY_MS} ms and {MBIT_S} Mbit/s: largest paint (LCP)",
                median([load["lcp_s"] for load in first_loads]),
                "s",
                budget=at_most(FIRST_LOAD_BUDGET_S),
            ),
            Figure(
                "the same, script files",
                median([load["scripts"] for load in first_loads]),
                "",
                budget=at_most(MAX_SCRIPTS),
            ),
            Figure(
                "the same, layout shift (CLS)",
                median([load["cls"] for load in first_loads]),
                "",
                budget=at_most(MAX_SHIFT),
            ),
        ),
        {"median_s": medians, "first_loads": first_loads},
    )


async def _open_context(cluster: BenchCluster, browser: Browser) -> BrowserContext:
    """Open a browser with an empty cache in which USER is logged in."""
    context = await browser.new_context(base_url=cluster.base_url)
    login = {"username": USER, "password": cluster.users[USER]}
    response = await context.request.post(
        "/api/v1/login",
        data=login,
        headers={"Origin": cluster.base_url},
        fail_on_status_code=True,
    )
    # as the login page does: the pages end a login that is not registered
    login_entry = json.dumps([cluster.base_url, (await response.json())["login_id"]])
    await context.add_init_script(f"({REMEMBER_LOGIN})(...{login_entry})")
    return context


async def _measure_first_load(cluster: BenchCluster, browser: Browser) -> dict[str, float]:
    """Return Home's `lcp_s`, `cls` and `scripts` with an empty cache over a slow network."""
    context = await _open_context(cluster, browser)
    await context.add_init_script(f"({OBSERVE})()")
    page = await context.new_page()
    network = await context.new_cdp_session(page)
    await network.send("Network.enable")
    await network.send("Network.emulateNetworkConditions", SLOW_NETWORK)
    await page.goto("/", wait_until="commit")
    await page.wait_for_function(USABLE, polling="raf")
    # later paints and shifts count too
    await page.wait_for_timeout(SETTLE_MS)
    found: dict[str, float] = await page.evaluate("window.firstLoad()")
    await context.close()
    return found


async def _measure_page(page: Page, path: str) -> float:
    began = time.monotonic()
    await page.goto(path, wait_until="commit")
    await page.wait_for_function(USABLE, polling="raf")
    return time.monotonic() - began
