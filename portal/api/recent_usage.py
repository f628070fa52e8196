"""Route of the recent usage of the caller's running sessions and jobs, for the home page."""

from datetime import UTC, datetime
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel

from portal.services.jobs.recent_usage import RecentUsage, load_recent_usage
from portal.services.jobs.usage_trend import STEP_S
from portal.web.dependencies import ContextDep, CurrentUser

router = APIRouter(tags=["sessions"])


class LastMetricOut(BaseModel):
    """The last value of a scalar that a job has logged for TensorBoard."""

    tag: str
    value: float


class UsageTrendOut(BaseModel):
    """The recent usage of one session or job.

    `percent` is the mean use of its GPUs, or of its CPUs if no GPU was measured (`resource`), in
    each step until now; null is unknown. All its GPUs have been idle since `gpu_idle_since`, or for
    longer if `gpu_idle_longer`; null: they are not idle, or it is unknown. `metric` is a job's
    loss, or another value if it logs none; null: it logs nothing, or could not be read.
    """

    id: str
    resource: Literal["gpu", "cpu"]
    percent: list[float | None]
    gpu_idle_since: datetime | None
    gpu_idle_longer: bool
    metric: LastMetricOut | None


class RecentUsageOut(BaseModel):
    """The recent usage of running sessions and jobs; those without measurements are left out."""

    step_s: int
    items: list[UsageTrendOut]


@router.get("/me/recent-usage")
async def get_recent_usage(user: CurrentUser, context: ContextDep) -> RecentUsageOut:
    """Return the usage of the caller's running sessions and jobs in the last 15 minutes."""
    recent = await load_recent_usage(context, user)
    return RecentUsageOut(step_s=STEP_S, items=[_trend_out(each) for each in recent])


def _trend_out(recent: RecentUsage) -> UsageTrendOut:
    trend, metric = recent.trend, recent.metric
    since = trend.gpu_idle_since
    return UsageTrendOut(
        id=recent.id,
        resource=trend.resource,
        percent=trend.percent,
        gpu_idle_since=None if since is None else datetime.fromtimestamp(since, UTC),
        gpu_idle_longer=trend.gpu_idle_longer,
        metric=metric and LastMetricOut(tag=metric.tag, value=metric.value),
    )
