"""Curves of the scalars that jobs and sessions log, read as their owner from event files.

Nothing is stored: the files program reads and reduces the files for each request, within limits of
bytes, points and time (spawner/files/jobs/scalars.py).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from portal.context import AppContext
from portal.models import BatchJob, Job, Session
from portal.services.jobs.scalar_cache import READ_EVERY_S, pause_after
from portal.services.slurm.job_logs import check_task
from spawner.catalog.jobscript import task_logdir
from spawner.errors import SpawnerError
from spawner.launcher.file_answers import FolderCurves

log = structlog.get_logger(__name__)

READ_WITHIN_S = 8.0
POINTS = 1000  # at most, of each curve
COMPARED_POINTS = 300
NOTHING = FolderCurves(curves=[], left_out=0, complete=True)


@dataclass(frozen=True)
class JobCurves:
    """The curves of a job or session. `problem` is the reason if reading failed. Clients wait
    `refresh_s` before the next request.
    """

    job: Job
    read: FolderCurves
    refresh_s: float = READ_EVERY_S
    problem: str | None = None


async def load_curves(context: AppContext, job: BatchJob, task: int | None) -> JobCurves:
    """Return the curves of a job, or of one task of an array.

    Raises InvalidInput for a task that the job does not have, and the launcher's errors.
    """
    check_task(job, task)
    return await _read(context, job, task, POINTS, READ_WITHIN_S)


async def load_session_curves(context: AppContext, session: Session) -> JobCurves:
    """Return the curves of a session. Raises the launcher's errors."""
    if session.started_at is None:
        return JobCurves(session, NOTHING)
    return await _read_folder(context, session, session.logdir, POINTS, READ_WITHIN_S)


async def load_compared(context: AppContext, jobs: Sequence[BatchJob]) -> list[JobCurves]:
    """Return the curves of several jobs of one user, read one after the other.

    A job whose files cannot be read, or not in time, has a `problem`.
    """
    deadline = time.monotonic() + READ_WITHIN_S
    result = []
    for job in jobs:
        left_s = max(0.1, deadline - time.monotonic())
        try:
            result.append(await _read(context, job, None, COMPARED_POINTS, left_s))
        except SpawnerError as error:
            log.info("cannot read the curves of a compared job", job=job.id, error=error.message)
            result.append(JobCurves(job, NOTHING, problem=error.message))
    return result


async def _read(
    context: AppContext, job: BatchJob, task: int | None, points: int, timeout_s: float
) -> JobCurves:
    is_whole_array = job.array_size is not None and task is None
    if job.logdir is None or job.started_at is None or is_whole_array:
        return JobCurves(job, NOTHING)
    folder = job.logdir if task is None else task_logdir(job.logdir, task)
    return await _read_folder(context, job, folder, points, timeout_s)


async def _read_folder(
    context: AppContext, job: Job, folder: str, points: int, timeout_s: float
) -> JobCurves:
    began_s = time.monotonic()
    read = await context.file_pool.curves(job.user.username, folder, points, timeout_s)
    return JobCurves(job, read, pause_after(time.monotonic() - began_s))
