"""The system's status: reports on a service that works, is down, hangs, or was never checked."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import portal as portal_package
from portal.context import AppContext
from portal.db import utcnow
from portal.health import nginx_probe
from portal.health.checks.catalog import check_node_table
from portal.health.checks.launcher import check_last_use
from portal.health.checks.slurm import (
    check_accounting,
    check_nodes,
    check_operator,
    check_slurm,
    is_down,
)
from portal.health.registry import Component, HealthCheck, run_check
from portal.health.result import CheckResult, ComponentState, ago
from portal.health.status import ComponentStatus, SystemStatus
from portal.hub.client import HubNotReady, HubRefused
from spawner.errors import Unreachable
from spawner.slurm.model import NodeInfo
from tests.fakes.context import partial_context
from tests.polling import PATIENCE_S
from tests.portal.conftest import Browser, Portal, RunPortal
from tests.servers.slapd import Slapd, free_port

pytestmark = pytest.mark.anyio


def nowhere() -> str:
    """Return an address of this machine where nothing listens."""
    return f"http://127.0.0.1:{free_port()}"


async def look(portal: Portal, part: Component) -> list[ComponentStatus]:
    """Check a service now, and return its items."""
    return await look_at(portal.app.state.status, part)


async def look_at(status: SystemStatus, part: Component) -> list[ComponentStatus]:
    await status.check_now(part)
    return [item for item in status.items if item.part is part]


def status_of(*checks: HealthCheck) -> SystemStatus:
    """Return a status with only these checks, which need no parts of an installation."""
    return SystemStatus(checks, partial_context())


# --- services of a real portal --------------------------------------------------------------------


async def test_states_of_parts_are_independent_without_slurm_and_hub(run_portal: RunPortal) -> None:
    """No Slurm, no hub, no nginx and no launcher here; a real directory and a real database."""
    async with run_portal(public_url=nowhere()) as portal, portal.browser() as browser:
        for part in Component:
            await look(portal, part)
        await browser.login("carol")
        body = (await browser.get("/api/v1/admin/status")).body
    states = {item["part"]: item["state"] for item in body["items"]}
    assert states == {
        "database": "ok", "directory": "ok", "slurm": "failing", "slurmdbd": "failing",
        "nodes": "unknown", "hub": "failing", "nginx": "failing", "launcher": "failing",
        "catalog": "ok", "disk": states["disk"], "origins": "failing", "gpus": "unknown",
    }  # fmt: skip
    for item in body["items"]:
        assert item["message"]
        assert item["checked_at"]
        if item["state"] == "failing":
            assert item["suggestion"], item
            assert item["answered_at"] is None
    assert (body["version"], body["hub_version"]) == (portal_package.__version__, None)


async def test_it_is_for_administrators(browser: Browser) -> None:
    await browser.login("alice")
    assert (await browser.get("/api/v1/admin/status")).status == 403


async def test_reading_the_status_starts_no_probe(portal: Portal, browser: Browser) -> None:
    async def never(_context: AppContext) -> CheckResult:
        raise AssertionError("asked")

    await browser.login("carol")
    portal.app.state.status = status_of(HealthCheck("hub", never, Component.HUB))
    for _ in range(3):
        (hub,) = (await browser.get("/api/v1/admin/status")).body["items"]
        assert (hub["state"], hub["checked_at"]) == ("unknown", None)


async def test_each_directory_server_has_its_own_state(run_portal: RunPortal, slapd: Slapd) -> None:
    gone = f"ldap://127.0.0.1:{free_port()}"
    async with run_portal(ldap_urls=[gone, slapd.ldap_url]) as portal:
        first, second = await look(portal, Component.DIRECTORY)
        assert (first.name, first.state, first.latency_ms) == (gone, ComponentState.FAILING, None)
        assert "ldap_urls" in first.suggestion
        assert (second.name, second.state) == (slapd.ldap_url, ComponentState.OK)
        assert second.answered_at == second.checked_at


async def test_the_hub_that_stops_keeps_its_last_good_answer(
    portal: Portal, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = portal.context
    await look(portal, Component.HUB)  # the loop's own first check is over
    behaviour: dict[str, Callable[[], str]] = {"version": lambda: "5.4.0"}

    async def version() -> str:
        return behaviour["version"]()

    def fail(error: Exception) -> Callable[[], str]:
        def raising() -> str:
            raise error

        return raising

    monkeypatch.setattr(context.hub, "version", version)
    (well,) = await look(portal, Component.HUB)
    versions = portal.app.state.status.versions
    assert (well.state, versions[Component.HUB]) == (ComponentState.OK, "5.4.0")
    behaviour["version"] = fail(HubNotReady("refused"))
    (away,) = await look(portal, Component.HUB)
    assert (away.state, away.answered_at) == (ComponentState.FAILING, well.answered_at)
    assert portal.settings.hub_url in away.message
    behaviour["version"] = fail(HubRefused(403, "no"))
    (refusing,) = await look(portal, Component.HUB)
    assert "refuses" in refusing.message


async def test_nginx_is_asked_where_it_is_this_machine(
    portal: Portal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The portal's own address replaces nginx's; an address elsewhere is not requested."""
    status: SystemStatus = portal.app.state.status

    monkeypatch.setattr(nginx_probe, "TIMEOUT_S", PATIENCE_S)
    (check,) = [check for check in status.checks if check.name == "nginx"]

    async def at(url: str) -> CheckResult:
        settings = portal.settings.model_copy(update={"public_url": url})
        (result,) = await run_check(check, replace(status.context, settings=settings))
        return result

    assert "No answer" in (await at(nowhere())).text
    assert (await at(portal.url)).state is ComponentState.OK
    assert "do not reach the portal" in (await at(f"{portal.url}/nowhere")).text
    elsewhere = await at("http://192.0.2.1:8000")
    assert (elsewhere.state, "another machine" in elsewhere.text) == (
        ComponentState.UNKNOWN,
        True,
    )
    assert (await at("http://no-such-name.invalid")).state is ComponentState.UNKNOWN


