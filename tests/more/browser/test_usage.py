"""Usage over time, from a job in a real Slurm: the chart and its table."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.live import Live
from tests.polling import wait_until

LogIn = Callable[[Page, str], None]
HOURS = "CPU-hours per day"
DATA_SPAN = re.compile("Data (from|until)")


@pytest.fixture(scope="module")
def used(portal: Live) -> None:
    """Let bob use CPUs, under his default account, until accounting has it."""
    submit = ["sbatch", "--wait", "--partition=cpu", "--cpus-per-task=4", "--mem=100M"]
    portal.exec_as("bob", [*submit, "--chdir=/tmp", "--output=/dev/null", "--wrap=sleep 20"])


def reload_until_used(page: Page) -> None:
    """Wait until the portal has read accounting, which it does soon while a page asks for it."""

    def is_used() -> bool:
        page.reload()
        page.get_by_role("heading", name="Usage", level=1).wait_for()
        page.get_by_text(DATA_SPAN).wait_for()
        return page.get_by_role("link", name="bob", exact=True).count() > 0

    wait_until(is_used, "usage of bob")


@pytest.mark.usefixtures("used")
def test_usage_has_a_chart_and_a_table_by_user_and_account(
    portal: Live, context: BrowserContext, log_in: LogIn
) -> None:
    page = context.new_page()
    log_in(page, "carol")
    page.goto(f"{portal.base_url}/admin/usage")
    reload_until_used(page)
    page.get_by_role("radiogroup", name="Measure").get_by_text("CPU-hours").click()
    check_chart(page, "bob")
    page.get_by_role("radiogroup", name="Group by").get_by_text("By Slurm account").click()
    expect(page).to_have_url(f"{portal.base_url}/admin/usage?by=account")
    check_chart(page, "research")
    page.get_by_role("radiogroup", name="Range").get_by_text("12 months").click()
    expect(page.get_by_role("figure")).to_contain_text("CPU-hours per month")


def check_chart(page: Page, name: str) -> None:
    """The chart, its legend and its table contain this name."""
    chart = page.get_by_role("figure").filter(has_text=HOURS)
    expect(chart.locator("canvas")).to_be_visible()
    expect(chart.get_by_role("list", name="Legend")).to_contain_text(name)
    if not chart.get_by_role("table").is_visible():
        chart.get_by_text(f"{HOURS} as a table").click()
    expect(chart.get_by_role("columnheader", name=name)).to_be_visible()
    expect(chart.get_by_role("row")).to_have_count(31)  # the heading and 30 days


@pytest.mark.usefixtures("used")
def test_users_see_their_own_usage_over_time(
    portal: Live, context: BrowserContext, log_in: LogIn
) -> None:
    page = context.new_page()
    log_in(page, "bob")
    page.goto(f"{portal.base_url}/account/limits")
    own = page.get_by_role("region", name="Your usage")
    expect(own).to_contain_text(DATA_SPAN)

    def is_used() -> bool:
        page.reload()
        own.get_by_text(DATA_SPAN).wait_for()
        return own.get_by_role("figure").count() > 0

    wait_until(is_used, "a chart of bob's usage")
    own.get_by_role("radiogroup", name="Range").get_by_text("30 days").click()
    expect(own.get_by_role("figure")).to_contain_text("per day")
