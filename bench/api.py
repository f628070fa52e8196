"""The pages' API calls on a busy site, beside an empty one: 20,000 sessions queued, all in squeue,
and 100,000 in history. Four browsers ask at once, each with a moment between two requests."""

from __future__ import annotations

import asyncio

from bench.figure import Figure, Result, at_most
from bench.load import BadAnswer, Load, Target, hammer
from bench.place import Place
from bench.rows import Scene
from bench.stand import Stand, raised

BUSY = Scene(people=500, queued=20_000, ended=100_000)
EMPTY = Scene(people=500)
CONNECTIONS, SECONDS, WARM_S, PAUSE_S = 4, 8.0, 1.0, 0.05
FIRST_LOOK_S = 60.0
BUDGET_MS = 100
PATHS = ("/api/v1/sessions", "/api/v1/cluster", "/api/v1/admin/sessions")


async def measure(place: Place) -> Result:
    empty = await _loads(place, EMPTY)
    busy = await _loads(place, BUSY)
    figures = [
        Figure(
            f"{path} with {BUSY.queued:,} queued, {BUSY.ended:,} ended: p99",
            busy[path].p99_ms, "ms", empty[path].p99_ms, "an empty site", at_most(BUDGET_MS),
        )
        for path in PATHS
    ]  # fmt: skip
    detail = {
        path: {"empty": _summary(empty[path]), "busy": _summary(busy[path])} for path in PATHS
    }
    return Result(tuple(figures), detail)


def _summary(load: Load) -> dict[str, float]:
    return {
        "requests": len(load.latencies_ms),
        "median_ms": load.median_ms,
        "p99_ms": load.p99_ms,
        "max_ms": max(load.latencies_ms),
    }


async def _loads(place: Place, scene: Scene) -> dict[str, Load]:
    async with raised(place, scene) as stand:
        targets = {path: _target(stand, path) for path in PATHS}
        await _slurm_seen(targets["/api/v1/cluster"])
        return {
            path: await hammer(target, CONNECTIONS, SECONDS, PAUSE_S, WARM_S)
            for path, target in targets.items()
        }


def _target(stand: Stand, path: str) -> Target:
    logins = stand.logins
    token = logins.admin_token if "/admin/" in path else logins.user_token
    return Target.of(stand.url + path, {"Cookie": f"portal_session={token}"})


async def _slurm_seen(target: Target) -> None:
    """Until the portal has looked at Slurm once: a pause of a few requests at the least."""
    async with asyncio.timeout(FIRST_LOOK_S):
        while True:
            try:
                await hammer(target, 1, 0.2, PAUSE_S)
                return
            except BadAnswer:
                await asyncio.sleep(0.2)
