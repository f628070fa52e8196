"""When a job would start, before it is submitted."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from portal.api.deps import JobsUser, PartsDep
from portal.api.views import JobResourcesIn, ResourcesOut
from portal.services.jobs import estimates

router = APIRouter(tags=["estimates"])
Name = Annotated[str, Field(min_length=1, max_length=100)]


class EstimateIn(BaseModel):
    """Resources; what they leave out comes from the template or environment, if one is named."""

    model_config = ConfigDict(extra="forbid")

    resources: JobResourcesIn = JobResourcesIn()
    template: Name | None = None
    environment: Name | None = None


class AlternativeOut(BaseModel):
    """Something cheaper, and when that would start."""

    title: str
    resources: ResourcesOut
    start_at: datetime


class EstimateOut(BaseModel):
    """Slurm's own forecast. `start_at` is null when Slurm can't say; `certain` is false where
    limits may hold the job that the forecast doesn't know; `note` says so in a sentence."""

    start_at: datetime | None
    seconds: int | None
    certain: bool
    note: str
    alternatives: list[AlternativeOut]


@router.post("/estimates")
async def estimate(body: EstimateIn, user: JobsUser, parts: PartsDep) -> EstimateOut:
    """When a job with these resources would start, were it submitted now. Answers are kept for
    half a minute, and Slurm is asked only so often (429 with Retry-After)."""
    found = await estimates.estimate(
        parts, user, body.resources.model_dump(), body.template, body.environment
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
