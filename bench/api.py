"""Latency of the API calls behind the pages on a busy site, compared with an empty one.

The busy site has 5,000 nodes, 20,000 queued sessions, all of them in squeue, and 100,000 in its
history. Four clients send requests at once, each pausing briefly between two requests.
"""

from __future__ import annotations

import asyncio

from bench.cluster_access import BenchCluster
from bench.figure import Figure, Result, at_most
from bench.load import BadResponse, Load, Target, hammer
from bench.many_nodes import NODES
from bench.portal_stack import PortalStack, running_stack
from bench.rows import Scene

BUSY = Scene(users=500, queued=20_000, ended=100_000, nodes=NODES)
EMPTY = Scene(users=500)
CONNECTIONS, SECONDS, WARM_S, PAUSE_S = 4, 8.0, 1.0, 0.05
FIRST_LOOK_S = 60.0
BUDGET_MS = 100
PATHS = (
    "/api/v1/sessions",
    "/api/v1/cluster",
    "/api/v1/cluster/nodes?order=gpus",
    "/api/v1/cluster/map",
    "/api/v1/admin/sessions",
)


async def measure(cluster: BenchCluster) -> Result:
    empty = await _measure_loads(cluster, EMPTY)
    busy = await _measure_loads(cluster, BUSY)
    figures = [
        Figure(
            f"{path} with {BUSY.nodes:,} nodes, {BUSY.queued:,} queued, {BUSY.ended:,} ended: p99",
            busy[path].p99_ms, "ms", empty[path].p99_ms, "an empty site", at_most(BUDGET_MS),
        )
        for path in PATHS
    ]  # fmt: skip
    detail = {
        path: {"empty": empty[path].summarize(), "busy": busy[path].summarize()} for path in PATHS
    }
    return Result(tuple(figures), detail)


async def _measure_loads(cluster: BenchCluster, scene: Scene) -> dict[str, Load]:
    async with running_stack(cluster, scene) as stack:
        targets = {path: _to_target(stack, path) for path in PATHS}
        await wait_for_slurm(targets["/api/v1/cluster"])
        return {
            path: await hammer(target, CONNECTIONS, SECONDS, PAUSE_S, WARM_S)
            for path, target in targets.items()
        }


def _to_target(stack: PortalStack, path: str) -> Target:
    logins = stack.logins
    token = logins.admin_token if "/admin/" in path else logins.user_token
    return Target.get(stack.url + path, {"Cookie": f"portal_session={token}"})


async def wait_for_slurm(target: Target) -> None:
    """Wait until the portal has polled Slurm once, at least for the duration of a few requests."""
    async with asyncio.timeout(FIRST_LOOK_S):
        while True:
            try:
                await hammer(target, 1, 0.2, PAUSE_S)
                return
            except BadResponse:
                await asyncio.sleep(0.2)
