"""The system's status: what is said of a part that works, is away, hangs, or was never asked."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import portal as portal_package
from portal import check
from portal.db import utcnow
from portal.hub import HubRefused, HubUnavailable
from portal.services import probes
from portal.services.cluster.node_table_file import NodeTable
from portal.services.probes import Looks, is_down
from portal.services.status import Answer, Found, Part, Probe, State, Status, ago
from spawner.errors import Unreachable
from spawner.model import NodeInfo
from tests.patience import PATIENCE_S
from tests.portal.conftest import Browser, Portal, RunPortal
from tests.portal.slapd import Slapd, free_port

pytestmark = pytest.mark.anyio


def nowhere() -> str:
    """An address of this machine where nobody listens."""
    return f"http://127.0.0.1:{free_port()}"


async def look(portal: Portal, part: Part) -> list[Any]:
    """What is said of a part that is looked at now."""
    status: Status = portal.app.state.status
    await status.look(part)
    return [item for item in status.items if item.part is part]


# --- the parts of a real portal -------------------------------------------------------------------


async def test_without_slurm_and_hub_the_others_are_told_apart(run_portal: RunPortal) -> None:
    """No Slurm, no hub, no nginx and no launcher here; a real directory and a real database."""
    async with run_portal(public_url=nowhere()) as portal, portal.browser() as browser:
        for part in Part:
            await look(portal, part)
        await browser.login("carol")
        body = (await browser.get("/api/v1/admin/status")).body
    states = {item["part"]: item["state"] for item in body["items"]}
    assert states == {
        "database": "ok", "directory": "ok", "slurm": "failing", "slurmdbd": "failing",
        "nodes": "unknown", "hub": "failing", "nginx": "failing", "launcher": "failing",
        "catalog": "ok", "disk": states["disk"],
    }  # fmt: skip
    for item in body["items"]:
        assert item["message"]
        assert item["checked_at"]
        if item["state"] == "failing":
            assert item["advice"], item
            assert item["answered_at"] is None
    assert (body["version"], body["hub_version"]) == (portal_package.__version__, None)


async def test_it_is_for_administrators(browser: Browser) -> None:
    await browser.login("alice")
    assert (await browser.get("/api/v1/admin/status")).status == 403


async def test_asking_asks_nobody(portal: Portal, browser: Browser) -> None:
    async def never() -> Answer:
        raise AssertionError("asked")

    await browser.login("carol")
    portal.app.state.status = Status([Probe(Part.HUB, [""], never)])
    for _ in range(3):
        (hub,) = (await browser.get("/api/v1/admin/status")).body["items"]
        assert (hub["state"], hub["checked_at"]) == ("unknown", None)


async def test_each_server_of_the_directory_is_told_apart(
    run_portal: RunPortal, slapd: Slapd
) -> None:
    gone = f"ldap://127.0.0.1:{free_port()}"
    async with run_portal(ldap_urls=[gone, slapd.ldap_url]) as portal:
        first, second = await look(portal, Part.DIRECTORY)
        assert (first.name, first.state, first.latency_ms) == (gone, State.FAILING, None)
        assert "ldap_urls" in first.advice
        assert (second.name, second.state) == (slapd.ldap_url, State.OK)
        assert second.answered_at == second.checked_at


async def test_the_hub_that_stops_keeps_its_last_good_answer(portal: Portal) -> None:
    parts = portal.app.state.parts
    await look(portal, Part.HUB)  # the loop's own first look is over
    behaviour: dict[str, Callable[[], str]] = {"version": lambda: "5.4.0"}

    async def version() -> str:
        return behaviour["version"]()

    def fail(error: Exception) -> Callable[[], str]:
        def raising() -> str:
            raise error

        return raising

    parts.hub.version = version
    (well,) = await look(portal, Part.HUB)
    assert (well.state, portal.app.state.status.hub_version) == (State.OK, "5.4.0")
    behaviour["version"] = fail(HubUnavailable("refused"))
    (away,) = await look(portal, Part.HUB)
    assert (away.state, away.answered_at) == (State.FAILING, well.answered_at)
    assert portal.settings.hub_url in away.message
    behaviour["version"] = fail(HubRefused(403, "no"))
    (refusing,) = await look(portal, Part.HUB)
    assert "refuses" in refusing.message


async def test_nginx_is_asked_where_it_is_this_machine(portal: Portal) -> None:
    """The portal's own address stands in for nginx's; what leads elsewhere isn't asked."""
    looks = Looks(portal.app.state.parts, portal.app.state.directory)

    def at(url: str) -> None:
        settings = portal.settings.model_copy(update={"public_url": url})
        looks.parts = SimpleNamespace(  # type: ignore[assignment]
            settings=settings, http=portal.app.state.http, node_ca=None
        )

    at(nowhere())
    assert "Nothing answers" in (await looks.nginx())[""].message
    at(portal.url)
    assert (await looks.nginx())[""].state is State.OK
    at(f"{portal.url}/nowhere")
    assert "doesn't lead to the portal" in (await looks.nginx())[""].message
    at("http://192.0.2.1:8000")
    elsewhere = (await looks.nginx())[""]
    assert (elsewhere.state, "another machine" in elsewhere.message) == (State.UNKNOWN, True)
    at("http://no-such-name.invalid")
    assert (await looks.nginx())[""].state is State.UNKNOWN


