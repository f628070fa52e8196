"""Routes for JupyterLab's list of its owner's jobs, called by the session's own server.

Here a session's secret authorizes no more than a bounded list of the owner's own jobs, the end of
a job's log, and cancelling a job. The owner's processes on the node can do the same with Slurm's
own commands, and read the same log files.
"""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel

from portal.api.node import WantedSession
from portal.context import AppContext
from portal.db import utcnow
from portal.models import BatchJob, JobState
from portal.services.jobs import jobs, listing, notebook_runs
from portal.services.jobs.listing import JobOrder, JobSelection
from portal.services.slurm import job_logs
from portal.web.dependencies import ClientIp, ContextDep
from spawner.slurm.model import Outcome

MAX_LIVE = 50
MAX_ENDED = 20
LOG_BYTES = 16 * 1024

router = APIRouter(prefix="/node/sessions/{session_id}/jobs", include_in_schema=False)


class SessionJobOut(BaseModel):
    """A job in JupyterLab's list. `page` is its address in the portal.

    `array_size` is None for a job that is not an array. `notebook` is the absolute path of the
    executed copy, for a job that runs a notebook; the copy may not exist.
    """

    id: str
    name: str
    state: JobState
    outcome: Outcome | None
    submitted_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    array_size: int | None
    page: str
    notebook: str | None


class SessionJobsOut(BaseModel):
    """The live jobs, and the jobs that ended last; newest first. `now` is the portal's clock."""

    now: datetime
    jobs: list[SessionJobOut]


class LogEndOut(BaseModel):
    """The end of a log. `cut`: its beginning is left out."""

    text: str
    cut: bool


async def owned_job(
    session: WantedSession,
    context: ContextDep,
    batch_job_id: Annotated[str, Path(max_length=36)],
) -> BatchJob:
    """Return a job of the session's owner. Raises NotFound, also for jobs of other users."""
    return await jobs.get(context, session.user, batch_job_id)


OwnedJob = Annotated[BatchJob, Depends(owned_job)]


@router.get("")
async def list_session_jobs(session: WantedSession, context: ContextDep) -> SessionJobsOut:
    """Return the owner's live jobs, and those that ended last."""
    user, ended = session.user, JobSelection(state="ended")
    live = await listing.page(context, user, JobSelection(state="live"), MAX_LIVE)
    past = await listing.page(context, user, ended, MAX_ENDED, JobOrder.ENDED)
    shown = {job.id: job for job in (*live[:MAX_LIVE], *past[:MAX_ENDED])}
    return SessionJobsOut(now=utcnow(), jobs=[_to_job_out(context, job) for job in shown.values()])


@router.get("/{batch_job_id}/log")
async def read_log_end(job: OwnedJob, context: ContextDep) -> LogEndOut:
    """Return the end of a job's standard output. Raises InvalidInput for an array."""
    piece = await job_logs.read(context, job, "stdout", -LOG_BYTES, None, LOG_BYTES)
    return LogEndOut(text=piece["text"], cut=piece["offset"] > 0)


@router.post("/{batch_job_id}/cancel")
async def cancel_session_job(
    job: OwnedJob, session: WantedSession, context: ContextDep, ip: ClientIp
) -> SessionJobOut:
    """Cancel a job for its owner. Raises Conflict for a job that has ended."""
    return _to_job_out(context, await jobs.cancel(context, job, by=session.user, ip=ip))


def _to_job_out(context: AppContext, job: BatchJob) -> SessionJobOut:
    return SessionJobOut(
        id=job.id,
        name=job.name,
        state=job.state,
        outcome=job.outcome,
        submitted_at=job.submitted_at or job.created_at,
        started_at=job.started_at,
        ended_at=job.ended_at,
        array_size=job.array_size,
        page=f"{context.settings.public_url}/jobs/{job.id}",
        notebook=notebook_runs.find_executed_copy(job),
    )
