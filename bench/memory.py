"""Resident memory of portal and hub with 200 running sessions, compared with none."""

from __future__ import annotations

import asyncio
from functools import partial

from bench.cluster_access import BenchCluster, Failed, pss_mb, query, wait_until
from bench.figure import Figure, Result, at_most
from bench.portal_stack import PortalStack, running_stack
from bench.rows import Scene

SESSIONS, USERS = 200, 100
ADOPTION_S, SETTLE_S = 180.0, 5.0


async def measure(cluster: BenchCluster) -> Result:
    none = await _measure_memory(cluster, 0)
    many = await _measure_memory(cluster, SESSIONS)
    total, before = sum(many.values()), sum(none.values())
    label = f"portal + hub, {SESSIONS} sessions running (PSS)"
    return Result(
        (
            Figure(label, total, "MB", before, "none running", at_most(500)),
            Figure("the portal of it", many["portal"], "MB", none["portal"], "none running"),
            Figure("the hub of it", many["hub"], "MB", none["hub"], "none running"),
        ),
        {"mb": {"none": none, "many": many}, "sessions": SESSIONS},
    )


async def _measure_memory(cluster: BenchCluster, sessions: int) -> dict[str, float]:
    """Measure once the hub has adopted all sessions, which the portal's own loop does one by
    one."""
    async with running_stack(cluster, Scene(users=USERS, running=sessions), with_hub=True) as stack:
        enough = partial(_all_adopted, stack, sessions)
        await asyncio.to_thread(wait_until, enough, "the hub to adopt all", ADOPTION_S)
        await asyncio.sleep(SETTLE_S)
        if _count_adopted(stack) < sessions:
            raise Failed(f"only {_count_adopted(stack)} of {sessions} sessions went on running")
        return {"portal": pss_mb(stack.portal_pid), "hub": pss_mb(stack.hub_pid)}


def _all_adopted(stack: PortalStack, sessions: int) -> bool:
    return _count_adopted(stack) >= sessions


def _count_adopted(stack: PortalStack) -> int:
    ((count,),) = query(stack.database, "SELECT count(*) FROM jobs WHERE state = 'running'")
    return int(count)
