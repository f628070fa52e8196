"""The main workflow with a real cluster: cells in a container in an allocation, TensorBoard, the
end.

No other user gets access to any of it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest

from cluster.client import Client, RequestRefused, origin_of
from tests.live import Live
from tests.polling import PATIENCE_S

pytestmark = pytest.mark.anyio

GPU = {"gpus": 1, "cpus": 2, "memory_gb": 4, "time_limit_minutes": 30}
WHERE = (
    "import os, platform; print(platform.node(), os.environ['SLURM_JOB_ID'],"
    " os.environ['CUDA_VISIBLE_DEVICES'], os.path.exists('/.singularity.d'))"
)
KNOCK = """
import http.client, socket, sys
for line in open('/proc/net/tcp').read().splitlines()[1:]:
    local, _, state = line.split()[1:4]
    host = socket.inet_ntoa(bytes.fromhex(local[:8])[::-1])
    port = int(local[9:], 16)
    if state == '0A' and not host.startswith('127.') and port not in (53, 6818):
        ask = http.client.HTTPConnection(host, port, timeout=120)
        ask.request('GET', sys.argv[1] + 'api/contents')
        print(ask.getresponse().status)
"""
WRITE_EVENTS = """
import os
from tensorboardX import SummaryWriter
with SummaryWriter(os.environ["PORTAL_LOGDIR"]) as log:
    for step in range(5):
        log.add_scalar("loss", 1 / (step + 1), step)
"""


@pytest.fixture(scope="module")
async def alice(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("alice") as client:
        yield client


@pytest.fixture(scope="module")
async def running(alice: Client) -> AsyncIterator[Any]:
    """One session with a GPU, open in alice's browser."""
    made = await alice.start_session(name="main", resources=GPU)
    session = await alice.wait_session(made["id"], "running", "ended")
    assert session["state"] == "running", session["reason"]
    await alice.open_lab(session)
    yield session
    await alice.stop_session(session["id"])


async def test_a_cell_runs_in_the_container_on_the_allocated_node(
    alice: Client, running: Any
) -> None:
    async with alice.kernel(running) as kernel:
        result = await kernel.run(WHERE)
    node, job_id, devices, contained = result.text.split()
    assert node == running["node"]
    assert node in {"node01", "node02"}
    assert int(job_id) == running["job_id"]
    assert devices in {"0", "1", "2", "3"}
    assert contained == "True"


async def test_a_kernel_is_interrupted_and_restarted(alice: Client, running: Any) -> None:
    async with alice.kernel(running) as kernel:
        sent = await kernel.send("import time\nprint('on', flush=True)\ntime.sleep(60)")
        assert "on" in await kernel.first_output(sent)
        await kernel.control("interrupt")
        async with asyncio.timeout(PATIENCE_S):
            assert "KeyboardInterrupt" in (await kernel.result(sent)).error
        await kernel.run("kept = 1")
        await kernel.control("restart")
        kernel_id = kernel.id
    async with alice.connected(running, kernel_id) as again:
        assert "NameError" in (await again.run("print(kept)")).error


async def test_nothing_secret_reaches_a_cell(alice: Client, running: Any) -> None:
    async with alice.kernel(running) as kernel:
        result = await kernel.run("import os; print(*os.environ)")
    assert "SLURM_JOB_ID" in result.text
    assert "JUPYTERHUB_API_TOKEN" not in result.text


async def test_terminals_on_the_node_and_in_the_container(alice: Client, running: Any) -> None:
    say = (
        "echo $(hostname):$(test -e /.singularity.d && echo in || echo out):$JUPYTERHUB_API_TOKEN:"
    )
    node = await _terminal(alice, running, {}, say)
    assert f"{running['node']}:out::" in node
    container = await _terminal(alice, running, {"name": "env_python3"}, say)
    assert f"{running['node']}:in::" in container


async def _terminal(client: Client, session: Any, body: Any, say: str) -> str:
    """Return a terminal's output after a command, up to the command's answer."""
    made = await client.jupyter(session, "POST", "api/terminals", body)
    url = f"{client.address(session['url'])}terminals/websocket/{made['name']}"
    shown = ""
    async with (
        client.http.ws_connect(url, origin=origin_of(url)) as socket,
        asyncio.timeout(PATIENCE_S),
    ):
        await socket.send_json(["stdin", say + "\r"])
        while not re.search(":(in|out):", shown):
            message: list[Any] = await socket.receive_json()
            kind, text, *_ = [*message, ""]
            shown += str(text) if kind == "stdout" else ""
    await client.jupyter(session, "DELETE", f"api/terminals/{made['name']}")
    return shown


