"""A TensorBoard that accepts connections and never answers does not affect other users."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from cluster.client import Client
from tests.live import Live
from tests.polling import PATIENCE_S

pytestmark = pytest.mark.anyio

SMALL = {"cpus": 1, "memory_gb": 1, "time_limit_minutes": 15}
REQUESTS = 60
"""More than the portal forwards to one TensorBoard at once, but fewer than it refuses."""
OBSERVED_S = 2


@pytest.fixture
async def hung(portal: Live) -> AsyncIterator[list[asyncio.Task[int]]]:
    """Requests of alice's to her own TensorBoard, whose program is stopped."""
    async with portal.login("alice") as alice:
        made = await alice.start_session(name="hung", resources=SMALL)
        session = await alice.wait_session(made["id"], "running")
        board = await alice.wait_tensorboard(made["id"])
        assert board["state"] == "running", board["reason"]
        url = await alice.open_tensorboard(board)
        find = ["pgrep", "-u", "alice", "-f", "spawner.node.tensorboard"]
        pids = portal.exec_as("alice", find, session["node"]).split()
        assert pids
        portal.exec_as("alice", ["kill", "-STOP", *pids], session["node"])
        requests = [asyncio.create_task(alice.status_of(url)) for _ in range(REQUESTS)]
        try:
            yield requests
        finally:
            portal.exec_as("alice", ["kill", "-CONT", *pids], session["node"])
            for request in requests:
                request.cancel()
            await asyncio.gather(*requests, return_exceptions=True)
            await alice.stop_session(made["id"])


async def test_sessions_start_and_answer_while_a_tensorboard_hangs(
    portal: Live, hung: list[asyncio.Task[int]]
) -> None:
    async with asyncio.timeout(PATIENCE_S), portal.login("bob") as bob:
        answered, _ = await asyncio.wait(hung, timeout=OBSERVED_S)
        assert not answered
        made = await bob.start_session(name="beside", resources=SMALL)
        try:
            session = await bob.wait_session(made["id"], "running", "ended")
            assert session["state"] == "running", session["reason"]
            await computes(bob, session)
            board = await bob.wait_tensorboard(made["id"])
            assert await bob.status_of(await bob.open_tensorboard(board)) == 200
        finally:
            await bob.stop_session(made["id"])
    assert not any(request.done() for request in hung), "it hung from beginning to end"


async def computes(client: Client, session: dict[str, str]) -> None:
    """Open the session's JupyterLab and run a cell."""
    await client.open_lab(session)
    async with client.kernel(session) as kernel:
        assert "42" in (await kernel.run("print(6 * 7)")).text
