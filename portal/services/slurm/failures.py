"""Causes of job failures, found at the end of the jobs' logs, which are read as their owners."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

import structlog

from portal.context import AppContext
from portal.errors import PortalError
from portal.models import BatchJob
from portal.services.catalog.available import check_environment
from portal.services.slurm import job_logs
from portal.services.slurm.log_reasons import TAIL_BYTES, LogFacts, explain_log
from portal.services.slurm.logs import LogPlace
from spawner.containers.image_packages import normalize_name
from spawner.errors import SpawnerError
from spawner.slurm.reasons.explanation import Explanation

log = structlog.get_logger(__name__)

READERS = 4
TIMEOUT_S = 20.0
"""For all logs together, so that an unresponsive home delays others' accounting no longer than
this.
"""
MAX_ENVIRONMENTS = 3


@dataclass(frozen=True)
class FailedLog:
    """A failed job whose log is to be read, or one failed task of an array.

    `job_id` is Slurm's; for a task, that of the task.
    """

    job: BatchJob
    task: int | None = None
    job_id: int | None = None


Key = tuple[str, int | None]  # the row's ID, and the task's index


async def read_causes(
    context: AppContext, logs: Sequence[FailedLog]
) -> Mapping[Key, Explanation | None]:
    """Return the cause found in each log, None if it shows no known one or can't be read. Logs that
    could not be read in time are left out.
    """
    causes: dict[Key, Explanation | None] = {}
    readers = asyncio.Semaphore(READERS)

    async def read(failed: FailedLog) -> None:
        async with readers:
            causes[failed.job.id, failed.task] = await _read_cause(context, failed)

    try:
        async with asyncio.timeout(TIMEOUT_S):
            await asyncio.gather(*map(read, logs))
    except TimeoutError:
        log.warning("not all logs of failed jobs could be read in time", jobs=len(logs))
    return causes


async def _read_cause(context: AppContext, failed: FailedLog) -> Explanation | None:
    job = failed.job
    try:
        places = await _find_log_places(context, failed)
    except (PortalError, SpawnerError) as error:
        log.info("cannot find the log of a failed job", job=job.id, error=str(error))
        return None
    tails = []
    for log_place in places:
        reader = context.launchers.read_file if log_place.absolute else context.launchers.read
        try:
            data, _, _ = await reader(
                job.user.username, log_place.path, offset=-TAIL_BYTES, limit=TAIL_BYTES
            )
        except SpawnerError as error:
            log.info("cannot read the log of a failed job", job=job.id, error=error.message)
            continue
        tails.append(data.decode("utf-8", "replace"))
    facts = LogFacts(
        gpus=int(job.resources.get("gpus") or 0),
        has_environment=job.environment is not None,
        find_environments=partial(_find_environments_with, context, job.environment),
        external=job.external,
    )
    return explain_log("\n".join(tails), facts)


async def _find_log_places(context: AppContext, failed: FailedLog) -> list[LogPlace]:
    """Return the files of a job's or task's output and errors. Raises PortalError, SpawnerError."""
    job = failed.job
    if job.external and failed.task is not None:
        if failed.job_id is None:
            return []
        # Slurm has one path for each task, and the row keeps only one for all.
        paths = await context.launchers.job_paths(job.user.username, failed.job_id)
        return [
            LogPlace(path, absolute=True) for path in _remove_duplicates(paths.stdout, paths.stderr)
        ]
    streams = [
        await job_logs.find_log(context, job, stream, failed.task)
        for stream in ("stdout", "stderr")
    ]
    by_path = {log_place.path: log_place for log_place in streams}
    return list(by_path.values())


def _remove_duplicates(*paths: str) -> list[str]:
    return list(dict.fromkeys(filter(None, paths)))


def _find_environments_with(context: AppContext, own: str | None, package: str) -> list[str]:
    """Return the titles of a few available environments, other than `own`, that have a package."""
    normalized = normalize_name(package)
    having = (
        environment.title
        for environment in context.catalog.environments.values()
        if environment.name != own
        and normalized in map(normalize_name, environment.packages)
        and check_environment(context, environment)[0]
    )
    return list(islice(having, MAX_ENVIRONMENTS))
