"""Measurements of a job over time, by samplers on its nodes (spawner/node/usage/sampler.py).

The files belong to the job's owner, who alone sees the values; no decision depends on them.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import select

from portal.context import AppContext
from portal.db import utcnow
from portal.models import BatchJob, JobState
from portal.services.slurm.job_logs import check_task
from portal.services.store import update_row
from spawner.catalog import jobscript
from spawner.usage_file import FIRST_GPU, NodeSeries

READ_WITHIN_S = 5.0
CLOCK_TOLERANCE = timedelta(minutes=10)
"""A node's clock may differ from the portal's by this much."""


async def load_measurements(
    context: AppContext, job: BatchJob, task: int | None
) -> tuple[list[NodeSeries], int]:
    """Return the series by node, and the number of nodes that were left out.

    There are none for an external job, which has no samplers, or one that has not started. Raises
    InvalidInput for a task that the job does not have, and the launcher's errors.
    """
    check_task(job, task)
    if job.external or job.started_at is None:
        return [], 0
    series, left_out = await context.file_pool.usage(
        job.user.username, job.id, task or 0, READ_WITHIN_S
    )
    first = (job.submitted_at or job.created_at) - CLOCK_TOLERANCE
    last = (job.ended_at or utcnow()) + CLOCK_TOLERANCE
    shown = (_within(each, first, last) for each in series)
    return [each for each in shown if each.points], left_out


async def is_measured(context: AppContext, job: BatchJob) -> bool:
    """Return whether samplers record the job's usage: not for an external job, or if it was
    submitted while they were off.
    """
    async with context.db.session() as db:
        script = await db.scalar(select(BatchJob.script).where(BatchJob.id == job.id))
    return jobscript.is_measured(script or "")


def is_gpu_usage_unread(job: BatchJob) -> bool:
    """Return whether this is an ended job with GPUs, not an array, whose mean usage of them has not
    been read.
    """
    return (
        job.state is JobState.ENDED
        and job.started_at is not None
        and bool(job.resources.get("gpus"))
        and not job.external
        and job.array_size is None
        and job.gpu_percent is None
    )


async def store_gpu_usage(context: AppContext, job: BatchJob) -> None:
    """Read and store the mean usage of a job's GPUs, if it was measured. May raise the launcher's
    errors.
    """
    series, _ = await load_measurements(context, job, None)
    mean = mean_gpu_percent(series)
    if mean is None:
        return

    def modify(row: BatchJob) -> None:
        row.gpu_percent = mean

    await update_row(context.db, BatchJob, job.id, modify)
    context.notifier.notify(job.user_id, job.id)


def mean_gpu_percent(series: Iterable[NodeSeries]) -> float | None:
    """Return the mean usage of all GPUs over all measurements in percent; None without any."""
    total, samples = 0.0, 0
    for each in series:
        end = FIRST_GPU + 2 * len(each.header.gpus or ())  # two values per GPU: usage, memory
        for point in each.points:
            uses = [use for use in point.values[FIRST_GPU:end:2] if use is not None]
            total += point.samples * sum(uses)
            samples += point.samples * len(uses)
    return round(min(100.0, max(0.0, total / samples)), 1) if samples else None


def _within(series: NodeSeries, first: datetime, last: datetime) -> NodeSeries:
    """Return the series without points from other times than the job's: its owner can write any
    points.
    """
    between = first.timestamp(), last.timestamp()
    points = (point for point in series.points if between[0] <= point.start <= between[1])
    return replace(series, points=tuple(points))
