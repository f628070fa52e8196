"""The choice of a template: by category, with those that were used last at the front."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.scenes import SMALL, Api
from tests.live import Live

WHO = "bob"
RECENT = "Recently used"
TRAINING = {"template": "python-training", "parameters": {"epochs": 1}, "resources": SMALL}
SWEEP = {
    "template": "hyperparameter-array",
    "parameters": {"learning_rate": [0.1], "hidden": [4], "epochs": 1},
    "resources": SMALL,
}


@pytest.fixture
def page(portal: Live, logged_in: Callable[[str], Page]) -> Iterator[Page]:
    yield logged_in(WHO)
    portal.exec_as(WHO, ["scancel", f"--user={WHO}"])


def cards(page: Page, category: str) -> Locator:
    return page.get_by_role("list", name=f"Templates: {category}").get_by_role("heading")


def open_templates(portal: Live, page: Page, job: dict[str, Any]) -> str:
    """Submit a job, and return the title of its template on the page of templates."""
    api = Api(page.request, portal.base_url)
    api.ask("POST", "/jobs", job)
    page.goto(f"{portal.base_url}/jobs/new")
    return str(api.ask("GET", f"/templates/{job['template']}")["title"])


def test_templates_used_last_come_first(portal: Live, page: Page) -> None:
    training = open_templates(portal, page, TRAINING)
    expect(page.get_by_role("main").get_by_role("heading", level=2).first).to_have_text(RECENT)
    expect(cards(page, RECENT).first).to_have_text(training)
    sweep = open_templates(portal, page, SWEEP)
    expect(cards(page, RECENT).first).to_have_text(sweep)
    expect(cards(page, RECENT).nth(1)).to_have_text(training)
    expect(page.get_by_role("link", name=training, exact=True)).to_have_count(1)  # not twice


def test_one_category_is_shown_on_request(portal: Live, page: Page) -> None:
    training = open_templates(portal, page, TRAINING)
    categories = page.get_by_role("group", name="Category")
    headings = page.get_by_role("main").get_by_role("heading", level=2)
    expect(headings.first).to_have_text(RECENT)
    categories.get_by_role("button", name="Train", exact=True).click()
    expect(headings.filter(has_not_text="In use now")).to_have_text(["Train"])
    expect(page.get_by_role("link", name=training, exact=True)).to_be_visible()
    categories.get_by_role("button", name="Benchmark").click()
    expect(headings.filter(has_not_text="In use now")).to_have_text(["Benchmark"])
    expect(page.get_by_role("link", name=training, exact=True)).to_have_count(0)
    categories.get_by_role("button", name="All", exact=True).click()
    expect(headings.first).to_have_text(RECENT)