# --- fake services with named behaviors -----------------------------------------------------------


@pytest.fixture
def played() -> Any:
    """A portal with a watcher and launchers whose state a test defines."""
    watcher = SimpleNamespace(
        stale_since=None, trouble=None, took_s=0.02, at=utcnow(), jobs={1: None}, cluster=None
    )
    slurm = SimpleNamespace(check_accounting=_nothing, admin_level=_operator, config=_config)
    accounting_cache = SimpleNamespace(denied=False, runaways=())
    launchers = SimpleNamespace(answered_at=None, trouble=None, home_problems={})
    return partial_context(
        watcher=watcher,
        launchers=launchers,
        accounting=accounting_cache,
        slurm=slurm,
        is_serving=True,
    )


async def _config() -> str:
    return "AccountingStorageType   = accounting_storage/slurmdbd\n"


async def _operator(account: str) -> str:
    return "Operator"


async def _nothing() -> None:
    return None


async def test_slurm_that_answers_and_then_does_not(played: Any) -> None:
    watcher: Any = played.watcher
    found = await check_slurm(played)
    assert (found.state, found.latency_ms, found.answered_at) == (ComponentState.OK, 20, watcher.at)
    assert "1 job known" in found.text
    watcher.stale_since, watcher.trouble = utcnow() - timedelta(minutes=7), "no answer within 10 s."
    found = await check_slurm(played)
    assert found.state is ComponentState.FAILING
    assert found.text == "No answer for 7 minutes: No answer within 10 s."
    assert found.answered_at == watcher.at
    assert (await check_nodes(played)).state is ComponentState.UNKNOWN


async def test_slurmdbd_that_is_away(played: Any) -> None:
    assert (await check_accounting(played)).state is ComponentState.OK

    async def away() -> None:
        raise Unreachable("Slurm doesn't answer.", "sacctmgr: error: refused")

    played.slurm.check_accounting = away
    found = await check_accounting(played)
    assert (found.state, "refused" in found.text) == (ComponentState.FAILING, True)