# --- parts played by named behaviours -------------------------------------------------------------


@pytest.fixture
async def played(portal: Portal) -> AsyncIterator[Any]:
    """Looks at a watcher and launchers that say what a test lets them."""
    watcher = SimpleNamespace(
        stale_since=None, trouble=None, took_s=0.02, at=utcnow(), jobs={1: None}, cluster=None
    )
    slurm = SimpleNamespace(version=_version, accounting_answers=_nothing, admin_level=_operator)
    books = SimpleNamespace(denied=False)
    agents = SimpleNamespace(answered_at=None, trouble=None, homeless={})
    settings = portal.settings
    parts = SimpleNamespace(
        watcher=watcher,
        slurm=slurm,
        agents=agents,
        settings=settings,
        books=books,
        node_table=NodeTable(),
    )
    yield Looks(parts, portal.app.state.directory)  # type: ignore[arg-type]


async def _version() -> str:
    return "22.05.8"


async def _operator(account: str) -> str:
    return "Operator"


async def _nothing() -> None:
    return None


async def test_slurm_that_answers_and_then_does_not(played: Looks) -> None:
    watcher: Any = played.parts.watcher
    found = (await played.slurm())[""]
    assert (found.state, found.latency_ms, found.answered_at) == (State.OK, 20, watcher.at)
    assert "1 job known" in found.message
    watcher.stale_since, watcher.trouble = utcnow() - timedelta(minutes=7), "no answer within 10 s."
    found = (await played.slurm())[""]
    assert found.state is State.FAILING
    assert found.message == "No answer for 7 minutes: No answer within 10 s."
    assert found.answered_at == watcher.at
    assert (await played.nodes())[""].state is State.UNKNOWN


async def test_slurmdbd_that_is_away(played: Looks) -> None:
    assert (await played.slurmdbd())[""].state is State.OK

    async def away() -> None:
        raise Unreachable("Slurm can't be reached at the moment.", "sacctmgr: error: refused")

    played.parts.slurm.accounting_answers = away  # type: ignore[method-assign]
    found = (await played.slurmdbd())[""]
    assert (found.state, "refused" in found.message) == (State.FAILING, True)


async def test_slurmdbd_that_lets_the_portal_write_nothing(played: Looks) -> None:
    played.parts.books.denied = True
    found = (await played.slurmdbd())[""]
    assert (found.state, "restart slurmdbd" in found.advice) == (State.FAILING, True)

    async def nobody(account: str) -> str:
        return "None"

    played.parts.slurm.admin_level = nobody  # type: ignore[method-assign]
    found = (await played.slurmdbd())[""]
    assert found.state is State.FAILING
    assert "no operator" in found.message
    assert "AdminLevel=Operator" in found.advice


async def test_nodes_that_are_down(played: Looks) -> None:
    def cluster(*states: str) -> None:
        nodes = tuple(NodeInfo(f"node{n}", "", state) for n, state in enumerate(states))
        played.parts.watcher.cluster = SimpleNamespace(nodes=nodes, at=utcnow())  # type: ignore[assignment]

    cluster("IDLE", "IDLE+DRAIN", "MIXED")
    assert (await played.nodes())[""].message == (
        "3 nodes, none down, 1 of them drained by an administrator."
    )
    cluster("IDLE*", "DOWN", "ALLOCATED")
    found = (await played.nodes())[""]
    assert (found.state, found.message) == (State.FAILING, "2 of 3 nodes down: node0, node1.")


