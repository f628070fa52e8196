"""A cluster of 50,000 nodes: the calls behind its pages, and the portal at rest."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from bench.api import wait_for_slurm
from bench.cluster_access import pss_mb
from bench.figure import Figure, Result
from bench.load import Load
from bench.scale.growth import TENTH, call_figures, summarize_loads
from bench.scale.site import running_site

NODES = 50_000
SECONDS = 5.0  # for each call
REST_S = 60.0  # in which nodes are read several times, partitions once
CALLS = {
    "the cluster": "/api/v1/cluster",
    "a page of nodes": "/api/v1/cluster/nodes?order=gpus",
    "the map": "/api/v1/cluster/map",
}


@dataclass
class NodesRun:
    calls: dict[str, Load]
    rest_s: float = 0.0
    memory_mb: float = 0.0


async def measure(root: Path) -> Result:
    tenth, full = [await _measure_nodes(root, count) for count in (NODES // 10, NODES)]
    what = f"{NODES:,} nodes"
    figures = call_figures(what, full.calls, tenth.calls)
    figures += [
        Figure("the portal's processor time per minute at rest", full.rest_s, "s", tenth.rest_s,
               TENTH),
        Figure("the portal's memory (PSS)", full.memory_mb, "MB", tenth.memory_mb, TENTH),
    ]  # fmt: skip
    return Result(tuple(figures), summarize_loads(tenth.calls, full.calls))


async def _measure_nodes(root: Path, count: int) -> NodesRun:
    async with running_site(root, nodes=count) as site:
        await wait_for_slurm(site.target("/api/v1/cluster"))
        run = NodesRun(await site.measure_calls(CALLS, SECONDS))
        before_s = site.processor_s()
        await asyncio.sleep(REST_S)
        run.rest_s = site.processor_s() - before_s
        run.memory_mb = pss_mb(site.pid)
        return run