async def test_jobs_without_an_end_are_named(played: Any) -> None:
    played.accounting.runaways = [12, 14]
    found = await check_accounting(played)
    assert found.state is ComponentState.OK
    assert "lacks the end of 2 jobs that Slurm has lost: 12, 14." in found.text


async def test_slurmdbd_that_lets_the_portal_write_nothing(played: Any) -> None:
    played.accounting.denied = True
    found = await check_operator(played)
    assert (found.state, "restart slurmdbd" in found.suggestion) == (ComponentState.FAILING, True)

    async def no_level(account: str) -> str:
        return "None"

    played.slurm.admin_level = no_level
    found = await check_operator(played)
    assert found.state is ComponentState.FAILING
    assert "not a Slurm operator" in found.text
    assert "AdminLevel=Operator" in found.suggestion


async def test_nodes_that_are_down(played: Any) -> None:
    def cluster(*states: str) -> None:
        nodes = tuple(NodeInfo(f"node{n}", "", state) for n, state in enumerate(states))
        played.watcher.cluster = SimpleNamespace(nodes=nodes, at=utcnow())

    cluster("IDLE", "IDLE+DRAIN", "MIXED")
    assert (await check_nodes(played)).text == (
        "3 nodes, none down, 1 of them drained by an administrator."
    )
    cluster("IDLE*", "DOWN", "ALLOCATED")
    found = await check_nodes(played)
    assert (found.state, found.text) == (
        ComponentState.FAILING,
        "2 of 3 nodes down: node0, node1.",
    )


async def test_mistakes_in_the_table_of_nodes(played: Any, tmp_path: Path) -> None:
    file = tmp_path / "nodes.yaml"
    table = played.node_table
    table.file = file
    nodes = (NodeInfo("node01", "", "IDLE"),)
    played.watcher.cluster = SimpleNamespace(nodes=nodes, at=utcnow())
    file.write_text("node01: {in_band: 10.0.0.1}\nnode09: {in_band: 10.0.0.9}\n")
    await table.refresh()
    found = await check_node_table(played)
    assert (found.state, found.text) == (
        ComponentState.OK,
        "It has the addresses of 2 nodes. Slurm has no node called node09.",
    )
    assert found.details == ()
    file.write_text("node01: {}\nnode02: {in_band: 10.0.0.300, where: x}\n")
    await table.refresh()
    found = await check_node_table(played)
    assert (found.state, found.text) == (
        ComponentState.FAILING,
        f"2 mistakes in {file}: line 2.",
    )
    assert any(detail.startswith("line 2: ") for detail in found.details)
    file.write_bytes(b"\xff")
    await table.refresh()
    found = await check_node_table(played)
    assert found.text == f"1 mistake in {file}: it isn't UTF-8 text."


@pytest.mark.parametrize(
    ("state", "down"),
    [
        ("IDLE", False), ("IDLE~", False), ("MIXED+DRAIN", False), ("IDLE+POWERED_DOWN", False),
        ("DOWN", True), ("DOWN*", True), ("DOWN*+DRAIN", True), ("IDLE+FAIL", True),
        ("UNKNOWN", True), ("IDLE*", True),
    ],
)  # fmt: skip
def test_which_nodes_are_down(state: str, down: bool) -> None:
    assert is_down(NodeInfo("n", "", state)) is down


async def test_the_launcher_that_could_not_be_started(portal: Portal, played: Any) -> None:
    (missing,) = await look(portal, Component.LAUNCHER)
    assert (missing.state, "No such file" in missing.message) == (ComponentState.FAILING, True)
    assert (await check_last_use(played)).state is ComponentState.UNKNOWN
    launchers: Any = played.launchers
    launchers.answered_at = utcnow()
    assert (await check_last_use(played)).state is ComponentState.OK
    launchers.trouble = (utcnow(), "sudo says no")
    found = await check_last_use(played)
    assert (found.state, "Sudo says no." in found.text) == (ComponentState.FAILING, True)
    launchers.answered_at = utcnow()
    assert (await check_last_use(played)).state is ComponentState.OK


