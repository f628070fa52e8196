"""Every page on a phone, in Chinese, and in the dark scheme: accessibility, width and language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser import scenes
from tests.browser.axe import findings
from tests.browser.chromium import window
from tests.browser.every_place import visit_every_place
from tests.browser.phone import ill_fitting, phone
from tests.browser.places import settle
from tests.live import Live

CAROL = "carol"


@pytest.fixture
def chinese(chromium: Browser) -> Iterator[BrowserContext]:
    """A browser with reduced motion: no check happens during a transition."""
    context = window(
        chromium,
        viewport={"width": 1280, "height": 900},
        reduced_motion="reduce",
        color_scheme="light",
        locale="zh-CN",
    )
    yield context
    context.close()


def test_every_page_is_accessible(portal: Live, chromium: Browser, chinese: BrowserContext) -> None:
    page = chinese.new_page()
    page.goto(f"{portal.base_url}/login")
    expect(page.get_by_role("button", name="登录", exact=True)).to_be_visible()
    grave = in_chinese(page, "login")
    pocket = phone(chromium)
    try:
        scenes.log_in(pocket, portal.base_url, CAROL, portal.users[CAROL])
        small = pocket.new_page()
        with closing(visit_every_place(portal, page, CAROL)) as names:
            for name in names:
                grave += in_chinese(page, name)
                small.goto(page.url)
                grave += ill_fitting(small, f"{name}, on a phone")
    finally:
        pocket.close()
    assert not grave, "\n\n".join(grave)


def in_chinese(page: Page, name: str) -> list[str]:
    """Check the page in a Chinese browser of a user without a preferred language, and its colors
    in the dark scheme; those of the light one are checked in English."""
    settle(page)
    expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
    expect(page.locator("body")).to_contain_text(re.compile(r"[\u4e00-\u9fff]"))
    found = [f"{name}, in Chinese: {text}" for text in findings(page)]
    page.emulate_media(color_scheme="dark")
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
    found += [f"{name}, dark: {text}" for text in findings(page, only=["color-contrast"])]
    page.emulate_media(color_scheme="light")
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "light")
    return found
