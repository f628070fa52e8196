"""How soon a page can be used whose program the browser has fetched before, in a real Chromium."""

from __future__ import annotations

import time

from playwright.async_api import Page, async_playwright

from bench.figure import Figure, Result, at_most, median
from bench.place import Place
from tests.browser.chromium import CHROMIUM, QUIET
from tests.browser.places import PLACES

WHO = "carol"  # an admin, who sees every page
ROUNDS = 5
BUDGET_S = 1.0
# A heading, and nothing that stands for what is to come; looked for at each frame.
USABLE = """() => document.querySelector('h1') !== null
    && document.querySelector('.mantine-Skeleton-root, [aria-label=Loading]') === null"""


async def measure(place: Place) -> Result:
    """The pages that show something by themselves, each loaded anew from the browser's cache."""
    pages = {each.name: each.address({}) for each in PLACES if not each.needs}
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        context = await browser.new_context(base_url=place.base_url)
        login = {"username": WHO, "password": place.users[WHO]}
        await context.request.post(
            "/api/v1/login",
            data=login,
            headers={"Origin": place.base_url},
            fail_on_status_code=True,
        )
        page = await context.new_page()
        for path in pages.values():
            await _usable_after(page, path)
        rounds = [
            {name: await _usable_after(page, path) for name, path in pages.items()}
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


async def _usable_after(page: Page, path: str) -> float:
    began = time.monotonic()
    await page.goto(path, wait_until="commit")
    await page.wait_for_function(USABLE, polling="raf")
    return time.monotonic() - began
