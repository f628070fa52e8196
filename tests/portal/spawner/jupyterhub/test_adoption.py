"""A real JupyterHub and a real node program: a session becomes a server and survives crashes."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from portal.hub.client import Hub
from spawner import request_id
from tests.fakes.portal import COOKIE
from tests.paths import CHECKOUT
from tests.polling import until
from tests.servers.jupyterhub import RUNTIME, Browser, HubSetup

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def shared_setup() -> AsyncIterator[HubSetup]:
    async with HubSetup.opened() as setup:
        yield setup


@pytest.fixture
async def setup(shared_setup: HubSetup) -> AsyncIterator[HubSetup]:
    """One hub for all tests, with a separate user for each."""
    yield shared_setup
    await shared_setup.tidy()


async def test_a_session_becomes_a_server(setup: HubSetup) -> None:
    session, token = await setup.running()
    assert await setup.api(session, token) == 200
    assert await setup.api(session, "0" * 32) == 403


async def test_a_request_has_one_name_at_the_hub_and_back_at_the_portal(setup: HubSetup) -> None:
    session = setup.portal.new_session()
    setup.start_node(session)

    async def ask() -> str:
        name = request_id.set_request_id()
        await setup.ask_for(session)
        return name

    name = await asyncio.create_task(ask())
    await setup.ready(session)
    assert session.put_by == name
    text = (setup.folder / "hub" / "hub.log").read_text()
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    named = [line["event"] for line in lines if line.get("request") == name]
    path = f"/hub/api/users/{session.username}/servers/{session.name}"
    assert any(f"POST {path}" in event for event in named)
    assert all({"event", "level", "logger", "timestamp"} <= set(line) for line in lines)


IMPORT = f"""
import sys; sys.path.insert(0, {str(CHECKOUT)!r})
from spawner.node.jupyter import imports as lean
PREPARE
print(lean.import_singleuser().JupyterHubSingleUser.__name__, "sqlalchemy" in sys.modules)
import sqlalchemy
print(bool(sqlalchemy.__version__))
"""


def imported(prepare: str = "") -> tuple[list[str], str]:
    """Return the output and the warnings of a new process that imports the single-user server."""
    program = IMPORT.replace("PREPARE", prepare)
    done = subprocess.run(
        [RUNTIME, "-I", "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.split(), done.stderr


def test_the_quick_import_is_what_runs() -> None:
    """The import relies on JupyterHub's internals: another version may need another list."""
    assert imported() == (["JupyterHubSingleUser", "False", "True"], "")


def test_the_plain_import_takes_over() -> None:
    words, warnings = imported('lean.PLACEHOLDERS = {"jupyterhub.utils": {}}')
    assert words == ["JupyterHubSingleUser", "True", "True"]
    assert "fast import" in warnings


async def test_the_hub_killed_while_it_runs(setup: HubSetup) -> None:
    session, token = await setup.running()
    setup.hub.kill()
    await setup.hub.start(setup.code)
    await setup.ready(session)
    assert await setup.api(session, token) == 200
    assert session.puts == 1
    assert not session.deleted


async def test_the_hub_killed_once_the_portal_has_the_environment(setup: HubSetup) -> None:
    """The hub saved the token before its request: it adopts the same server without another
    request."""
    setup.portal.hold = "after"
    session = setup.portal.new_session()
    setup.start_node(session)
    await setup.ask_for(session)
    await until(lambda: session.handed is not None, "the environment")
    setup.hub.kill()
    assert session.handed is not None
    setup.portal.hold = None
    await setup.hub.start(setup.code)
    await setup.ready(session)
    assert session.puts == 2
    assert await setup.api(session, session.handed["env"]["JUPYTERHUB_API_TOKEN"]) == 200
    assert not session.deleted


async def test_the_hub_killed_before_the_portal_has_the_environment(setup: HubSetup) -> None:
    """The hub forgets the attempt, and the session can be offered again."""
    setup.portal.hold = "before"
    session = setup.portal.new_session()
    setup.start_node(session)
    await setup.ask_for(session)
    await until(lambda: session.puts == 1, "the first PUT")
    setup.hub.kill()
    setup.portal.hold = None
    await setup.hub.start(setup.code)
    await setup.ask_for(session)
    await setup.ready(session)
    assert session.handed is not None
    assert await setup.api(session, session.handed["env"]["JUPYTERHUB_API_TOKEN"]) == 200
    assert not session.deleted


