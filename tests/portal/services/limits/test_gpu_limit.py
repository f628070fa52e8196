"""The reason that users see while their group's GPU limit delays a job."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from spawner.slurm.model import JobPhase
from tests.polling import until
from tests.portal.job_portal import JobPortal, run_job_portal
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio
ALL_USED = "Your group already uses all 8 of its GPUs."


@pytest.fixture(scope="module")
async def job_portal(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[JobPortal]:
    async with run_job_portal(slapd, tmp_path_factory.mktemp("gpus")) as made:
        yield made


def show(job_portal: JobPortal, number: int, **fields: Any) -> None:
    """Change what squeue shows of a job."""
    held: dict[str, Any] = {"account": "research", "partition": "gpu"}
    job_portal.slurm.shown[number] = replace(job_portal.slurm.shown[number], **held, **fields)


async def with_reason(job_portal: JobPortal, batch_job_id: str, reason: str) -> Any:
    """Return a job of alice's once it has this reason."""
    answer = await until(
        lambda: job_portal.ask("GET", f"/jobs/{batch_job_id}"),
        f"the reason {reason}",
        done=lambda answer: answer.body["reason"] == reason,
    )
    return answer.body


async def test_group_gpu_limit_is_the_reason_of_jobs_and_queue(job_portal: JobPortal) -> None:
    job_portal.accounting.rows["research", "", ""] = {"gres/gpu": 8}
    await job_portal.context.accounting.refresh()
    first, second = await job_portal.job(name="first"), await job_portal.job(name="second")
    gpus = (("v100", 4),)
    nodes = ("node01", "node02")
    show(job_portal, first["job_id"], phase=JobPhase.RUNNING, nodes=nodes, gpus=gpus)
    show(job_portal, second["job_id"], reason="AssocGrpGRES", gpus=gpus)
    found = await with_reason(job_portal, second["id"], ALL_USED)
    assert found["suggestion"] == "This starts when one is free. To start sooner, request fewer."
    listed = {job["id"]: job for job in (await job_portal.ask("GET", "/jobs")).body["items"]}
    assert listed[second["id"]]["reason"] == ALL_USED
    queues = (await job_portal.ask("GET", "/cluster/queue")).body["partitions"]
    (waiting,) = next(queue for queue in queues if queue["name"] == "gpu")["mine"]
    assert waiting["reason"] == ALL_USED
    for job in (first, second):
        show(job_portal, job["job_id"], gpus=(("v100", 3),))
    some = "Your group may use 8 GPUs at once, and 6 of them are in use."
    await with_reason(job_portal, second["id"], some)
