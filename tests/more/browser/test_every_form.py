"""Every template, preset and environment is submitted or started from its page, unchanged.

Where one cannot be used here, its page gives the reason.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from spawner.catalog.environment import Catalog
from spawner.catalog.template import load_templates
from tests.browser.scenes import Api
from tests.browser.untouched import (
    open_template,
    start_untouched,
    submit_untouched,
)
from tests.live import Live

pytest_plugins = ["tests.browser.form_fixtures"]
CLUSTER = Path(__file__).parents[3] / "cluster/cluster.toml"
PRESETS = [preset["title"] for preset in tomllib.loads(CLUSTER.read_text())["preset"]]
ENVIRONMENTS = sorted(Catalog.load(image_dir=Path("/nonexistent")).environments)


@pytest.mark.parametrize("name", sorted(load_templates()))
def test_a_template_is_submitted_untouched(
    portal: Live, form_page: Page, form_api: Api, name: str
) -> None:
    template = form_api.ask("GET", f"/templates/{name}")
    open_template(form_page, portal, template)
    if not template["available"]:
        expect(form_page.get_by_text(template["unavailable_reason"])).to_be_visible()
        return
    job = submit_untouched(form_page, form_api)
    assert job["template"] == name
    default = template["default_resources"]
    asked = {key: job["resources"][key] for key in ("partition", "nodes", "gpus")}
    assert asked == {key: default[key] for key in asked}


@pytest.mark.parametrize("title", PRESETS)
def test_a_preset_is_started_untouched(
    portal: Live, form_page: Page, form_api: Api, title: str
) -> None:
    (preset,) = (
        each for each in form_api.ask("GET", "/cluster")["presets"] if each["title"] == title
    )
    form_page.goto(f"{portal.base_url}/start?environment=python3")
    form_page.get_by_text(title, exact=True).click()
    resources = start_untouched(form_page, form_api)["resources"]
    named = {key: value for key, value in preset["resources"].items() if value is not None}
    assert {key: resources[key] for key in named} == named


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_session_starts_in_an_environment(
    portal: Live, form_page: Page, form_api: Api, name: str
) -> None:
    environments = form_api.ask("GET", "/environments")["items"]
    (environment,) = (each for each in environments if each["name"] == name)
    form_page.goto(f"{portal.base_url}/start")
    form_page.get_by_label("Search environments").fill(environment["title"])
    card = form_page.locator(f'input[type=radio][value="{name}"]')
    if not environment["available"]:
        expect(card).to_be_disabled()
        expect(form_page.get_by_text(environment["unavailable_reason"]).first).to_be_visible()
        return
    card.check()
    assert start_untouched(form_page, form_api, runs=True)["environment"] == name
