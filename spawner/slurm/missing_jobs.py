"""Missing jobs, and recognition of a job in Slurm's answers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from spawner.slurm.model import JobInfo

CLOCK_SLACK = timedelta(seconds=30)
SAME_SUBMISSION = timedelta(seconds=2)  # Slurm's times are whole seconds
FIRST_PAUSE = timedelta(seconds=4)
MAX_JOBS_PER_LOOKUP = 1_000  # the length of one argument of a command is limited

PortalJobKey = tuple[str, str]  # UUID, user
JobRef = PortalJobKey | int
"""A portal job, or Slurm's id of an external one (of an array: the array's)."""


@dataclass
class MissingJob:
    """Job that squeue does not show, but did before (`last`), or that a caller asked for.

    `since` is the earliest possible submit time; `submit_time` is the last known one. It had not
    ended at `live_at`. `unseen_since`: since when squeue lacks it, without an outage, for `answers`
    answers. `runaway_since`: since when accounting shows it as not ended. `missing_since`: since
    when accounting does not know it either, or has shown it as not ended for too long. `forgotten`:
    slurmctld has certainly lost it.
    """

    job_id: int | None
    since: datetime
    requested_at: datetime
    next_lookup_at: datetime
    live_at: datetime
    last: JobInfo | None = None
    submit_time: datetime | None = None
    external: bool = False
    pause: timedelta = FIRST_PAUSE
    missing_since: datetime | None = None
    runaway_since: datetime | None = None
    unseen_since: datetime | None = None
    answers: int = 0
    forgotten: bool = False


def to_key(job: JobInfo) -> PortalJobKey | None:
    return None if job.uuid is None else (job.uuid, job.user)


def is_same_job(before: JobInfo, job: JobInfo) -> bool:
    """Return whether a job that has no UUID now is the one that had this id, or this array's id, in
    the last answer. A requeue changes the submit time, and so does the reuse of an id.
    """
    if before.uuid is None or before.user != job.user:
        return False
    if before.submit_time is None or job.submit_time is None:
        return False
    later = job.submit_time - before.submit_time
    return abs(later) <= SAME_SUBMISSION or (later > timedelta(0) and before.name == job.name)


def is_missing_job(missing: MissingJob, job: JobInfo) -> bool:
    """Return whether a job without a UUID is the missing one of the same id and user."""
    if job.submit_time is None:
        return False
    if missing.submit_time is None:
        return job.submit_time >= missing.since - CLOCK_SLACK
    return abs(job.submit_time - missing.submit_time) <= SAME_SUBMISSION


def group_by_ref(jobs: Iterable[JobInfo]) -> dict[JobRef, list[JobInfo]]:
    """Return jobs by their PortalJobKey and by Slurm's ids."""
    by_ref: dict[JobRef, list[JobInfo]] = {}
    for job in jobs:
        key = to_key(job)
        for ref in {job.job_id, job.array_job_id or job.job_id, *((key,) if key else ())}:
            by_ref.setdefault(ref, []).append(job)
    return by_ref


def select_matching(
    by_ref: Mapping[JobRef, Iterable[JobInfo]], key: PortalJobKey, missing: MissingJob
) -> list[JobInfo]:
    """Return the records of a missing job."""
    named = (*by_ref.get(key, ()), *by_ref.get(missing.job_id or 0, ()))
    return [job for job in named if _matches(key, missing, job)]


def _matches(key: PortalJobKey, missing: MissingJob, job: JobInfo) -> bool:
    """Return whether Slurm's record is this job, and not of its run before a requeue.

    Accounting may have stored no comment: then id and user must match. The submit time must not be
    earlier than the last known one.
    """
    uuid, user = key
    if job.user != user:
        return False
    earliest = missing.since - CLOCK_SLACK
    if missing.submit_time is not None:
        earliest = missing.submit_time - SAME_SUBMISSION
    if job.submit_time is not None and job.submit_time < earliest:
        return False
    if job.uuid is not None:
        return job.uuid == uuid
    return missing.job_id in {job.job_id, job.array_job_id} and job.submit_time is not None


def split_lookups(
    lookups: Mapping[PortalJobKey, MissingJob],
) -> Iterator[dict[PortalJobKey, MissingJob]]:
    """Split lookups by id into bounded parts; those without an id come last, one user's each."""
    known = [item for item in lookups.items() if item[1].job_id is not None]
    for start in range(0, len(known), MAX_JOBS_PER_LOOKUP):
        yield dict(known[start : start + MAX_JOBS_PER_LOOKUP])
    unknown: dict[str, dict[PortalJobKey, MissingJob]] = {}
    for key, missing in lookups.items():
        if missing.job_id is None:
            unknown.setdefault(key[1], {})[key] = missing
    yield from unknown.values()
