"""Apps in a session: a user's web server through nginx, the gate, the session's server and a
network of its own; and what another user on the node reaches.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cluster.client import Client, RequestRefused, origin_of
from cluster.config.paths import Paths
from tests.live import Live
from tests.polling import PATIENCE_S, until

pytestmark = pytest.mark.anyio

SMALL = {"cpus": 1, "memory_gb": 1, "time_limit_minutes": 15}
PROGRAM = (Path(__file__).parent / "app_program.py").read_text("utf-8")
PORT = 8123
COMMAND = 'exec python3 -u app-test/program.py "$PORT"'
KNOCK = """
import socket, sys
for host in ("127.0.0.1", "::1", socket.gethostname()):
    try:
        socket.create_connection((host, int(sys.argv[1])), 2).close()
        print("open")
    except OSError:
        print("closed")
"""
SOCKETS = "ls -la /tmp/portal-*/apps/own/ 2>&1; cat /tmp/portal-*/apps/own/log 2>&1; true"
CONNECT = """
import glob, socket
with socket.socket(socket.AF_UNIX) as knocking:
    try:
        knocking.connect("PATH")
        print("open")
    except OSError as error:
        print(type(error).__name__)
"""
PAGE = {"Accept": "text/html", "Sec-Fetch-Mode": "navigate"}


@dataclass
class OpenedApp:
    """alice's app `own` in her session, and its address."""

    client: Client
    session: Any
    url: str

    async def get(self, path: str = "", **headers: str) -> tuple[int, str]:
        async with self.client.http.get(f"{self.url}{path}", headers=headers) as answer:
            return answer.status, await answer.text()


@pytest.fixture(scope="module")
async def alice(portal: Live) -> AsyncIterator[Client]:
    script = "mkdir -p app-test && cat > app-test/program.py <<'END'\n" + PROGRAM + "\nEND"
    portal.exec_as("alice", ["/bin/sh", "-c", f"cd ~ && {script}"])
    async with portal.login("alice") as client:
        yield client


@pytest.fixture(scope="module", params=["python3", "science_venv"])
async def app(
    portal: Live, alice: Client, request: pytest.FixtureRequest
) -> AsyncIterator[OpenedApp]:
    """The app runs once in a container, and once without."""
    name = f"apps-{request.param.replace('_', '-')}"
    made = await alice.start_session(name=name, environment=request.param, resources=SMALL)
    try:
        session = await alice.wait_session(made["id"], "running", "ended", timeout_s=PATIENCE_S)
        assert session["state"] == "running", session["reason"]
        shown = await start(alice, session, command=COMMAND, port=PORT)
        assert shown["state"] == "running", shown
        url = alice.address(shown["url"])
        assert await alice.enter(url) == 200
        yield OpenedApp(alice, session, url)
    finally:
        await end(alice, made)


async def end(client: Client, session: Any) -> None:
    """Stop a session, which may have ended."""
    await client.api("DELETE", f"/sessions/{session['id']}?remove=false")
    await client.wait_session(session["id"], "ended", timeout_s=PATIENCE_S)


async def show(client: Client, session: Any, name: str = "own") -> Any:
    listed = (await client.api("GET", f"/sessions/{session['id']}/apps"))["items"]
    return next(app for app in listed if app["name"] == name)


async def start(client: Client, session: Any, name: str = "own", **given: Any) -> Any:
    """Start an app; return it once it runs or has failed."""
    await client.api("PUT", f"/sessions/{session['id']}/apps/{name}", given)
    return await until(
        lambda: show(client, session, name), "it has started",
        done=lambda shown: shown["state"] != "starting",
    )  # fmt: skip


async def test_the_owner_opens_it_through_the_gate(app: OpenedApp) -> None:
    status, text = await app.get()
    assert (status, f"Served from /user/alice/{app.session['name']}/app/own" in text) == (200, True)
    async with app.client.http.ws_connect(
        f"{app.url}socket", headers={"Origin": origin_of(app.url)}
    ) as socket:
        assert await socket.receive_str(timeout=PATIENCE_S) == "over the websocket"


async def test_it_gets_no_credential(app: OpenedApp) -> None:
    _, seen = await app.get("seen")
    assert "jupyterhub" not in seen
    assert "_xsrf" not in seen
    assert "portal_" not in seen.lower().replace("portal_session=planted", "")


async def test_it_reaches_other_hosts_but_not_the_nodes_loopback(
    portal: Live, app: OpenedApp
) -> None:
    paths = Paths(portal.state)
    node_url = next(
        line.partition(" = ")[2].strip('"')
        for line in (paths.etc / "portal.toml").read_text().splitlines()
        if line.startswith("node_url = ")
    )
    if "127." in node_url:
        pytest.skip("the nodes share the machine's loopback interface")
    assert (await app.get(f"reach?url={node_url}/"))[1] == "status 404"
    assert (await app.get("reach?url=http://127.0.0.1:6818/"))[1].startswith("unreachable")


async def test_other_users_reach_neither_the_page_nor_the_api(portal: Live, app: OpenedApp) -> None:
    for user in ("bob", "carol"):
        async with portal.login(user) as other:
            assert await other.enter(app.url) == 403
            with pytest.raises(RequestRefused) as caught:
                await show(other, app.session)
            assert caught.value.status == 404
            with pytest.raises(RequestRefused) as caught:
                await other.api("DELETE", f"/sessions/{app.session['id']}/apps/own")
            assert caught.value.status == 404
    async with Client(portal.base_url) as stranger:
        assert await stranger.status_of(app.url) == 401


async def test_another_user_on_the_node_reaches_neither_port_nor_socket(
    portal: Live, app: OpenedApp
) -> None:
    node = app.session["node"]
    knocked = portal.exec_as("bob", ["/usr/bin/python3", "-c", KNOCK, str(PORT)], node)
    assert set(knocked.split()) == {"closed"}
    sockets = portal.exec_as("alice", ["/bin/sh", "-c", SOCKETS], node)
    assert "my app listens" in sockets
    found = portal.exec_as("alice", ["/bin/sh", "-c", "ls -d /tmp/portal-*/apps/own/socket"], node)
    for path in found.split():
        knock = CONNECT.replace("PATH", path)
        tried = portal.exec_as("bob", ["/usr/bin/python3", "-c", knock], node)
        assert tried.strip() == "PermissionError"
    listing = portal.exec_as("bob", ["/bin/sh", "-c", SOCKETS], node)
    assert "my app listens" not in listing


async def test_what_does_not_come_up_shows_its_output(alice: Client, app: OpenedApp) -> None:
    await alice.api("DELETE", f"/sessions/{app.session['id']}/apps/own")
    assert (await app.get())[0] == 503
    shown = await start(alice, app.session, command="echo no such thing; exit 4", port=PORT)
    assert (shown["state"], shown["url"]) == ("failed", None)
    assert shown["problem"] == "It ended with status 4."
    assert shown["log"][-1] == "no such thing"
    shown = await start(alice, app.session, command=COMMAND, port=PORT)
    assert shown["state"] == "running"
    await alice.api("POST", f"/sessions/{app.session['id']}/apps/own/restart")
    await until(app.get, "it runs again", done=lambda answer: answer[0] == 200)


async def test_it_ends_with_the_session(portal: Live, alice: Client, app: OpenedApp) -> None:
    """The last test of each environment: it stops the session."""
    assert await alice.status_of(app.url) == 200
    await end(alice, app.session)
    running = ["/bin/sh", "-c", "pgrep -u alice -f [a]pp-test/program.py; true"]
    await until(lambda: not portal.exec_as("alice", running, app.session["node"]).strip())
