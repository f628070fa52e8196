"""Resident memory of portal and hub with 200 running sessions, compared with none."""

from __future__ import annotations

import asyncio
from functools import partial

from bench.figure import Figure, Result, at_most
from bench.place import BenchFolder, Failed, pss_mb, query, wait_until
from bench.rows import Scene
from bench.stand import Stand, raised

SESSIONS, USERS = 200, 100
ADOPTION_S, SETTLE_S = 180.0, 5.0


async def measure(place: BenchFolder) -> Result:
    none = await _measure_memory(place, 0)
    many = await _measure_memory(place, SESSIONS)
    total, before = sum(many.values()), sum(none.values())
    what = f"portal + hub, {SESSIONS} sessions running (PSS)"
    return Result(
        (
            Figure(what, total, "MB", before, "none running", at_most(500)),
            Figure("the portal of it", many["portal"], "MB", none["portal"], "none running"),
            Figure("the hub of it", many["hub"], "MB", none["hub"], "none running"),
        ),
        {"mb": {"none": none, "many": many}, "sessions": SESSIONS},
    )


async def _measure_memory(place: BenchFolder, sessions: int) -> dict[str, float]:
    """Measure once the hub has adopted all sessions, which the portal's own loop does one by
    one."""
    async with raised(place, Scene(users=USERS, running=sessions), with_hub=True) as stand:
        enough = partial(_all_adopted, stand, sessions)
        await asyncio.to_thread(wait_until, enough, "the hub to adopt all", ADOPTION_S)
        await asyncio.sleep(SETTLE_S)
        if _count_adopted(stand) < sessions:
            raise Failed(f"only {_count_adopted(stand)} of {sessions} sessions went on running")
        return {"portal": pss_mb(stand.portal_pid), "hub": pss_mb(stand.hub_pid)}


def _all_adopted(stand: Stand, sessions: int) -> bool:
    return _count_adopted(stand) >= sessions


def _count_adopted(stand: Stand) -> int:
    ((count,),) = query(stand.database, "SELECT count(*) FROM jobs WHERE state = 'running'")
    return int(count)
