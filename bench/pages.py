"""Time until a page is usable in a real Chromium that has the page's assets in its cache."""

from __future__ import annotations

import json
import time

from playwright.async_api import Page, async_playwright

from bench.figure import Figure, Result, at_most, median
from bench.place import BenchFolder
from tests.browser.chromium import CHROMIUM, QUIET
from tests.browser.places import PLACES
from tests.browser.scenes import REMEMBER_LOGIN

WHO = "carol"  # an administrator, who sees every page
ROUNDS = 5
BUDGET_S = 1.0
# Usable: a heading and no loading placeholder, checked at each animation frame.
USABLE = """() => document.querySelector('h1') !== null
    && document.querySelector('.mantine-Skeleton-root, [aria-label=Loading]') === null"""


async def measure(place: BenchFolder) -> Result:
    """Measure the pages that need no parameters, each loaded from the browser's cache."""
    pages = {each.name: each.address({}) for each in PLACES if not each.needs}
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        context = await browser.new_context(base_url=place.base_url)
        login = {"username": WHO, "password": place.users[WHO]}
        answer = await context.request.post(
            "/api/v1/login",
            data=login,
            headers={"Origin": place.base_url},
            fail_on_status_code=True,
        )
        # as the login page does: the pages end a login that is not registered
        known = json.dumps([place.base_url, (await answer.json())["login_id"]])
        await context.add_init_script(f"({REMEMBER_LOGIN})(...{known})")
        page = await context.new_page()
        for path in pages.values():
            await _measure_page(page, path)
        rounds = [
            {name: await _measure_page(page, path) for name, path in pages.items()}
            for _ in range(ROUNDS)
        ]
        await browser.close()
    medians = {name: median([each[name] for each in rounds]) for name in pages}
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
        ),
        {"median_s": medians},
    )


async def _measure_page(page: Page, path: str) -> float:
    began = time.monotonic()
    await page.goto(path, wait_until="commit")
    await page.wait_for_function(USABLE, polling="raf")
    return time.monotonic() - began
