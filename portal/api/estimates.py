"""Route of start time estimates for jobs that are not yet submitted."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from portal.api.common_schemas import JobResourcesIn, ResourcesOut
from portal.services.jobs import estimates
from portal.web.dependencies import ContextDep, JobsUser

router = APIRouter(tags=["estimates"])
Name = Annotated[str, Field(min_length=1, max_length=100)]


class EstimateIn(BaseModel):
    """The resources of a job; omitted ones come from the template or environment, if one is
    named.
    """

    model_config = ConfigDict(extra="forbid")

    resources: JobResourcesIn = JobResourcesIn()
    template: Name | None = None
    environment: Name | None = None


class AlternativeOut(BaseModel):
    """A smaller request, and its estimated start."""

    title: str
    resources: ResourcesOut
    start_at: datetime


class EstimateOut(BaseModel):
    """Slurm's own forecast.

    `start_at` is null if Slurm has none; `certain` is false if limits that the forecast does not
    include may hold the job; `note` explains it in a sentence.
    """

    start_at: datetime | None
    seconds: int | None
    certain: bool
    note: str
    alternatives: list[AlternativeOut]


@router.post("/estimates")
async def estimate(body: EstimateIn, user: JobsUser, context: ContextDep) -> EstimateOut:
    """Return when a job with these resources would start if it were submitted now.

    Answers are cached for half a minute, and the rate of requests to Slurm is limited (429 with
    Retry-After).
    """
    found = await estimates.estimate(
        context, user, body.resources.model_dump(), body.template, body.environment
    )
    return EstimateOut(
        start_at=found.start_at,
        seconds=found.seconds,
        certain=found.certain,
        note=found.note,
        alternatives=[
            AlternativeOut(
                title=other.title,
                resources=ResourcesOut(**other.resources),
                start_at=other.start_at,
            )
            for other in found.alternatives
        ],
    )
