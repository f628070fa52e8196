"""The last value of each scalar that jobs and arrays' tasks have logged, read as their owner.

An ended job or task is read once, and its values are kept in its row. Running tasks are read while
a user is viewing the array, and their values are kept in memory (scalar_cache.py). The files
program limits how much it reads, and the number of folders per request is limited.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

import structlog

from portal.context import AppContext
from portal.models import BatchJob, JobState
from portal.services.jobs.scalar_cache import CachedScalars, ScalarValues
from portal.services.store import update_row
from spawner.catalog.jobscript import task_logdir
from spawner.errors import SpawnerError

log = structlog.get_logger(__name__)

FOLDERS = 32  # of one task each, per call
STORED_TAGS = 8
LIVE = (JobState.RUNNING, JobState.SUSPENDED, JobState.STOPPING)
# per read: the user's other file requests wait for at most one such read
LIVE_FOLDERS = 8
LIVE_TIMEOUT_S = 2.0


def find_unread_tasks(job: BatchJob) -> list[dict[str, Any]]:
    """Return the ended tasks whose values have not been read."""
    if not job.logdir or job.external:
        return []
    ended = (task for task in job.tasks or [] if task["state"] == JobState.ENDED)
    return [task for task in ended if not task.get("read")]


async def store_task_values(context: AppContext, job: BatchJob) -> None:
    """Read the values of up to FOLDERS ended, unread tasks of an array, and store them.

    May raise the spawner's errors.
    """
    indices = [task["index"] for task in find_unread_tasks(job)[:FOLDERS]]
    # The answer is untrusted: a task that it leaves out has no values, and is not read forever.
    values = {**{index: {} for index in indices}, **await _read_last_values(context, job, indices)}

    def modify(row: BatchJob) -> None:
        row.tasks = [
            {**task, "metrics": values[task["index"]], "read": True}
            if task["index"] in values
            else task
            for task in row.tasks or []
        ]

    await update_row(context.db, BatchJob, job.id, modify)
    context.notifier.notify(job.user_id, job.id)


def is_unread(job: BatchJob) -> bool:
    """Return whether this is an ended job, not an array, whose values have not been read."""
    return (
        job.state is JobState.ENDED
        and job.started_at is not None
        and bool(job.logdir)
        and not job.external
        and job.array_size is None
        and job.metrics is None
    )


async def store_final_values(context: AppContext, job: BatchJob) -> None:
    """Read the last values of an ended job and store the first STORED_TAGS of them.

    May raise the spawner's errors.
    """
    answer = await context.file_pool.scalars(job.user.username, [job.logdir or ""])
    values = answer[0] if answer else {}

    def modify(row: BatchJob) -> None:
        row.metrics = dict(list(values.items())[:STORED_TAGS])

    await update_row(context.db, BatchJob, job.id, modify)
    context.notifier.notify(job.user_id, job.id)


async def _read_last_values(
    context: AppContext, job: BatchJob, indices: Sequence[int], timeout_s: float | None = None
) -> dict[int, ScalarValues]:
    """Return, by index, the last value of each scalar in a task's folder."""
    folders = [task_logdir(job.logdir or "", index) for index in indices]
    values = await context.file_pool.scalars(job.user.username, folders, timeout_s)
    return dict(zip(indices, values, strict=False))


# --- running tasks ------------------------------------------------------------------------------


def latest_scalars(context: AppContext, job: BatchJob) -> Mapping[int, ScalarValues]:
    """Return, by index, the known values of tasks that are running or have just ended.

    Does not wait for a read: if one is due, it is started in the background for the next call.
    """
    indices = _list_tasks_to_read(job)
    if not indices:
        context.scalars.forget(job.id)
        return {}
    entry = context.scalars.of(job.id)
    if context.scalars.is_due(entry) and (chosen := entry.oldest(indices, FOLDERS)):
        entry.reading = asyncio.create_task(_read_live(context, job, entry, chosen))
    return entry.values


def _list_tasks_to_read(job: BatchJob) -> list[int]:
    """Return the indices of live tasks, and of ended ones whose values have not been read."""
    if not job.logdir or job.external:
        return []
    return [
        task["index"]
        for task in job.tasks or []
        if task["state"] in LIVE or (task["state"] == JobState.ENDED and not task.get("read"))
    ]


async def _read_live(
    context: AppContext, job: BatchJob, entry: CachedScalars, indices: Sequence[int]
) -> None:
    began_s = time.monotonic()
    failed = False
    try:
        for start in range(0, len(indices), LIVE_FOLDERS):
            batch = indices[start : start + LIVE_FOLDERS]
            context.scalars.put(entry, await _read_last_values(context, job, batch, LIVE_TIMEOUT_S))
    except SpawnerError as error:
        failed = True
        log.info("cannot read the values of running tasks", job=job.id, error=error.message)
    finally:
        context.scalars.schedule_next(entry, time.monotonic() - began_s, failed=failed)
