"""A job's usage over time, as samplers measured it on its nodes (spawner/node/usage/sampler.py).

The files belong to the job's owner, who alone sees the values; no decision depends on them.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from portal.context import AppContext
from portal.db import utcnow
from portal.models import BatchJob
from portal.services.slurm.job_logs import check_task
from spawner.usage_file import NodeSeries

READ_WITHIN_S = 5.0
CLOCKS_DIFFER = timedelta(minutes=10)
"""A node's clock may differ from the portal's by this much."""


async def load_usage(
    context: AppContext, job: BatchJob, task: int | None
) -> tuple[list[NodeSeries], int]:
    """Return the series by node, and the number of nodes that were left out.

    Both are empty for a job without samplers: an external job, or one that has not started. Raises
    InvalidInput for a task that the job does not have, and the launcher's errors.
    """
    check_task(job, task)
    if job.external or job.started_at is None:
        return [], 0
    series, left_out = await context.file_pool.usage(
        job.user.username, job.id, task or 0, READ_WITHIN_S
    )
    first = (job.submitted_at or job.created_at) - CLOCKS_DIFFER
    last = (job.ended_at or utcnow()) + CLOCKS_DIFFER
    shown = (_within(each, first, last) for each in series)
    return [each for each in shown if each.points], left_out


def _within(series: NodeSeries, first: datetime, last: datetime) -> NodeSeries:
    """Return the series without points that cannot be the job's: its owner can write any."""
    between = first.timestamp(), last.timestamp()
    points = (point for point in series.points if between[0] <= point.start <= between[1])
    return replace(series, points=tuple(points))
