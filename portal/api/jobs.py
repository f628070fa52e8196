"""One job: submit, look at, cancel, remove, read its log. Lists are job_lists.py's."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from portal.api.deps import (
    ClientIp,
    CurrentIdentity,
    CurrentUser,
    IdempotencyKey,
    JobsUser,
    PartsDep,
)
from portal.api.file_answer import Streamed
from portal.api.job_views import JobDetail, job_fields
from portal.api.logs import AS_FILE, LogPiece, PieceBytes, Stream, as_file, follow
from portal.api.streams import sse_response
from portal.api.views import JobResourcesIn
from portal.models import BatchJob
from portal.parts import Parts
from portal.services.jobs import job_logs, jobs
from portal.services.jobs.logs import CHUNK
from portal.services.jobs.recipes import Wish
from portal.services.tensorboards import shares, tensorboards

router = APIRouter(tags=["jobs"])
Task = Annotated[int | None, Query(ge=0, lt=1_000_000)]


class JobIn(BaseModel):
    """A job to submit: of a template, with its parameters, or a free script."""

    model_config = ConfigDict(extra="forbid")

    template: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    parameters: dict[str, Any] = {}
    script: Annotated[str, Field(min_length=1)] | None = None
    environment: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    resources: JobResourcesIn = JobResourcesIn()
    name: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    logdir: Annotated[str, Field(min_length=1, max_length=4000)] | None = None

    def wish(self) -> Wish:
        return Wish(**{**self.model_dump(), "resources": self.resources.model_dump()})


@router.post("/jobs", status_code=201)
async def submit_job(
    body: JobIn,
    user: JobsUser,
    parts: PartsDep,
    ip: ClientIp,
    idempotency_key: IdempotencyKey = None,
) -> JobDetail:
    """Submit a job. With an Idempotency-Key the same wish comes to the same job, however often it
    is sent; another wish under the same key is refused (409).

    While Slurm doesn't answer the job is kept, as `submitting`, and submitted when it does."""
    return await detail(parts, await jobs.create(parts, user, body.wish(), idempotency_key, ip))


@router.get("/jobs/{job_id}")
async def get_job(job_id: str, user: CurrentUser, parts: PartsDep) -> JobDetail:
    """One of the caller's jobs, with its script and, if it is an array, its tasks."""
    return await detail(parts, await jobs.get(parts, user, job_id))


@router.post("/jobs/{job_id}/cancel", status_code=202)
async def cancel_job(job_id: str, user: JobsUser, parts: PartsDep, ip: ClientIp) -> JobDetail:
    """End a job. One that has ended already is refused with how it ended (409)."""
    job = await jobs.cancel(parts, await jobs.get(parts, user, job_id), by=user, ip=ip)
    return await detail(parts, job)


@router.delete("/jobs/{job_id}", status_code=204)
async def remove_job(job_id: str, user: JobsUser, parts: PartsDep, ip: ClientIp) -> Response:
    """Take an ended job off the list; its files stay."""
    await jobs.remove(parts, await jobs.get(parts, user, job_id), by=user, ip=ip)
    return Response(status_code=204)


@router.get("/jobs/{job_id}/log")
async def job_log(
    job_id: str,
    user: CurrentUser,
    parts: PartsDep,
    stream: Stream = "stdout",
    offset: int = -65536,
    limit: PieceBytes = CHUNK,
    task: Task = None,
) -> LogPiece:
    """A piece of what a job printed, of at most `limit` bytes; a negative offset counts from the
    end. Of an array, `task` says whose."""
    job = await jobs.get(parts, user, job_id)
    return LogPiece(**await job_logs.read(parts, job, stream, offset, task, limit))


@router.get("/jobs/{job_id}/log/download", responses=AS_FILE)
async def download_job_log(
    job_id: str,
    user: CurrentUser,
    who: CurrentIdentity,
    parts: PartsDep,
    stream: Stream = "stdout",
    task: Task = None,
) -> Streamed:
    """All that a job has printed by now, as a file. Of an array, `task` says whose."""
    job = await jobs.get(parts, user, job_id)
    place = await job_logs.place(parts, job, stream, task)
    part = f"-{task}" if task is not None else ""
    name = f"{job.name}-{job.job_id or job.id}{part}.{stream}.log"
    return await as_file(parts, who, user.username, place, name)


@router.get("/jobs/{job_id}/log/follow", response_class=StreamingResponse)
async def follow_job_log(
    job_id: str,
    user: CurrentUser,
    who: CurrentIdentity,
    parts: PartsDep,
    stream: Stream = "stdout",
    offset: Annotated[int, Query(ge=-(1 << 20))] = -16384,
    task: Task = None,
) -> StreamingResponse:
    """Server-sent events `log`, each a LogPiece, until the log's end. A reader who falls far
    behind is brought to the end: `offset` tells what was left out."""
    await job_logs.check(parts, await jobs.get(parts, user, job_id), task)

    async def read(at: int) -> dict[str, Any]:
        job = await jobs.get(parts, user, job_id)
        return await job_logs.read(parts, job, stream, at, task)

    events: AsyncIterator[bytes] = follow(parts, who, job_id, read, offset)
    return sse_response(events)


async def detail(parts: Parts, job: BatchJob) -> JobDetail:
    """A job with everything that is known of it."""
    whole = await jobs.with_script(parts, job)
    board = await tensorboards.of_parent(parts, job)
    shared = await shares.of(parts, whole)
    return JobDetail(
        **job_fields(parts, whole, board, tasks=True),
        script=whole.script or None,
        source=whole.source,
        workdir=whole.workdir,
        shared_with=shared.people,
        shared_groups=shared.groups,
    )
