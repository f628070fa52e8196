"""What users read while their group's GPU limit holds a job back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from spawner.slurm.model import SlurmState
from tests.patience import PATIENCE_S
from tests.portal.job_portal import World, job_world
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio
ALL_USED = "Your group already uses all 8 of its GPUs."


@pytest.fixture(scope="module")
async def world(slapd: Slapd, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with job_world(slapd, tmp_path_factory.mktemp("gpus")) as made:
        yield made


def show(world: World, number: int, **fields: Any) -> None:
    """Change what squeue shows of a job."""
    held = {"account": "research", "partition": "gpu"}
    world.slurm.shown[number] = replace(world.slurm.shown[number], **held, **fields)


async def with_reason(world: World, batch_job_id: str, reason: str) -> Any:
    """Return a job of alice's once it has this reason."""
    async with asyncio.timeout(PATIENCE_S):
        while (found := (await world.ask("GET", f"/jobs/{batch_job_id}")).body)["reason"] != reason:
            await asyncio.sleep(0.02)
    return found


async def test_group_gpu_limit_is_the_reason_of_jobs_and_queue(world: World) -> None:
    world.accounting.rows["research", "", ""] = {"gres/gpu": 8}
    await world.context.accounting.look()
    first, second = await world.job(name="first"), await world.job(name="second")
    gpus = (("v100", 4),)
    nodes = ("node01", "node02")
    show(world, first["job_id"], state=SlurmState.RUNNING, nodes=nodes, gpus=gpus)
    show(world, second["job_id"], reason="AssocGrpGRES", gpus=gpus)
    found = await with_reason(world, second["id"], ALL_USED)
    assert found["suggestion"] == "This starts when one is free. To start sooner, request fewer."
    listed = {job["id"]: job for job in (await world.ask("GET", "/jobs")).body["items"]}
    assert listed[second["id"]]["reason"] == ALL_USED
    queues = (await world.ask("GET", "/cluster/queue")).body["partitions"]
    (waiting,) = next(queue for queue in queues if queue["name"] == "gpu")["mine"]
    assert waiting["reason"] == ALL_USED
    for job in (first, second):
        show(world, job["job_id"], gpus=(("v100", 3),))
    some = "Your group may use 8 GPUs at once, and 6 of them are in use."
    await with_reason(world, second["id"], some)
