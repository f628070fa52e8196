"""Number of Slurm queries, from Slurm's own counters: slurmctld's (sdiag) and slurmdbd's.

A command is counted by the message that only it sends: squeue REQUEST_JOB_INFO, `scontrol show
node` REQUEST_NODE_INFO. Both also send REQUEST_PARTITION_INFO, as does `scontrol show partition`.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping

from bench.cluster_access import BenchCluster
from bench.figure import Figure, Result, at_most
from bench.start import RESOURCES
from cluster.client import Client

WINDOW_S = 45.0
RUNNING = 3
# batchspawner polls for each server separately: every 30 s once it runs, every 0.52 s while it is
# pending
PEER_RUNNING, PEER_PENDING = 2, 116
_COUNT = re.compile(r"^\s+(\w+)\s+\(\s*\d+\) count:(\d+)", re.MULTILINE)


async def measure(cluster: BenchCluster) -> Result:
    async with Client(cluster.base_url) as client:
        await client.login("alice", cluster.users["alice"])
        sessions = [await client.start_session(resources=RESOURCES) for _ in range(RUNNING)]
        for session in sessions:
            await client.wait_session(session["id"], "running")
        at_rest = await _count_per_minute(cluster, asyncio.sleep(WINDOW_S))
        starting = await _count_per_minute(cluster, _keep_starting(client))
        for session in sessions:
            await client.stop_session(session["id"])
    return Result(
        (
            _figure(
                "Slurm queries a minute, 3 sessions running", at_rest, PEER_RUNNING * RUNNING, 30,
            ),
            _figure(
                "Slurm queries a minute, 3 running and 1 always starting",
                starting, PEER_RUNNING * RUNNING + PEER_PENDING, 60,
            ),
        ),
        {"at_rest": at_rest, "starting": starting},
    )  # fmt: skip


def _figure(label: str, counts: Mapping[str, float], peer: float, budget: float) -> Figure:
    alternative = "batchspawner (its rule, computed)"
    return Figure(label, commands(counts), "", peer, alternative, at_most(budget))


def commands(counts: Mapping[str, float]) -> float:
    """Return the number of reading commands, computed from the messages they send."""
    jobs, nodes = counts.get("REQUEST_JOB_INFO", 0), counts.get("REQUEST_NODE_INFO", 0)
    # those commands send this message too; the rest are `scontrol show partition`
    partitions = max(0.0, counts.get("REQUEST_PARTITION_INFO", 0) - jobs - nodes)
    return jobs + nodes + partitions + counts.get("DBD_GET_JOBS_COND", 0)


async def _keep_starting(client: Client) -> None:
    """Start one session after another, so that one is always starting."""
    until = time.monotonic() + WINDOW_S
    while time.monotonic() < until:
        session = await client.start_session(resources=RESOURCES)
        await client.wait_session(session["id"], "running")
        await client.stop_session(session["id"])


async def _count_per_minute(
    cluster: BenchCluster, work: asyncio.Future[None] | object
) -> dict[str, float]:
    """Return the messages counted per minute while `work` runs."""
    before, began = _read_counters(cluster), time.monotonic()
    await work  # type: ignore[misc]
    minutes = (time.monotonic() - began) / 60
    after = _read_counters(cluster)
    return {name: (n - before.get(name, 0)) / minutes for name, n in after.items()}


def _read_counters(cluster: BenchCluster) -> dict[str, int]:
    texts = (
        cluster.exec_as("root", ["sdiag"]),
        cluster.exec_as("root", ["sacctmgr", "show", "stats"]),
    )
    return {name: int(count) for text in texts for name, count in _COUNT.findall(text)}
