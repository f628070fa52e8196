"""TensorBoard through the portal, beside the same TensorBoard asked directly with its secret."""

from __future__ import annotations

from bench.figure import Figure, Result, at_least, at_most, median
from bench.load import Load, Target, hammer
from bench.place import Place, query
from bench.start import RESOURCES
from bench.who import cookies
from cluster.client import Client

CONNECTIONS, SECONDS, WARM_S, ROUNDS = 8, 2.0, 0.3, 3
WRITE = """
import os
from tensorboardX import SummaryWriter
with SummaryWriter(os.environ["PORTAL_LOGDIR"]) as log:
    for step in range(1000):
        log.add_scalar("loss", 1 / (step + 1), step)
"""
DATA = "data/plugin/scalars/scalars?run=.&tag=loss"


async def measure(place: Place) -> Result:
    async with Client(place.base_url) as client:
        await client.login("alice", place.users["alice"])
        made = await client.start_session(resources=RESOURCES)
        session = await client.wait_session(made["id"], "running")
        await client.open_lab(session)
        async with client.kernel(session) as kernel:
            await kernel.run(WRITE)
        board = await client.wait_tensorboard(session["id"])
        direct = _direct(place, board["id"], f"{board['url']}{DATA}")
        through = Target.of(f"{client.base_url}{board['url']}{DATA}", cookies(client))
        busy = await _rounds(direct, through, CONNECTIONS)
        single = await _rounds(direct, through, 1)
        await client.stop_session(session["id"])
    rates = [median([load.rate for load in side]) for side in busy]
    times = [median([load.median_ms for load in side]) for side in single]
    return Result(tuple(_figures(rates, times)), {"requests_per_s": rates, "median_ms": times})


def _figures(rates: list[float], times: list[float]) -> list[Figure]:
    what = "TensorBoard's requests/s through the portal (1,000-point scalars, 8 connections)"
    return [
        Figure(what, rates[1], "/s", rates[0], "direct"),
        Figure("of direct's requests/s", rates[1] / rates[0], "", budget=at_least(0.8)),
        Figure("a request through the portal, one at a time", times[1], "ms", times[0], "direct"),
        Figure("what the portal adds to a request", times[1] - times[0], "ms", budget=at_most(3)),
    ]


def _direct(place: Place, board_id: str, path: str) -> Target:
    sql = "SELECT host, port, secret FROM tensorboards WHERE id = ?"
    ((host, port, secret),) = query(place.paths.portal_home / "portal.db", sql, board_id)
    return Target.of(f"http://{host}:{port}{path}", {"X-Portal-Secret": secret})


async def _rounds(
    direct: Target, through: Target, connections: int
) -> tuple[list[Load], list[Load]]:
    """Turn by turn, so that whatever else the machine does falls on both."""
    found: tuple[list[Load], list[Load]] = ([], [])
    for _ in range(ROUNDS):
        for target, side in zip((direct, through), found, strict=True):
            side.append(await hammer(target, connections, SECONDS, warm_s=WARM_S))
    return found
