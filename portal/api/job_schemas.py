"""Schemas of jobs, shared by routes and events."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from portal.api.common_schemas import ResourcesOut, TensorboardOut, UsageOut
from portal.context import AppContext
from portal.models import BatchJob, JobState, Tensorboard
from portal.services.catalog.available import get_environment_title
from portal.services.jobs import scalars
from portal.services.jobs.scalar_cache import ScalarValues
from portal.services.tensorboards import tensorboards
from spawner.slurm.model import Outcome


class TaskOut(BaseModel):
    """A task of an array.

    `parameters` are those that differ between tasks; `metrics` are the last value of each scalar in
    its event files, null until they have been read; a value that is no longer a number (NaN,
    infinite) is null. `reason` and `suggestion` explain a failure; logs are read for the first
    tasks that fail. `so_far`: the metrics may still change, because the task is running or has only
    just ended; refreshed at most every 15 seconds, while the job is requested.
    """

    index: int
    state: JobState
    outcome: Outcome | None = None
    exit_code: int | None = None
    reason: str | None = None
    suggestion: str | None = None
    node: str | None = None
    parameters: dict[str, Any] = {}
    metrics: dict[str, float | None] | None = None
    so_far: bool = False


class ArrayOut(BaseModel):
    """An array. `counts` is by state, or by outcome for ended tasks.

    `tasks` is filled in the detail of one job, and empty in lists and events.
    """

    size: int
    counts: dict[str, int]
    tasks: list[TaskOut]


class JobOut(BaseModel):
    """A job for its owner; times in UTC. `external`: submitted outside the portal.

    `metrics`: the last values of at most 8 scalars that an ended job has logged, null for a value
    that is no longer a number; null as a whole until they have been read, and for arrays.
    `gpu_percent`: the mean use of the GPUs of an ended job; null if it was not measured, and for
    arrays.
    """

    id: str
    name: str
    owner: str
    template: str | None
    environment: str | None
    environment_title: str | None
    parameters: dict[str, Any]
    resources: ResourcesOut
    state: JobState
    outcome: Outcome | None
    reason: str | None
    suggestion: str | None
    stale_since: datetime | None
    job_id: int | None
    node: str | None
    nodes: list[str]
    submitted_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    expires_at: datetime | None
    estimated_start: datetime | None
    exit_code: int | None
    logdir: str | None
    external: bool
    array: ArrayOut | None
    usage: UsageOut | None
    metrics: dict[str, float | None] | None
    gpu_percent: float | None
    tensorboard: TensorboardOut | None


class JobDetail(JobOut):
    """A job with the fields that are too long for lists.

    `script` is what was submitted to Slurm, `source` what the user wrote (a custom script); neither
    is known for external jobs. `shared_with` and `shared_groups`: the users and groups with access
    to its TensorBoard. `executed_notebook`: the path of the copy that a notebook run as a job
    writes; the copy may not exist. `lost_job_ids`: Slurm's ids of earlier submissions that Slurm
    forgot, or ended before the script began, so that the portal submitted the job again.
    """

    script: str | None
    source: str | None
    workdir: str | None
    shared_with: list[str]
    shared_groups: list[str]
    executed_notebook: str | None
    lost_job_ids: list[int]


def job_fields(
    context: AppContext, job: BatchJob, board: Tensorboard | None, *, tasks: bool
) -> dict[str, Any]:
    """Return the fields of JobOut; with `tasks`, including an array's tasks and what running ones
    have logged so far.
    """
    own: dict[str, Any] = {
        name: getattr(job, name)
        for name in (
            "id", "name", "template", "environment", "parameters", "state", "outcome", "reason",
            "suggestion", "stale_since", "job_id", "node", "nodes", "started_at", "ended_at",
            "expires_at", "estimated_start", "exit_code", "logdir", "external", "metrics",
            "gpu_percent",
        )
    }  # fmt: skip
    return own | {
        "owner": job.user.username,
        "environment_title": get_environment_title(context, job.environment) or None,
        "resources": ResourcesOut(**job.resources),
        "submitted_at": job.submitted_at or job.created_at,
        "array": array_out(job, tasks, scalars.latest_scalars(context, job) if tasks else {}),
        "usage": UsageOut.of(job.usage) if job.usage else None,
        "tensorboard": TensorboardOut.of(board) if board else None,
    }


def array_out(
    job: BatchJob, with_tasks: bool, so_far: Mapping[int, ScalarValues] | None = None
) -> ArrayOut | None:
    """Return the array of a job, None if it is not an array; `so_far` is by task index."""
    if job.array_size is None:
        return None
    known = so_far or {}
    tasks = job.tasks or [] if with_tasks else []
    return ArrayOut(
        size=job.array_size,
        counts=job.task_counts or {},
        tasks=[_to_task_out(task, known.get(task["index"])) for task in tasks],
    )


def _to_task_out(task: Mapping[str, Any], so_far: ScalarValues | None) -> TaskOut:
    shown = TaskOut.model_validate({**task, **(task.get("cause") or {})}, extra="ignore")
    if shown.metrics is not None or so_far is None:
        return shown
    return shown.model_copy(update={"metrics": dict(so_far), "so_far": True})


async def jobs_out(context: AppContext, jobs: list[BatchJob]) -> list[JobOut]:
    """Convert several jobs with their TensorBoards, which one query reads."""
    boards = await tensorboards.load_tensorboards(context, [job.id for job in jobs])
    return [JobOut(**job_fields(context, job, boards.get(job.id), tasks=False)) for job in jobs]
