"""Forms open with the values that the portal would request, so they can be submitted unchanged.

Every template, preset and environment: tests/more/browser.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.scenes import Api
from tests.browser.untouched import (
    open_template,
    start_untouched,
    submit_untouched,
)
from tests.images import needs
from tests.live import Live

pytest_plugins = ["tests.browser.form_fixtures"]


@needs("pytorch", "horovod")
@pytest.mark.parametrize(
    ("name", "partition", "nodes"), [("pytorch-multi-gpu", "gpu", 1), ("mpi-hello", "gpu", 2)]
)
def test_a_template_is_submitted_untouched(
    portal: Live, form_page: Page, form_api: Api, name: str, partition: str, nodes: int
) -> None:
    open_template(form_page, portal, form_api.ask("GET", f"/templates/{name}"))
    expect(form_page.get_by_label("Partition", exact=True)).to_have_value(partition)
    resources = submit_untouched(form_page, form_api)["resources"]
    assert (resources["partition"], resources["nodes"]) == (partition, nodes)


def test_an_untouched_partition_follows_the_number_of_gpus(
    portal: Live, form_page: Page, form_api: Api
) -> None:
    open_template(form_page, portal, form_api.ask("GET", "/templates/python-training"))
    partition, gpus = (
        form_page.get_by_label("Partition", exact=True),
        form_page.get_by_label("GPUs", exact=True),
    )
    expect(partition).to_have_value("cpu")
    gpus.fill("4")
    expect(partition).to_have_value("gpu")
    gpus.fill("0")
    expect(partition).to_have_value("cpu")
    partition.select_option("gpu")
    gpus.fill("1")
    gpus.fill("0")  # the partition was chosen manually
    expect(partition).to_have_value("gpu")
    gpus.fill("4")
    assert submit_untouched(form_page, form_api)["resources"]["gpus"] == 4


def test_a_preset_is_started_untouched_and_own_numbers_follow_it(
    portal: Live, form_page: Page, form_api: Api
) -> None:
    form_page.goto(f"{portal.base_url}/start?environment=python3")
    form_page.get_by_text("One GPU", exact=True).click()
    assert start_untouched(form_page, form_api)["resources"]["partition"] == "gpu"
    form_page.goto(f"{portal.base_url}/start?environment=python3&")
    form_page.get_by_text("No GPU", exact=True).click()
    form_page.get_by_text("Custom", exact=True).click()
    partition = form_page.get_by_label("Partition", exact=True)
    expect(partition).to_have_value("cpu")
    form_page.get_by_label("GPUs", exact=True).fill("1")
    expect(partition).to_have_value("gpu")
    assert start_untouched(form_page, form_api)["resources"]["gpus"] == 1
