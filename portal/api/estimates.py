"""Route of start time estimates for jobs that are not yet submitted."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from portal.api.common_schemas import JobResourcesIn, ResourcesOut
from portal.db import utcnow
from portal.services.jobs import estimates
from portal.web.dependencies import ContextDep, JobsUser

router = APIRouter(tags=["estimates"])
MAX_CHOICES = 8
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
    forecast = await estimates.estimate(
        context, user, body.resources.model_dump(), body.template, body.environment
    )
    return EstimateOut(
        start_at=forecast.start_at,
        seconds=forecast.seconds,
        certain=forecast.certain,
        note=forecast.note,
        alternatives=[
            AlternativeOut(
                title=alternative.title,
                resources=ResourcesOut(**alternative.resources),
                start_at=alternative.start_at,
            )
            for alternative in forecast.alternatives
        ],
    )


class ChoicesIn(BaseModel):
    """Several resource choices of a form, such as its presets."""

    model_config = ConfigDict(extra="forbid")

    choices: Annotated[list[JobResourcesIn], Field(min_length=1, max_length=MAX_CHOICES)]
    template: Name | None = None
    environment: Name | None = None


class ChoiceEstimateOut(BaseModel):
    """Slurm's forecast for one choice; both are null if it is unknown."""

    start_at: datetime | None
    seconds: int | None


class ChoiceEstimates(BaseModel):
    """The forecasts, in the order of the choices."""

    items: list[ChoiceEstimateOut]


@router.post("/estimates/choices")
async def estimate_choices(body: ChoicesIn, user: JobsUser, context: ContextDep) -> ChoiceEstimates:
    """Return when jobs with each of these resources would start, without alternatives.

    A choice that is refused, or that would exceed the rate limit of requests to Slurm, is unknown.
    """
    starts = await estimates.estimate_choices(
        context,
        user,
        [choice.model_dump() for choice in body.choices],
        body.template,
        body.environment,
    )
    now = utcnow()
    return ChoiceEstimates(
        items=[
            ChoiceEstimateOut(
                start_at=start_at,
                seconds=max(0, round((start_at - now).total_seconds())) if start_at else None,
            )
            for start_at in starts
        ]
    )
