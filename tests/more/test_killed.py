"""Portal, hub and nginx, each killed with SIGKILL while a session is queued, starting or running.

The running one executes a cell. Nothing is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from cluster.client import Client
from tests.cluster.job_tools import AWAY, is_away
from tests.live import Live
from tests.polling import PATIENCE_S, until

pytestmark = pytest.mark.anyio

PARTS = ["portal", "hub", "nginx"]
SMALL = {"cpus": 1, "memory_gb": 2, "time_limit_minutes": 30}


@pytest.fixture
async def alice(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("alice") as client:
        yield client
        await clear(client)


async def clear(client: Client) -> None:
    for session in (await client.api("GET", "/sessions?state=live"))["items"]:
        await client.stop_session(session["id"])


async def settled(client: Client, session_id: str) -> Any:
    """Return the session once it runs or has ended; errors while a service restarts are retried."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                session = await client.api("GET", f"/sessions/{session_id}")
            except AWAY as error:
                if not is_away(error):
                    raise
            else:
                if session["state"] in {"running", "ended"}:
                    return session
            await asyncio.sleep(0.1)


async def computes(client: Client, session: Any) -> str:
    """Return a new kernel's output in this session; errors while a service restarts are retried."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                await client.open_lab(session)
                async with client.kernel(session) as kernel:
                    return (await kernel.run("print(6 * 7)")).text
            except AWAY as error:
                # JupyterLab responds with 500 while it can't reach the hub
                if not is_away(error, 424, 500):
                    raise
            await asyncio.sleep(0.2)


@pytest.mark.parametrize("part", PARTS)
async def test_killed_while_queued(portal: Live, alice: Client, part: str) -> None:
    """A held job stays in the queue for as long as the test needs."""
    portal.exec_as("root", ["scontrol", "update", "PartitionName=debug", "State=DOWN"])
    try:
        made = await alice.start_session(name="queued", resources={**SMALL, "partition": "debug"})
        await alice.wait_session(made["id"], "queued")
        portal.kill(part)
    finally:
        portal.exec_as("root", ["scontrol", "update", "PartitionName=debug", "State=UP"])
    session = await settled(alice, made["id"])
    assert (session["state"], session["job_id"]) == ("running", made["job_id"])
    assert "42" in await computes(alice, session)


@pytest.mark.parametrize("part", PARTS)
async def test_killed_while_starting(portal: Live, alice: Client, part: str) -> None:
    made = await alice.start_session(name="starting", resources=SMALL)
    await until(
        lambda: alice.api("GET", f"/sessions/{made['id']}"),
        "the session starts",
        done=lambda answer: answer["state"] != "queued",
    )
    portal.kill(part)
    session = await settled(alice, made["id"])
    assert (session["state"], session["job_id"]) == ("running", made["job_id"])
    assert "42" in await computes(alice, session)


@pytest.mark.parametrize("part", PARTS)
async def test_killed_while_a_cell_executes(portal: Live, alice: Client, part: str) -> None:
    made = await alice.start_session(name="running", resources=SMALL)
    session = await settled(alice, made["id"])
    assert session["state"] == "running", session["reason"]
    await alice.open_lab(session)
    async with alice.kernel(session) as kernel:
        sent = await kernel.send(
            "import time\nprint('on', flush=True)\ntime.sleep(4)\nkept = 'kept'"
        )
        assert "on" in await kernel.first_output(sent)
        kernel_id = kernel.id
        portal.kill(part)
    again = await settled(alice, made["id"])
    assert (again["state"], again["job_id"]) == ("running", made["job_id"])
    assert await _value(alice, session, kernel_id) == "kept"


async def _value(client: Client, session: Any, kernel_id: str) -> str:
    """Return the executing cell's result from its kernel, retrying until nginx is back."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                async with client.connected(session, kernel_id) as kernel:
                    return (await kernel.run("print(kept)")).text.strip()
            except AWAY:
                await asyncio.sleep(0.2)
