"""The command palette, opened by keys."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect


def find(page: Page, text: str) -> Locator:
    """Type into the palette, and return its options."""
    expect(page.get_by_role("dialog")).to_have_count(0)  # while one closes, keys are for it
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name=re.compile("^Find a page"))
    expect(field).to_be_focused()
    field.fill(text)
    return page.get_by_role("option")


def selected(page: Page) -> Locator:
    return page.get_by_role("option", selected=True)
