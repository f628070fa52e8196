"""Routes of a single job: submit, read, cancel, remove, logs. Lists are in job_lists.py."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from portal.api.file_answer import Streamed
from portal.api.job_schemas import JobDetail, job_fields
from portal.api.logs import AS_FILE, LogPiece, PieceBytes, Stream, as_file, follow
from portal.api.session_schemas import JobResourcesIn
from portal.context import AppContext
from portal.models import BatchJob
from portal.services.jobs import jobs
from portal.services.jobs.prepare import JobRequest
from portal.services.slurm import job_logs
from portal.services.slurm.logs import CHUNK
from portal.services.tensorboards import shares, tensorboards
from portal.streaming.sse import sse_response
from portal.web.dependencies import (
    ClientIp,
    ContextDep,
    CurrentIdentity,
    CurrentUser,
    IdempotencyKey,
    JobsUser,
)

router = APIRouter(tags=["jobs"])
Task = Annotated[int | None, Query(ge=0, lt=1_000_000)]


class JobIn(BaseModel):
    """A job to submit: from a template, with its parameters, or a free script."""

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


@router.get("/jobs/{job_id}")
async def get_job(job_id: str, user: CurrentUser, context: ContextDep) -> JobDetail:
    """Return one of the caller's jobs, with its script and, for an array, its tasks."""
    return await detail(context, await jobs.get(context, user, job_id))


@router.post("/jobs/{job_id}/cancel", status_code=202)
async def cancel_job(job_id: str, user: JobsUser, context: ContextDep, ip: ClientIp) -> JobDetail:
    """Cancel a job. An ended job is refused with its outcome (409)."""
    job = await jobs.cancel(context, await jobs.get(context, user, job_id), by=user, ip=ip)
    return await detail(context, job)


@router.delete("/jobs/{job_id}", status_code=204)
async def remove_job(job_id: str, user: JobsUser, context: ContextDep, ip: ClientIp) -> Response:
    """Remove an ended job from the list; its files stay."""
    await jobs.remove(context, await jobs.get(context, user, job_id), by=user, ip=ip)
    return Response(status_code=204)


@router.get("/jobs/{job_id}/log")
async def job_log(
    job_id: str,
    user: CurrentUser,
    context: ContextDep,
    stream: Stream = "stdout",
    offset: int = -65536,
    limit: PieceBytes = CHUNK,
    task: Task = None,
) -> LogPiece:
    """Return a piece of a job's output, at most `limit` bytes; a negative offset counts from the
    end.

    For an array, `task` selects the task.
    """
    job = await jobs.get(context, user, job_id)
    return LogPiece(**await job_logs.read(context, job, stream, offset, task, limit))


@router.get("/jobs/{job_id}/log/download", responses=AS_FILE)
async def download_job_log(
    job_id: str,
    user: CurrentUser,
    who: CurrentIdentity,
    context: ContextDep,
    stream: Stream = "stdout",
    task: Task = None,
) -> Streamed:
    """Download a job's whole output so far. For an array, `task` selects the task."""
    job = await jobs.get(context, user, job_id)
    place = await job_logs.place(context, job, stream, task)
    part = f"-{task}" if task is not None else ""
    name = f"{job.name}-{job.job_id or job.id}{part}.{stream}.log"
    return await as_file(context, who, user.username, place, name)


@router.get("/jobs/{job_id}/log/follow", response_class=StreamingResponse)
async def follow_job_log(
    job_id: str,
    user: CurrentUser,
    who: CurrentIdentity,
    context: ContextDep,
    stream: Stream = "stdout",
    offset: Annotated[int, Query(ge=-(1 << 20))] = -16384,
    task: Task = None,
) -> StreamingResponse:
    """Stream server-sent events `log`, each a LogPiece, until the log's end.

    A reader who falls far behind skips to the end: `offset` shows the gap.
    """
    await job_logs.check(context, await jobs.get(context, user, job_id), task)

    async def read(at: int) -> dict[str, Any]:
        job = await jobs.get(context, user, job_id)
        return await job_logs.read(context, job, stream, at, task)

    events: AsyncIterator[bytes] = follow(context, who, job_id, read, offset)
    return sse_response(events, context.log_followers.hold(user.id, who.login_id))


async def detail(context: AppContext, job: BatchJob) -> JobDetail:
    """Return a job with all its details."""
    whole = await jobs.with_script(context, job)
    board = await tensorboards.load_tensorboard(context, job)
    shared = await shares.load_shares(context, whole)
    return JobDetail(
        **job_fields(context, whole, board, tasks=True),
        script=whole.script or None,
        source=whole.source,
        workdir=whole.workdir,
        shared_with=shared.people,
        shared_groups=shared.groups,
    )
