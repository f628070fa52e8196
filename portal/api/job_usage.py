"""Route of a job's usage over time, as measured on its nodes."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel

from portal.api.logs import task_in_query
from portal.api.session_use import GpuUse
from portal.services.jobs import jobs, measurements
from portal.web.dependencies import ContextDep, CurrentUser
from spawner.usage_file import CPUS, FIRST_GPU, MEMORY, GpuInfo, NodeSeries

router = APIRouter(tags=["jobs"])


class NodeUsageOut(BaseModel):
    """The usage on one node, as columns of equal length.

    `at` is when each point began, in seconds since 1970; while the node was measured, the next one
    begins after `step_s` at most. Memory is the maximum, the rest are means; null is a failed
    measurement, `gpus` null: no data about GPUs. `memory_killed_at`: when a process was last killed
    because the job ran out of memory there.
    """

    node: str
    step_s: float
    at: list[float]
    memory_mb: list[float | None]
    cpus: list[float | None]
    memory_limit_mb: float | None
    gpus: list[GpuUse] | None
    memory_killed_at: datetime | None


class JobUsageOut(BaseModel):
    """The measured usage of a job or of one task of an array, by node.

    `nodes` is empty if nothing was measured. `measured` is false for a job that was submitted
    outside the portal, or while the setting `job_usage_samplers` was off. `nodes_left_out` is the
    number of further nodes with measurements.
    """

    nodes: list[NodeUsageOut]
    nodes_left_out: int
    measured: bool


@router.get("/jobs/{batch_job_id}/usage")
async def job_usage(
    batch_job_id: str,
    user: CurrentUser,
    context: ContextDep,
    task: Annotated[int | None, Depends(task_in_query)],
) -> JobUsageOut:
    """Return the usage over time of one of the caller's jobs; for an array, of one task."""
    job = await jobs.get(context, user, batch_job_id)
    series, left_out = await measurements.load_measurements(context, job, task)
    return JobUsageOut(
        nodes=[_to_node(each) for each in series],
        nodes_left_out=left_out,
        measured=await measurements.is_measured(context, job),
    )


def _to_node(series: NodeSeries) -> NodeUsageOut:
    header = series.header
    gpus = None
    if header.gpus is not None:
        gpus = [_to_gpu(series, index, gpu) for index, gpu in enumerate(header.gpus)]
    killed_at = header.killed_at
    return NodeUsageOut(
        node=series.node,
        step_s=header.step_s,
        at=[point.start for point in series.points],
        memory_mb=_column(series, MEMORY),
        cpus=_column(series, CPUS),
        memory_limit_mb=header.memory_limit_mb,
        gpus=gpus,
        memory_killed_at=None if killed_at is None else datetime.fromtimestamp(killed_at, UTC),
    )


def _to_gpu(series: NodeSeries, index: int, gpu: GpuInfo) -> GpuUse:
    first = FIRST_GPU + 2 * index
    return GpuUse(
        name=gpu.name,
        use_percent=_column(series, first),
        memory_mb=_column(series, first + 1),
        memory_total_mb=gpu.memory_total_mb,
    )


def _column(series: NodeSeries, index: int) -> list[float | None]:
    return [point.values[index] if index < len(point.values) else None for point in series.points]
