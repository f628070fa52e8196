"""Managing many jobs: found, selected, compared, cancelled, removed; and benchmark results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.live import Live

LogIn = Callable[[Page, str], None]
NAME = f"lists{uuid4().hex[:6]}"  # unique to this run's jobs
SMALL = {"cpus": 1, "memory_gb": 1}
LEARNING = {"template": "python-training", "resources": SMALL}
MEASURING = {
    "template": "bench-storage",
    "name": f"{NAME}-storage",
    "parameters": {"size_mb": 8, "seconds": 5},
    "resources": SMALL,
}


@pytest.fixture
def alice(portal: Live, context: BrowserContext, log_in: LogIn) -> Iterator[Page]:
    """alice at her list; her running jobs end with the test."""
    page = context.new_page()
    log_in(page, "alice")
    yield page
    portal.exec_as("alice", ["scancel", "--user=alice"])


def submit(portal: Live, page: Page, **job: Any) -> str:
    answer = page.request.post(
        f"{portal.base_url}/api/v1/jobs", data=job, headers={"Origin": portal.base_url}
    )
    assert answer.status == 201, answer.text()
    return str(answer.json()["id"])


def jobs_called(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name))


def test_found_compared_cancelled_and_removed(portal: Live, alice: Page) -> None:
    page = alice
    submit(portal, page, **MEASURING)
    for rate in (0.1, 0.01):
        given = {"epochs": 2, "learning_rate": rate}
        submit(portal, page, **LEARNING, name=f"{NAME}-rate {rate}", parameters=given)
    submit(portal, page, script="#!/bin/bash\nsleep 900\n", name=f"{NAME}-sleeper", resources=SMALL)
    filter_and_return(portal, page)
    compare(page)
    choose_a_metric_as_a_column(portal, page)
    look_at_the_metrics_of_a_job(page)
    cancel_and_remove(portal, page)
    look_at_the_benchmark(portal, page)


def filter_and_return(portal: Live, page: Page) -> None:
    """The filter is part of the address, so that a link and a reload show the same jobs."""
    page.goto(f"{portal.base_url}/jobs")
    find = page.get_by_label("Find by name or Slurm job number")
    find.fill("no such job")
    expect(page.get_by_text("No matching jobs.")).to_be_visible()
    find.fill("no such job either")  # not yet searched for
    page.get_by_role("link", name="Show all jobs").click()
    expect(find).to_have_value("")
    find.fill(NAME)
    expect(jobs_called(page, NAME)).to_have_count(4)
    page.get_by_role("navigation", name="State").get_by_role("link", name="Completed").click()
    page.get_by_label("Template", exact=True).select_option("Training with NumPy")
    page.get_by_role("columnheader", name="Name").get_by_role("link").click()
    expect(jobs_called(page, NAME)).to_have_count(2)
    page.reload()
    names = jobs_called(page, NAME).get_by_role("rowheader")
    expect(names).to_have_text([f"{NAME}-rate 0.01", f"{NAME}-rate 0.1"])
    assert "state=completed" in page.url


def compare(page: Page) -> None:
    """Two runs side by side: their parameters differ, and both have logged."""
    page.get_by_role("checkbox", name="Select all that are shown").check()
    page.get_by_role("link", name="Compare").click()
    page.get_by_role("heading", name="Compare runs").wait_for()
    table = page.get_by_role("region", name="Runs side by side")
    rate = table.get_by_role("row", name="learning_rate")
    expect(rate.get_by_role("cell")).to_have_text(["0.01", "0.1"])
    expect(table.get_by_role("row", name="loss")).to_be_visible()
    expect(table.get_by_role("row", name="epochs")).to_have_count(0)
    page.get_by_label("Show identical rows").click()
    expect(table.get_by_role("row", name="epochs").get_by_role("cell")).to_have_text(["2", "2"])
    compare_metrics(page)
    page.get_by_role("button", name=f"Remove {NAME}-rate 0.1", exact=True).click()
    expect(rate.get_by_role("cell")).to_have_text(["0.01"])


def compare_metrics(page: Page) -> None:
    """The curves of both runs in one chart, and their last values against the parameters."""
    metrics = page.get_by_role("region", name="Metrics")
    loss = metrics.get_by_role("figure").filter(has_text="loss as a table")
    expect(loss.locator(".uplot canvas")).to_be_visible()
    expect(loss.locator(".u-legend")).to_contain_text(f"{NAME}-rate 0.01")
    expect(loss.locator(".u-legend")).to_contain_text(f"{NAME}-rate 0.1")
    sweep = metrics.get_by_role("figure", name="Parameters and metrics of the runs")
    expect(sweep.locator("svg")).to_contain_text("learning_rate")


def choose_a_metric_as_a_column(portal: Live, page: Page) -> None:
    """The portal has stored the last values when the jobs ended."""
    reset_columns(portal, page)
    page.goto(f"{portal.base_url}/jobs?q={NAME}-rate")
    page.get_by_role("button", name="Columns", exact=True).click()
    dialog = page.get_by_role("dialog", name="Columns")
    dialog.get_by_label("loss").click()  # check() doesn't wait for the preference to be stored
    expect(dialog.get_by_label("loss")).to_be_checked()
    page.keyboard.press("Escape")
    expect(page.get_by_role("columnheader", name="loss")).to_be_visible()
    row = jobs_called(page, f"{NAME}-rate 0.1")
    expect(row.get_by_role("cell").filter(has_text=re.compile(r"^0\.\d+$"))).to_be_visible()
    reset_columns(portal, page)


def reset_columns(portal: Live, page: Page) -> None:
    """Reset the columns, which an earlier run may have left."""
    answer = page.request.patch(
        f"{portal.base_url}/api/v1/me/preferences",
        data={"jobs_table": {"columns": None}},
        headers={"Origin": portal.base_url},
    )
    assert answer.ok, answer.text()


def look_at_the_metrics_of_a_job(page: Page) -> None:
    """The settings of the curves, by keyboard."""
    page.get_by_role("link", name=f"{NAME}-rate 0.01").click()
    metrics = page.get_by_role("region", name="Metrics")
    loss = metrics.get_by_role("figure").filter(has_text="loss as a table")
    expect(loss).to_contain_text("Last value: ")
    expect(loss.locator(".u-legend .u-series")).to_have_count(2)  # the step and the value
    slider = metrics.get_by_role("slider", name="Smoothing")
    slider.focus()
    page.keyboard.press("End")
    expect(loss.locator(".u-legend .u-series")).to_have_count(3)
    expect(loss.locator(".u-legend .u-series").filter(visible=True)).to_have_count(2)
    metrics.get_by_label("Logarithmic scale").check()
    loss.get_by_text("loss as a table").click()
    expect(loss.get_by_role("columnheader")).to_have_text(["Step", "Value"])
    metrics.get_by_text("By time").click()
    expect(loss.get_by_role("columnheader").first).to_have_text("Time since the first value")
    expect(loss.locator(".uplot canvas")).to_be_visible()


def test_sweep_is_shown_on_parallel_axes(portal: Live, alice: Page) -> None:
    page = alice
    values = {"learning_rate": [0.1, 0.5], "hidden": [4, 8], "epochs": 2}
    sweep = {"template": "hyperparameter-array", "resources": SMALL, "parameters": values}
    job = submit(portal, page, **sweep, name=f"{NAME}-sweep")
    page.goto(f"{portal.base_url}/jobs/{job}")
    metrics = page.get_by_role("region", name="Metrics")
    figure = metrics.get_by_role("figure", name="Parameters and metrics of the tasks")
    choice = figure.get_by_role("slider")
    expect(choice).to_have_attribute("max", "3", timeout=120_000)
    choice.focus()
    page.keyboard.press("End")
    expect(choice).to_have_attribute("aria-valuetext", re.compile(r"Task \d: learning_rate"))
    expect(figure.locator("path[data-chosen]")).to_have_count(1)
    figure.get_by_text("as a table").click()
    expect(figure.get_by_role("row")).to_have_count(5)
    metrics.get_by_label("Metrics of task").select_option("3")
    expect(metrics.get_by_role("figure").filter(has_text="loss as a table")).to_be_visible()


def cancel_and_remove(portal: Live, page: Page) -> None:
    """Each operation applies to the selected jobs for which it is possible."""
    page.goto(f"{portal.base_url}/jobs?q={NAME}")
    sleeper = jobs_called(page, f"{NAME}-sleeper")
    sleeper.get_by_role("checkbox").check()
    jobs_called(page, f"{NAME}-rate 0.1").get_by_role("checkbox").check()
    page.get_by_role("button", name="Cancel 1").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("The other one stays as it is")
    dialog.get_by_role("button", name="Cancel them").click()
    expect(page.get_by_text("1 job cancelled.")).to_be_visible()
    expect(sleeper).to_contain_text("Cancelled")
    expect(jobs_called(page, f"{NAME}-storage")).to_contain_text("Completed")
    page.get_by_label("Find by name or Slurm job number").fill(f"{NAME}-rate")
    expect(jobs_called(page, NAME)).to_have_count(2)
    page.get_by_role("checkbox", name="Select all that are shown").check()
    page.get_by_role("button", name="Remove 2").click()
    dialog.get_by_role("button", name="Remove them").click()
    expect(page.get_by_text("No matching jobs.")).to_be_visible()
    page.get_by_role("button", name="Show all", exact=True).click()
    expect(sleeper).to_be_visible()
    expect(jobs_called(page, f"{NAME}-rate")).to_have_count(0)


def look_at_the_benchmark(portal: Live, page: Page) -> None:
    page.get_by_role("link", name="Benchmarks").click()
    page.get_by_label("Benchmark").select_option("Benchmark: storage")
    table = page.get_by_role("region", name="read MB/s")
    expect(table.get_by_role("link", name=f"{NAME}-storage").first).to_be_visible()
    expect(table.get_by_role("row", name="sequential")).to_be_visible()
    page.get_by_label("Metric").select_option("write MB/s")
    expect(page.get_by_role("region", name="write MB/s")).to_be_visible()
    assert "measure=write" in page.url
