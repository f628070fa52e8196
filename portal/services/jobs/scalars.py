"""The last value of each scalar that an array's tasks have logged, read as their owner.

Of a task that has ended it is read once, and kept in its row. Of those that run it is read while
somebody looks, and kept in memory (sofar.py). The launcher reads so much and no more, and is asked
for so many folders at once.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

import structlog

from portal.models import BatchJob, JobState
from portal.parts import Parts
from portal.services.jobs.sofar import Entry, Metrics
from portal.services.store import change
from spawner.errors import SpawnerError
from spawner.jobscript import task_logdir

log = structlog.get_logger(__name__)

FOLDERS = 32
LIVE = (JobState.RUNNING, JobState.SUSPENDED, JobState.STOPPING)
LIVE_FOLDERS = 8  # at once: a log that is read or a job that is submitted waits so long at most
LIVE_TIMEOUT_S = 2.0


def wanting(job: BatchJob) -> list[dict[str, Any]]:
    """The tasks that have ended and whose values have not been read."""
    if not job.logdir or job.external:
        return []
    ended = (task for task in job.tasks or [] if task["state"] == JobState.ENDED)
    return [task for task in ended if not task.get("read")]


async def read(parts: Parts, job: BatchJob) -> None:
    """Read some of them and keep what was found. May raise the spawner's errors."""
    indices = [task["index"] for task in wanting(job)[:FOLDERS]]
    values = await _last(parts, job, indices)

    def apply(row: BatchJob) -> None:
        row.tasks = [
            {**task, "metrics": values[task["index"]], "read": True}
            if task["index"] in values
            else task
            for task in row.tasks or []
        ]

    await change(parts.db, BatchJob, job.id, apply)
    parts.changes.notify(job.user_id, job.id)


async def _last(
    parts: Parts, job: BatchJob, indices: Sequence[int], timeout_s: float | None = None
) -> dict[int, Metrics]:
    """By index, the last value of each scalar in a task's folder."""
    folders = [task_logdir(job.logdir or "", index) for index in indices]
    found = await parts.agents.scalars(job.user.username, folders, timeout_s)
    return dict(zip(indices, found, strict=False))


# --- while they run -----------------------------------------------------------------------------


def so_far(parts: Parts, job: BatchJob) -> Mapping[int, Metrics]:
    """What tasks have logged that still run or have just ended, by index, as far as it is known.

    Asks nobody now: has it read in the background, if that is due, for the next who looks."""
    running = _unfinished(job)
    if not running:
        parts.so_far.forget(job.id)
        return {}
    entry = parts.so_far.of(job.id)
    if parts.so_far.is_due(entry) and (chosen := entry.oldest(running, FOLDERS)):
        entry.reading = asyncio.create_task(_read_live(parts, job, entry, chosen))
    return entry.values


def _unfinished(job: BatchJob) -> list[int]:
    if not job.logdir or job.external:
        return []
    return [
        task["index"]
        for task in job.tasks or []
        if task["state"] in LIVE or (task["state"] == JobState.ENDED and not task.get("read"))
    ]


async def _read_live(parts: Parts, job: BatchJob, entry: Entry, indices: Sequence[int]) -> None:
    began_s = time.monotonic()
    failed = False
    try:
        for at in range(0, len(indices), LIVE_FOLDERS):
            some = indices[at : at + LIVE_FOLDERS]
            parts.so_far.keep(entry, await _last(parts, job, some, LIVE_TIMEOUT_S))
    except SpawnerError as error:
        failed = True
        log.info("running tasks' values are not known", job=job.id, error=error.message)
    finally:
        parts.so_far.rest(entry, time.monotonic() - began_s, failed=failed)
