"""Logs of sessions and jobs: in their folder for the portal's own, at Slurm's paths for external
jobs.

The paths of an external job are requested from Slurm once, as its owner, and the files are read as
its owner.
"""

from typing import Any

from portal.context import AppContext
from portal.errors import FieldError, NotFound, invalid_input
from portal.models import BatchJob, JobState, Session
from portal.services.slurm import launch
from portal.services.slurm.logs import CHUNK, LogPlace, read_piece
from portal.services.store import update_row
from spawner.errors import SpawnerError

NO_LOG = "Slurm does not report (or no longer reports) the location of this job's log."


async def read(
    context: AppContext,
    job: Session | BatchJob,
    stream: str,
    offset: int,
    task: int | None,
    limit: int = CHUNK,
) -> dict[str, Any]:
    """Return a piece of the output of a job, or of one task. Raises NotFound, InvalidInput."""
    log = await find_log(context, job, stream, task)
    ended = job.state is JobState.ENDED or _has_task_ended(job, task)
    return await read_piece(context, job.user.username, log, offset, ended=ended, limit=limit)


async def find_log(
    context: AppContext, job: Session | BatchJob, stream: str, task: int | None
) -> LogPlace:
    """Return the path of the log. Raises NotFound, InvalidInput."""
    check_task(job, task)
    if isinstance(job, BatchJob) and job.external:
        return LogPlace(await _find_external_path(context, job, stream), absolute=True)
    part = f"-{task}" if task is not None else ""
    return LogPlace(f"{job.id}/{stream}{part}.log")


def check_task(job: Session | BatchJob, task: int | None) -> None:
    """Raise InvalidInput for a task that the job does not have, or for an array without a task."""
    if isinstance(job, Session):
        return  # its routes take no task
    if job.array_size is None and task is not None:
        raise invalid_input([FieldError("task", "This job has no tasks.")])
    if job.array_size is not None and not job.external:
        if task is None:
            text = f"Specify a task from 0 to {job.array_size - 1}."
            raise invalid_input([FieldError("task", text)])
        if task >= job.array_size:
            text = f"This job's tasks are 0 to {job.array_size - 1}."
            raise invalid_input([FieldError("task", text)])


def _has_task_ended(job: Session | BatchJob, task: int | None) -> bool:
    """Return whether this task of an array has ended, even if others still run."""
    if isinstance(job, Session) or task is None or job.external or not job.tasks:
        return False
    return any(t["index"] == task and t["state"] == JobState.ENDED for t in job.tasks)


async def _find_external_path(context: AppContext, job: BatchJob, stream: str) -> str:
    if not job.stdout_path:
        job = await find_paths(context, job)
    path = job.stdout_path if stream == "stdout" else job.stderr_path or job.stdout_path
    if not path:
        raise NotFound(NO_LOG)
    return path


async def find_paths(context: AppContext, job: BatchJob) -> BatchJob:
    """Request the working directory and log paths of an external job from Slurm, as the owner, and
    save them.
    """
    if job.job_id is None:
        return job
    try:
        paths = await context.launchers.job_paths(job.user.username, job.job_id)
    except SpawnerError as error:
        raise launch.to_launch_error(error) from error

    def modify(row: BatchJob) -> None:
        row.workdir = paths.workdir or row.workdir
        row.stdout_path = paths.stdout or row.stdout_path
        row.stderr_path = paths.stderr or row.stderr_path

    return await update_row(context.db, BatchJob, job.id, modify) or job
