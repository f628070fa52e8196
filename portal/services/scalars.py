"""The last value of each scalar that an array's tasks have logged, read as their owner.

Read once a task has ended; the launcher reads so much and no more, and is asked for so many folders
at once.
"""

from typing import Any

from portal.models import BatchJob, JobState
from portal.parts import Parts
from portal.services.store import change
from spawner.jobscript import task_logdir

FOLDERS = 32


def wanting(job: BatchJob) -> list[dict[str, Any]]:
    """The tasks that have ended and whose values have not been read."""
    if not job.logdir or job.external:
        return []
    ended = (task for task in job.tasks or [] if task["state"] == JobState.ENDED)
    return [task for task in ended if not task.get("read")]


async def read(parts: Parts, job: BatchJob) -> None:
    """Read some of them and keep what was found. May raise the spawner's errors."""
    tasks = wanting(job)[:FOLDERS]
    logdir = job.logdir or ""
    folders = [task_logdir(logdir, task["index"]) for task in tasks]
    found = await parts.agents.scalars(job.user.username, folders)
    values = {task["index"]: metrics for task, metrics in zip(tasks, found, strict=False)}

    def apply(row: BatchJob) -> None:
        row.tasks = [
            {**task, "metrics": values[task["index"]], "read": True}
            if task["index"] in values
            else task
            for task in row.tasks or []
        ]

    await change(parts.db, BatchJob, job.id, apply)
    parts.changes.notify(job.user_id, job.id)