async def test_a_scalar_is_read_back_through_tensorboard(alice: Client, running: Any) -> None:
    async with alice.kernel(running) as kernel:
        assert (await kernel.run(WRITE_EVENTS)).status == "ok"
    board = await alice.wait_tensorboard(running["id"])
    assert board["state"] == "running", board["reason"]
    assert [point[1] for point in await _scalars(alice, board)] == [0, 1, 2, 3, 4]
    shown = await alice.open_tensorboard(board)
    await alice.api("DELETE", f"/sessions/{running['id']}/tensorboard")
    assert await alice.status_of(shown) == 424
    again = await alice.wait_tensorboard(running["id"])
    assert len(await _scalars(alice, again)) == 5


async def _scalars(client: Client, board: Any) -> Any:
    """Return the points of `loss`, once TensorBoard has read its folder."""
    url = f"{await client.open_tensorboard(board)}data/plugin/scalars/scalars?run=.&tag=loss"
    async with asyncio.timeout(PATIENCE_S):
        while True:
            async with client.http.get(url) as answer:
                if answer.status == 200 and (points := await answer.json()):
                    return points
            await asyncio.sleep(0.1)


async def test_others_are_refused_everywhere(portal: Live, alice: Client, running: Any) -> None:
    board = await alice.wait_tensorboard(running["id"])
    shown = await alice.open_tensorboard(board)
    async with portal.login("bob") as bob:
        for path in (f"/sessions/{running['id']}", f"/sessions/{running['id']}/log"):
            with pytest.raises(RequestRefused) as refused:
                await bob.api("GET", path)
            assert refused.value.status == 404
        with pytest.raises(RequestRefused):
            await bob.api("DELETE", f"/sessions/{running['id']}")
        assert await bob.enter(f"{running['url']}lab") == 403
        assert await bob.status_of(f"{running['url']}api/status") == 403
        with pytest.raises(RequestRefused) as refused:
            await bob.open_tensorboard(board)
        assert refused.value.status == 404
        assert await bob.enter(shown) == 404  # alice's own address, including the ticket
        assert await bob.status_of(shown) == 404
        url = f"{running['url']}api/events/subscribe"
        with pytest.raises(aiohttp.WSServerHandshakeError) as handshake:
            await bob.http.ws_connect(bob.address(url), origin=origin_of(url))
        assert handshake.value.status == 403
    async with Client(portal.base_url) as anonymous:
        assert await anonymous.status_of(f"{running['url']}api/status") == 401
        assert await anonymous.status_of(shown) == 401


async def test_a_neighbour_on_the_node_gets_nothing_from_the_port(
    portal: Live, running: Any
) -> None:
    """The server is reachable from the node, but refuses requests without a token."""
    answers = portal.exec_as(
        "bob",
        ["/usr/bin/python3", "-c", KNOCK, urlsplit(running["url"]).path],
        node=running["node"],
    ).split()
    assert answers
    assert set(answers) <= {"401", "403", "404"}


async def test_a_second_session_of_the_same_name_is_refused(alice: Client, running: Any) -> None:
    with pytest.raises(RequestRefused) as refused:
        await alice.start_session(name=running["name"])
    assert refused.value.status == 409
    assert "name" in refused.value.fields


async def test_tensorboard_runs_on_after_the_session_has_ended(alice: Client) -> None:
    made = await alice.start_session(name="short", resources=GPU)
    session = await alice.wait_session(made["id"], "running", "ended")
    await alice.open_lab(session)
    async with alice.kernel(session) as kernel:
        assert (await kernel.run(WRITE_EVENTS)).status == "ok"
    ended = await alice.stop_session(session["id"])
    assert (ended["outcome"], ended["reason"], ended["url"]) == ("cancelled", None, None)
    assert "ready" in [entry["step"] for entry in ended["timeline"]]
    board = await alice.wait_tensorboard(session["id"])
    assert board["state"] == "running", board["reason"]
    assert len(await _scalars(alice, board)) == 5
    await alice.api("DELETE", f"/sessions/{session['id']}/tensorboard")
    await alice.api("DELETE", f"/sessions/{session['id']}")
    with pytest.raises(RequestRefused):
        await alice.api("GET", f"/sessions/{session['id']}")


async def test_queued_session_shows_reason(alice: Client) -> None:
    """The account is limited to two GPUs; the portal passes Slurm's reason on."""
    teaching = {**GPU, "account": "teaching", "gpus": 2}
    first = await alice.start_session(name="first", resources=teaching)
    second = await alice.start_session(name="second", resources=teaching)
    async for session in alice.watch_session(second["id"], timeout_s=PATIENCE_S):
        if session["state"] == "queued" and session["reason"] and "group" in session["reason"]:
            break
        assert session["state"] in {"submitting", "queued"}
    assert session["suggestion"]
    await alice.stop_session(second["id"])
    await alice.stop_session(first["id"])
