"""The Cluster page with a real Slurm: GPU owners, reasons of unavailable nodes, the queue."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.chromium import window
from tests.live import Live
from tests.polling import wait_until

LogIn = Callable[[Page, str], None]
REASON = "fan 2 <b>broken</b>"


def submit(portal: Live, user: str, gpus: int, name: str) -> None:
    where = ["--partition=gpu", "--nodelist=node01", f"--gres=gpu:{gpus}", "--time=20", "--mem=1G"]
    portal.exec_as(user, ["sbatch", *where, f"--job-name={name}", "--wrap=sleep 600"])


def running(portal: Live) -> set[str]:
    names = portal.exec_as("root", ["squeue", "-h", "--states=running", "-o", "%j"])
    return set(names.split())


@pytest.fixture
def busy(portal: Live) -> Iterator[None]:
    """node01 with one GPU used by alice and two by bob, a pending job of alice, and node02 drained.

    The pending job needs all four GPUs.
    """
    drain = ["scontrol", "update", "NodeName=node02"]
    portal.exec_as("root", [*drain, "State=DRAIN", f"Reason={REASON}"])
    for user in ("alice", "bob"):  # leftovers of other tests
        portal.exec_as(user, ["scancel", f"--user={user}"])
    try:
        submit(portal, "alice", 1, "small")
        submit(portal, "bob", 2, "bobs-own")
        # until both run: Slurm would keep their GPUs for a waiting job of higher priority
        wait_until(lambda: {"small", "bobs-own"} <= running(portal), "both jobs run")
        submit(portal, "alice", 4, "large")
        yield
    finally:
        portal.exec_as("root", [*drain, "State=RESUME"])
        for user in ("alice", "bob"):
            portal.exec_as(user, ["scancel", f"--user={user}"])


@pytest.mark.usefixtures("busy")
def test_the_cluster_at_a_glance_and_node_by_node(
    chromium: Browser, context: BrowserContext, log_in: LogIn
) -> None:
    page = context.new_page()
    log_in(page, "alice")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Cluster").click()
    expect(page.get_by_role("heading", name="Cluster", level=1)).to_be_visible()
    first = page.get_by_role("button", name="node01: ")
    expect(first).to_have_accessible_name(
        "node01: Partly in use. v100: 1 free, 1 yours, 2 in use by others."
    )
    second = page.get_by_role("button", name="node02: ")
    expect(second).to_have_accessible_name(
        f"node02: Out of service. {REASON}. v100: 4 out of service."
    )
    expect(page.get_by_text("Next in gpu")).to_be_visible()
    expect(page.get_by_role("main")).not_to_contain_text("bob")
    by_keyboard(page)
    as_a_table(page)
    with closing(window(chromium, viewport={"width": 1280, "height": 900})) as others:
        page = others.new_page()
        log_in(page, "carol")
        as_an_administrator(page)


def by_keyboard(page: Page) -> None:
    """One tab stop; arrow keys move between nodes, Enter opens one."""
    page.get_by_role("button", name="node01: ").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("button", name="node02: ")).to_be_focused()
    page.keyboard.press("Enter")
    details = page.get_by_role("complementary", name="Node node02")
    expect(details).to_contain_text(REASON)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    mine = page.get_by_role("complementary", name="Node node01")
    expect(mine.get_by_role("link", name="small")).to_be_visible()
    expect(mine).not_to_contain_text("In-band")
    page.keyboard.press("Escape")
    expect(mine).to_be_hidden()


def as_a_table(page: Page) -> None:
    """The same as a table, filtered and sorted, with the state in the address."""
    page.get_by_text("Table", exact=True).click()
    table = page.get_by_role("region", name="Table of nodes")
    expect(table.get_by_role("rowheader")).to_have_text(["node01", "node02", "node03"])
    table.get_by_role("button", name="CPUs free").click()
    expect(table.get_by_role("rowheader").first).to_have_text("node03")
    page.get_by_label("State", exact=True).select_option("Out of service")
    expect(table.get_by_role("rowheader")).to_have_text(["node02"])
    expect(page.get_by_role("status").filter(has_text="1 of 3 nodes")).to_be_visible()
    page.reload()
    expect(table.get_by_role("rowheader")).to_have_text(["node02"])
    page.get_by_label("State", exact=True).select_option("Partly in use (1)")
    expect(table.get_by_role("rowheader")).to_have_text(["node01"])
    page.get_by_label("Free GPUs").select_option("2 free GPUs or more")
    expect(page.get_by_text("No matching nodes.")).to_be_visible()
    page.get_by_label("Find a node").fill("no such thing")
    page.get_by_role("button", name="Show all nodes").click()
    expect(table.get_by_role("rowheader")).to_have_count(3)


def as_an_administrator(page: Page) -> None:
    """Users and jobs of each node, and the nodes' addresses."""
    page.goto(page.url.rstrip("/") + "/cluster?view=table&node=node01")
    row = page.get_by_role("row").filter(has_text="node01").first
    expect(row).to_contain_text("node01-bmc.example")
    details = page.get_by_role("complementary", name="Node node01")
    expect(details).to_contain_text("alice: 1 job, 1 GPU")
    expect(details).to_contain_text("bob: 1 job, 2 GPUs")


def test_the_history_has_charts_and_tables(
    portal: Live, context: BrowserContext, log_in: LogIn
) -> None:
    page = context.new_page()
    log_in(page, "alice")
    page.goto(f"{portal.base_url}/cluster")
    history = page.get_by_role("region", name="History")
    expect(history.get_by_role("figure")).to_have_count(4)  # from the portal's first minute on
    expect(history.locator("canvas")).to_have_count(4)
    cpus = history.get_by_role("figure").filter(has_text="CPUs as a table")
    cpus.get_by_text("CPUs as a table").click()
    expect(cpus.get_by_role("columnheader")).to_contain_text(["Time", "Allocated"])
    expect(cpus.get_by_role("cell", name="96").first).to_be_visible()
    history.get_by_text("1 year").click()
    expect(page).to_have_url(f"{portal.base_url}/cluster?history=1y")
    page.reload()
    expect(history.get_by_role("radio", name="1 year")).to_be_checked()
    expect(history.get_by_role("figure")).to_have_count(4)
