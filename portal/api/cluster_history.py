"""Route of the cluster's history: usage of GPUs and CPUs, pending jobs and waits over time."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from portal.db import utcnow
from portal.models import ClusterSample
from portal.services.cluster.history import HistoryRange, load_history
from portal.web.dependencies import ContextDep, CurrentUser

router = APIRouter(prefix="/cluster", tags=["cluster"])

Values = list[float | None]


class ClusterHistory(BaseModel):
    """The history of the cluster in steps of equal length, the last one being the current.

    Each list has one value per step: the mean over the step, or null if nothing was recorded then,
    for example while the portal was down.
    """

    range: HistoryRange
    start: datetime = Field(description="When the first step begins.")
    step_s: int = Field(description="The length of a step, in seconds.")
    gpus: Values = Field(description="GPUs of all nodes.")
    gpus_allocated: Values = Field(description="GPUs allocated to jobs.")
    gpus_used: Values = Field(
        description="Utilization of allocated GPUs, as a number of GPUs. Null where not every "
        "allocated GPU is measured; sessions measure theirs."
    )
    cpus: Values = Field(description="CPUs of all nodes.")
    cpus_allocated: Values = Field(description="CPUs allocated to jobs.")
    cpus_used: Values = Field(
        description="Load average of the nodes as Slurm reports it, as a number of CPUs, at most "
        "the CPUs of each node. Null where Slurm does not report it."
    )
    pending_jobs: Values = Field(description="Pending jobs of all users; each array task counts.")
    median_wait_s: Values = Field(
        description="Median wait in the queue, in seconds, of the portal's sessions and jobs that "
        "started in the step. Null if none did."
    )


@router.get("/history")
async def cluster_history(
    _user: CurrentUser,
    context: ContextDep,
    range_: Annotated[HistoryRange, Query(alias="range")] = "24h",
) -> ClusterHistory:
    """Return the history of the last 24 hours, 7 or 30 days, or of the last year, in steps of 5
    minutes, 30 minutes, 2 hours, or one day (UTC).
    """
    history = await load_history(context, range_, utcnow())

    def values(get: Callable[[ClusterSample], float | None], digits: int = 1) -> Values:
        return [None if row is None else _round(get(row), digits) for row in history.rows]

    return ClusterHistory(
        range=range_,
        start=history.start,
        step_s=history.step_s,
        gpus=values(lambda row: row.gpus),
        gpus_allocated=values(lambda row: row.gpus_allocated, 2),
        gpus_used=values(lambda row: row.gpus_used, 2),
        cpus=values(lambda row: row.cpus),
        cpus_allocated=values(lambda row: row.cpus_allocated),
        cpus_used=values(lambda row: row.cpus_used),
        pending_jobs=values(lambda row: row.pending_jobs),
        median_wait_s=values(lambda row: row.median_wait_s, 0),
    )


def _round(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