async def test_a_hub_that_has_lost_its_database(setup: HubSetup) -> None:
    """It has lost the server; a request to start it adopts the running one."""
    session, token = await setup.running()
    setup.hub.kill()
    (setup.folder / "hub" / "hub.sqlite").unlink()
    await setup.hub.start(setup.code)
    await setup.ask_for(session)
    await setup.ready(session)
    assert await setup.api(session, token) == 200
    browser = Browser.new(setup, {COOKIE: setup.portal.log_in(session.username)})
    assert (await browser.get(session.base + "/lab"))[0] == 200
    await browser.client.close()


async def test_the_portal_away_while_it_starts(setup: HubSetup) -> None:
    setup.portal.away = True
    session = setup.portal.new_session()
    await setup.ask_for(session)
    model = await setup.server_model(session)
    assert model["pending"] == "spawn"
    setup.portal.away = False
    setup.start_node(session)
    await setup.ready(session)


async def test_everything_starts_again_after_a_session_has_ended(setup: HubSetup) -> None:
    """The hub starts before the portal: it waits for the portal's information on its known
    server. It must not retry connections to a gone server for long, which would block the name."""
    session, _ = await setup.running()
    setup.hub.kill()
    setup.nodes[-1].end()
    session.reports.append({"event": "exiting", "message": ""})
    setup.portal.away = True
    await setup.hub.start(setup.code)
    assert (await setup.server_model(session))["pending"] == "check"
    setup.portal.away = False

    async def looked() -> bool | None:
        return (await setup.server_model(session)).get("pending") != "check" or None

    await until(looked, "the hub's look at the server")
    log = (setup.folder / "hub" / "hub.log").read_text()
    name = f"{session.username}:{session.name}"
    assert f"{name} appears to have stopped while the Hub was down" in log
    assert f"{name} does not appear to be running" not in log


async def test_a_session_the_portal_does_not_know(setup: HubSetup) -> None:
    async with Hub(setup.hub.url, setup.hub.token) as hub:
        await hub.ensure_user("alice")
        await hub.start_server("alice", "nothing")

        async def failed() -> bool | None:
            state = await hub.server_state("alice", "nothing")
            return (state.pending is None and not state.ready) or None

        await until(failed, "the refusal")
    assert "There is no such session." in (setup.folder / "hub" / "hub.log").read_text()


async def test_ends_on_sigterm_and_leaves_nothing(setup: HubSetup) -> None:
    session, token = await setup.running()
    node = setup.nodes[0]
    kernels = f"{session.url}{session.base}/api/kernels"
    async with (
        aiohttp.ClientSession(headers={"Authorization": f"token {token}"}) as client,
        client.post(kernels, json={"name": "python3"}) as response,
    ):
        assert response.status == 201, await response.text()
    family = node.children()
    assert family
    node.process.send_signal(signal.SIGTERM)
    assert await node.ended() == 0, node.log()
    assert not node.runtime.exists()
    assert not [pid for pid in family if exists(pid)]
    assert session.reports == [{"event": "exiting", "message": "JupyterLab was shut down"}]


async def test_a_home_that_is_not_there(setup: HubSetup) -> None:
    session = setup.portal.new_session()
    node = setup.start_node(session, home=Path("/nonexistent"))
    assert await node.ended() == 1
    assert [report["event"] for report in session.reports] == ["failed"]
    assert session.reports[0]["message"].startswith("Your home directory /nonexistent can't be")
    assert not node.runtime.exists()


async def test_unwanted_session_ends_at_once(setup: HubSetup) -> None:
    session = setup.portal.new_session()
    session.wanted = False
    node = setup.start_node(session)
    assert await node.ended() == 0, node.log()
    assert session.reports == []
    assert not node.runtime.exists()


def exists(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()
