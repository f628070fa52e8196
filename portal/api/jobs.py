"""Routes of a single job: submit, read, cancel, remove. Lists are in job_lists.py."""

from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from portal.api.common_schemas import JobResourcesIn
from portal.api.job_schemas import JobDetail, job_fields
from portal.context import AppContext
from portal.models import BatchJob
from portal.services.jobs import jobs
from portal.services.jobs.notebook_runs import find_executed_copy
from portal.services.jobs.prepare import JobRequest
from portal.services.tensorboards import shares, tensorboards
from portal.web.dependencies import (
    ClientIp,
    ContextDep,
    CurrentUser,
    IdempotencyKey,
    JobsUser,
)

router = APIRouter(tags=["jobs"])


class JobIn(BaseModel):
    """A job to submit: from a template, with its parameters, or a custom script."""

    model_config = ConfigDict(extra="forbid")

    template: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    parameters: dict[str, Any] = {}
    script: Annotated[str, Field(min_length=1)] | None = None
    environment: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    resources: JobResourcesIn = JobResourcesIn()
    name: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    logdir: Annotated[str, Field(min_length=1, max_length=4000)] | None = None

    def to_request(self) -> JobRequest:
        return JobRequest(**{**self.model_dump(), "resources": self.resources.model_dump()})


@router.post("/jobs", status_code=201)
async def submit_job(
    body: JobIn,
    user: JobsUser,
    context: ContextDep,
    ip: ClientIp,
    idempotency_key: IdempotencyKey = None,
) -> JobDetail:
    """Submit a job.

    With an Idempotency-Key, the same request returns the same job, however often it is sent; a
    different request under the same key is refused (409).

    While Slurm does not answer, the job is kept as `submitting`, and submitted later.
    """
    return await detail(
        context, await jobs.create(context, user, body.to_request(), idempotency_key, ip)
    )


@router.get("/jobs/{batch_job_id}")
async def get_job(batch_job_id: str, user: CurrentUser, context: ContextDep) -> JobDetail:
    """Return one of the caller's jobs, with its script and, for an array, its tasks."""
    return await detail(context, await jobs.get(context, user, batch_job_id))


@router.post("/jobs/{batch_job_id}/cancel", status_code=202)
async def cancel_job(
    batch_job_id: str, user: JobsUser, context: ContextDep, ip: ClientIp
) -> JobDetail:
    """Cancel a job. An ended job is refused with its outcome (409)."""
    job = await jobs.cancel(context, await jobs.get(context, user, batch_job_id), by=user, ip=ip)
    return await detail(context, job)


@router.delete("/jobs/{batch_job_id}", status_code=204)
async def remove_job(
    batch_job_id: str, user: JobsUser, context: ContextDep, ip: ClientIp
) -> Response:
    """Remove an ended job from the list; its files stay."""
    await jobs.remove(context, await jobs.get(context, user, batch_job_id), by=user, ip=ip)
    return Response(status_code=204)


async def detail(context: AppContext, job: BatchJob) -> JobDetail:
    """Return a job with all its details."""
    full_job = await jobs.load_full(context, job)
    board = await tensorboards.load_tensorboard(context, job)
    shared = await shares.load_shares(context, full_job)
    return JobDetail(
        **job_fields(context, full_job, board, tasks=True),
        script=full_job.script or None,
        source=full_job.source,
        workdir=full_job.workdir,
        shared_with=shared.users,
        shared_groups=shared.groups,
        executed_notebook=find_executed_copy(full_job),
        lost_job_ids=[lost["job_id"] for lost in full_job.lost_jobs or ()],
    )
