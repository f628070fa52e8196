"""TensorBoard through the portal, compared with direct requests signed with the portal's key."""

from __future__ import annotations

import time

from bench.cluster_access import BenchCluster, query
from bench.cookies import cookies
from bench.figure import Figure, Result, at_least, at_most, median
from bench.load import Load, Target, hammer
from bench.start import RESOURCES
from cluster.client import Client
from spawner import signing

CONNECTIONS, SECONDS, WARM_S, ROUNDS = 8, 2.0, 0.3, 3
WRITE = """
import os
from tensorboardX import SummaryWriter
with SummaryWriter(os.environ["PORTAL_LOGDIR"]) as log:
    for step in range(1000):
        log.add_scalar("loss", 1 / (step + 1), step)
"""
DATA = "data/plugin/scalars/scalars?run=.&tag=loss"


async def measure(cluster: BenchCluster) -> Result:
    async with Client(cluster.base_url) as client:
        await client.login("alice", cluster.users["alice"])
        started = await client.start_session(resources=RESOURCES)
        session = await client.wait_session(started["id"], "running")
        await client.open_lab(session)
        async with client.kernel(session) as kernel:
            await kernel.run(WRITE)
        board = await client.wait_tensorboard(session["id"])
        direct = _direct_target(cluster, board["id"], f"/tensorboard/{board['id']}/{DATA}")
        url = await client.open_tensorboard(board)
        through = Target.get(f"{url}{DATA}", cookies(client))
        busy = await _run_rounds(direct, through, CONNECTIONS)
        single = await _run_rounds(direct, through, 1)
        await client.stop_session(session["id"])
    rates = [median([load.rate for load in side]) for side in busy]
    times = [median([load.median_ms for load in side]) for side in single]
    return Result(tuple(_to_figures(rates, times)), {"requests_per_s": rates, "median_ms": times})


def _to_figures(rates: list[float], times: list[float]) -> list[Figure]:
    label = "TensorBoard's requests/s through the portal (1,000-point scalars, 8 connections)"
    return [
        Figure(label, rates[1], "/s", rates[0], "direct"),
        Figure("of direct's requests/s", rates[1] / rates[0], "", budget=at_least(0.8)),
        Figure("a request through the portal, one at a time", times[1], "ms", times[0], "direct"),
        Figure("what the portal adds to a request", times[1] - times[0], "ms", budget=at_most(3)),
    ]


def _direct_target(cluster: BenchCluster, board_id: str, path: str) -> Target:
    sql = "SELECT host, port, guard_key FROM tensorboards WHERE id = ?"
    ((host, port, key),) = query(cluster.paths.portal_home / "portal.db", sql, board_id)
    signature = signing.sign(key, "GET", path, time.time())  # valid for longer than the run
    return Target.get(f"http://{host}:{port}{path}", {signing.SIGNATURE_HEADER: signature})


async def _run_rounds(
    direct: Target, through: Target, connections: int
) -> tuple[list[Load], list[Load]]:
    """Alternate between the two targets, so that other load on the machine affects both."""
    loads: tuple[list[Load], list[Load]] = ([], [])
    for _ in range(ROUNDS):
        for target, side in zip((direct, through), loads, strict=True):
            side.append(await hammer(target, connections, SECONDS, warm_s=WARM_S))
    return loads