# --- scheduling of checks -------------------------------------------------------------------------


async def test_what_hangs_is_failing_and_hangs_once() -> None:
    asked, go_on = 0, asyncio.Event()

    async def hangs(_context: AppContext) -> CheckResult | None:
        nonlocal asked
        asked += 1
        await go_on.wait()
        return CheckResult(text="back")

    status = status_of(
        HealthCheck("hub", hangs, Component.HUB, timeout_s=0.01, suggestion="Look at it.")
    )
    for _ in range(3):
        await status.check_now(Component.HUB)
    (item,) = status.items
    assert (item.state, item.suggestion, asked) == (ComponentState.FAILING, "Look at it.", 1)
    go_on.set()
    await asyncio.sleep(0)
    await status.check_now(Component.HUB)
    (item,) = status.items
    assert (item.state, item.message, asked) == (ComponentState.OK, "back", 1)


async def test_what_it_asks_at_its_end_has_ended_with_it() -> None:
    """A check may use the database, which is closed afterwards."""
    asked, ended = asyncio.Event(), False

    async def hangs(_context: AppContext) -> CheckResult | None:
        nonlocal ended
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended = True
        return None

    running = asyncio.create_task(
        status_of(HealthCheck("database", hangs, Component.DATABASE)).run()
    )
    await asked.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended


async def test_what_was_never_asked_is_not_known_and_a_fault_fails() -> None:
    async def breaks(_context: AppContext) -> CheckResult:
        raise ValueError("oh")

    status = status_of(HealthCheck("disk", breaks, Component.DISK))
    (item,) = status.items
    assert (item.state, item.checked_at) == (ComponentState.UNKNOWN, None)
    await status.check_now(Component.DISK)
    (item,) = status.items
    assert (item.state, item.message) == (ComponentState.FAILING, "ValueError: oh.")


async def test_one_part_that_hangs_holds_up_no_other() -> None:
    looked = asyncio.Event()

    async def hangs(_context: AppContext) -> CheckResult | None:
        await asyncio.Event().wait()
        return None

    async def answers(_context: AppContext) -> CheckResult:
        looked.set()
        return CheckResult(text="well")

    status = status_of(
        HealthCheck("hub", hangs, Component.HUB), HealthCheck("disk", answers, Component.DISK)
    )
    running = asyncio.create_task(status.run())
    async with asyncio.timeout(PATIENCE_S):
        await looked.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert all(task.cancelled() for task in status._running.values() if not task.done())


@pytest.mark.parametrize(
    ("past", "words"),
    [
        (timedelta(seconds=3), "1 minute"),
        (timedelta(minutes=59), "59 minutes"),
        (timedelta(minutes=61), "1 hour"),
        (timedelta(hours=49), "2 days"),
    ],
)
def test_how_long_ago(past: timedelta, words: str) -> None:
    now = utcnow()
    assert ago(now - past, now) == words


async def test_reported_fault_is_probed_at_once() -> None:
    output, asked = [ComponentState.OK, ComponentState.FAILING], asyncio.Event()

    async def ask(_context: AppContext) -> CheckResult:
        state = output.pop(0)
        if not output:
            asked.set()
        return CheckResult(state=state, text="so")

    status = status_of(HealthCheck("directory", ask, Component.DIRECTORY, every_s=3600.0))
    loop = asyncio.create_task(status.run())
    try:
        async with asyncio.timeout(120):
            while status.items[0].state is not ComponentState.OK:
                await asyncio.sleep(0.01)
            status.hurry(Component.DIRECTORY)
            await asked.wait()
    finally:
        loop.cancel()
        await asyncio.gather(loop, return_exceptions=True)