async def test_mistakes_in_the_table_of_nodes(played: Looks, tmp_path: Path) -> None:
    file = tmp_path / "nodes.yaml"
    table = played.parts.node_table
    table.file = file
    nodes = (NodeInfo("node01", "", "IDLE"),)
    played.parts.watcher.cluster = SimpleNamespace(nodes=nodes, at=utcnow())  # type: ignore[assignment]
    file.write_text("node01: {in_band: 10.0.0.1}\nnode09: {in_band: 10.0.0.9}\n")
    await table.refresh()
    found = (await played.node_table())[""]
    assert (found.state, found.message) == (
        State.OK,
        "It has the addresses of 2 nodes. Slurm has no node called node09.",
    )
    assert check.node_table(file).problem is None
    file.write_text("node01: {}\nnode02: {in_band: 10.0.0.300, where: x}\n")
    await table.refresh()
    found = (await played.node_table())[""]
    assert (found.state, found.message) == (State.FAILING, f"2 mistakes in {file}: line 2.")
    assert f"{file}: line 2: " in (check.node_table(file).problem or "")
    file.write_bytes(b"\xff")
    await table.refresh()
    found = (await played.node_table())[""]
    assert found.message == f"1 mistake in {file}: it isn't UTF-8 text."


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


async def test_the_launcher_that_could_not_be_started(
    played: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await played.launcher())[""].state is State.FAILING  # there is none
    monkeypatch.setattr(probes, "launcher", lambda _: SimpleNamespace(problem=None))
    agents: Any = played.parts.agents
    assert (await played.launcher())[""].state is State.UNKNOWN
    agents.answered_at = utcnow()
    assert (await played.launcher())[""].state is State.OK
    agents.trouble = (utcnow(), "sudo says no")
    found = (await played.launcher())[""]
    assert (found.state, "Sudo says no." in found.message) == (State.FAILING, True)
    agents.answered_at = utcnow()
    assert (await played.launcher())[""].state is State.OK


# --- how they are asked ---------------------------------------------------------------------------


async def test_what_hangs_is_failing_and_hangs_once() -> None:
    asked, go_on = 0, asyncio.Event()

    async def hangs() -> Answer:
        nonlocal asked
        asked += 1
        await go_on.wait()
        return {"": Found(State.OK, "back")}

    status = Status([Probe(Part.HUB, [""], hangs, timeout_s=0.01, advice="Look at it.")])
    for _ in range(3):
        await status.look(Part.HUB)
    (item,) = status.items
    assert (item.state, item.advice, asked) == (State.FAILING, "Look at it.", 1)
    go_on.set()
    await asyncio.sleep(0)
    await status.look(Part.HUB)
    (item,) = status.items
    assert (item.state, item.message, asked) == (State.OK, "back", 1)


async def test_what_it_asks_at_its_end_has_ended_with_it() -> None:
    """What was asked may be the database, which is closed then."""
    asked, ended = asyncio.Event(), False

    async def hangs() -> Answer:
        nonlocal ended
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended = True
        return {}

    running = asyncio.create_task(Status([Probe(Part.DATABASE, [""], hangs)]).run())
    await asked.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended


async def test_what_was_never_asked_is_not_known_and_a_fault_fails() -> None:
    async def breaks() -> Answer:
        raise ValueError("oh")

    status = Status([Probe(Part.DISK, [""], breaks)])
    (item,) = status.items
    assert (item.state, item.checked_at) == (State.UNKNOWN, None)
    await status.look(Part.DISK)
    (item,) = status.items
    assert (item.state, item.message) == (State.FAILING, "ValueError: oh.")


async def test_one_part_that_hangs_holds_up_no_other() -> None:
    looked = asyncio.Event()

    async def hangs() -> Answer:
        await asyncio.Event().wait()
        return {}

    async def answers() -> Answer:
        looked.set()
        return {"": Found(State.OK, "well")}

    status = Status([Probe(Part.HUB, [""], hangs), Probe(Part.DISK, [""], answers)])
    running = asyncio.create_task(status.run())
    async with asyncio.timeout(PATIENCE_S):
        await looked.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert all(task.cancelled() for task in status._under_way.values() if not task.done())


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


async def test_a_fault_that_somebody_meets_is_looked_at_at_once() -> None:
    said, asked = [State.OK, State.FAILING], asyncio.Event()

    async def ask() -> Answer:
        state = said.pop(0)
        if not said:
            asked.set()
        return {"": Found(state, "so")}

    status = Status([Probe(Part.DIRECTORY, [""], ask, every_s=3600.0)])
    loop = asyncio.create_task(status.run())
    try:
        async with asyncio.timeout(120):
            while status.items[0].state is not State.OK:
                await asyncio.sleep(0.01)
            status.hurry(Part.DIRECTORY)
            await asked.wait()
    finally:
        loop.cancel()
        await asyncio.gather(loop, return_exceptions=True)
