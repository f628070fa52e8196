"""The shapes in which jobs leave the portal, shared by routes and events."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from portal.api.views import ResourcesOut, TensorboardOut, environment_title
from portal.models import BatchJob, JobState, Tensorboard
from portal.parts import Parts
from portal.services.jobs import scalars
from portal.services.jobs.sofar import Metrics
from portal.services.tensorboards import tensorboards
from spawner.model import Outcome


class TaskOut(BaseModel):
    """One task of an array. `parameters` are those that differ between tasks; `metrics` the last
    value of each scalar in its event files, null until they have been read; a value that is no
    number any more (NaN, infinite) is null. `so_far`: they may still change, for the task runs or
    has only just ended; read anew every quarter of a minute while somebody asks."""

    index: int
    state: JobState
    outcome: Outcome | None = None
    exit_code: int | None = None
    node: str | None = None
    parameters: dict[str, Any] = {}
    metrics: dict[str, float | None] | None = None
    so_far: bool = False


class ArrayOut(BaseModel):
    """An array. `counts` is by state, or by outcome of what has ended; `tasks` is filled in the
    detail of one job, and empty in lists and events."""

    size: int
    counts: dict[str, int]
    tasks: list[TaskOut]


class UsageOut(BaseModel):
    """What Slurm's accounting says was used; of an array, of all its tasks together, the largest
    task's memory, and, as `longest_s`, the time of the task that took longest."""

    elapsed_s: int | None = None
    longest_s: int | None = None
    cpu_s: float | None = None
    cpu_efficiency: float | None = None
    max_rss_gb: float | None = None
    restarts: int = 0


class JobOut(BaseModel):
    """A job as its owner sees it; times in UTC. `external`: submitted outside the portal."""

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
    advice: str | None
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
    tensorboard: TensorboardOut | None


class JobDetail(JobOut):
    """A job with what is too long for lists. `script` is what Slurm was given, `source` what the
    user wrote (a free script); of external jobs neither is known. `shared_with` and
    `shared_groups`: who else may look at its TensorBoard."""

    script: str | None
    source: str | None
    workdir: str | None
    shared_with: list[str]
    shared_groups: list[str]


def job_fields(
    parts: Parts, job: BatchJob, board: Tensorboard | None, *, tasks: bool
) -> dict[str, Any]:
    """The fields of JobOut; with `tasks`, an array's tasks one by one, and what those that run
    have logged so far."""
    own: dict[str, Any] = {
        name: getattr(job, name)
        for name in (
            "id", "name", "template", "environment", "parameters", "state", "outcome", "reason",
            "advice", "stale_since", "job_id", "node", "nodes", "started_at", "ended_at",
            "expires_at", "estimated_start", "exit_code", "logdir", "external",
        )
    }  # fmt: skip
    return own | {
        "owner": job.user.username,
        "environment_title": environment_title(parts, job.environment) or None,
        "resources": ResourcesOut(**job.resources),
        "submitted_at": job.submitted_at or job.created_at,
        "array": array_out(job, tasks, scalars.so_far(parts, job) if tasks else {}),
        "usage": UsageOut(**job.usage) if job.usage else None,
        "tensorboard": TensorboardOut.of(board, parts.settings) if board else None,
    }


def array_out(
    job: BatchJob, with_tasks: bool, so_far: Mapping[int, Metrics] | None = None
) -> ArrayOut | None:
    """The array of a job that is one; `so_far` by the tasks' indices."""
    if job.array_size is None:
        return None
    known = so_far or {}
    found = [_task_out(task, known.get(task["index"])) for task in job.tasks or []]
    counts = Counter(str(task.outcome or task.state) for task in found)
    return ArrayOut(size=job.array_size, counts=counts, tasks=found if with_tasks else [])


def _task_out(task: Mapping[str, Any], so_far: Metrics | None) -> TaskOut:
    shown = TaskOut.model_validate(task, extra="ignore")
    if shown.metrics is not None or so_far is None:
        return shown
    return shown.model_copy(update={"metrics": dict(so_far), "so_far": True})


async def jobs_out(parts: Parts, found: list[BatchJob]) -> list[JobOut]:
    """Several jobs with their TensorBoards, in two queries."""
    boards = await tensorboards.of_parents(parts, [job.id for job in found])
    return [JobOut(**job_fields(parts, job, boards.get(job.id), tasks=False)) for job in found]
