"""The logs of jobs: the portal's own in their folder, external ones where Slurm says.

Where an external job writes is asked of Slurm as its owner, once, and read as its owner.
"""

from typing import Any

from portal.errors import FieldError, NotFound, invalid_input
from portal.models import BatchJob, JobState
from portal.parts import Parts
from portal.services.jobs.logs import CHUNK, LogPlace, read_piece
from portal.services.slurm import launch
from portal.services.store import change
from spawner.errors import SpawnerError

NO_LOG = "Slurm doesn't say (any more) where this job writes its log."


async def read(
    parts: Parts, job: BatchJob, stream: str, offset: int, task: int | None, limit: int = CHUNK
) -> dict[str, Any]:
    """A piece of a job's output, or of one task's. Raises NotFound, InvalidInput."""
    log = await place(parts, job, stream, task)
    ended = job.state is JobState.ENDED or _has_ended(job, task)
    return await read_piece(parts, job.user.username, log, offset, ended=ended, limit=limit)


async def place(parts: Parts, job: BatchJob, stream: str, task: int | None) -> LogPlace:
    """Where it lies. Raises NotFound, InvalidInput."""
    await check(parts, job, task)
    if job.external:
        return LogPlace(await _external_path(parts, job, stream), absolute=True)
    part = f"-{task}" if task is not None else ""
    return LogPlace(f"{job.id}/{stream}{part}.log")


async def check(parts: Parts, job: BatchJob, task: int | None) -> None:
    """Raises InvalidInput for a task that the job hasn't got, or one that must be named."""
    if job.array_size is None and task is not None:
        raise invalid_input([FieldError("task", "This job has no tasks.")])
    if job.array_size is not None and not job.external:
        if task is None:
            text = f"Say which task's, from 0 to {job.array_size - 1}."
            raise invalid_input([FieldError("task", text)])
        if task >= job.array_size:
            text = f"This job's tasks are 0 to {job.array_size - 1}."
            raise invalid_input([FieldError("task", text)])


def _has_ended(job: BatchJob, task: int | None) -> bool:
    """One task may have ended while others run."""
    if task is None or job.external or not job.tasks:
        return False
    return any(t["index"] == task and t["state"] == JobState.ENDED for t in job.tasks)


async def _external_path(parts: Parts, job: BatchJob, stream: str) -> str:
    if not job.stdout_path:
        job = await find_paths(parts, job)
    path = job.stdout_path if stream == "stdout" else job.stderr_path or job.stdout_path
    if not path:
        raise NotFound(NO_LOG)
    return path


async def find_paths(parts: Parts, job: BatchJob) -> BatchJob:
    """Ask Slurm, as the owner, where an external job works and writes, and keep it."""
    if job.job_id is None:
        return job
    try:
        found = await parts.agents.job_paths(job.user.username, job.job_id)
    except SpawnerError as error:
        raise launch.explained(error) from error

    def apply(row: BatchJob) -> None:
        row.workdir = found.workdir or row.workdir
        row.stdout_path = found.stdout or row.stdout_path
        row.stderr_path = found.stderr or row.stderr_path

    return await change(parts.db, BatchJob, job.id, apply) or job
