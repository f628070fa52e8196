"""Missing jobs, and recognition of a job in Slurm's answers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from spawner.slurm.model import JobInfo

CLOCK_SLACK = timedelta(seconds=30)
SAME_SUBMISSION = timedelta(seconds=2)  # Slurm's times are whole seconds
FIRST_PAUSE = timedelta(seconds=4)

Key = tuple[str, str]  # UUID, user
Name = Key | int  # a portal job, or Slurm's id of an external one (of an array: the array's)


@dataclass
class MissingJob:
    """Job that squeue does not show, but did before (`last`), or that a caller asked for.

    `since` is the time from which on it can have been submitted; `submit_time` is the last known
    submit time. It has not ended before `live_at`. `answers` counts squeue's answers without it
    since `absent_since`, without an outage between them.
    """

    job_id: int | None
    since: datetime
    asked_at: datetime
    next_ask: datetime
    live_at: datetime
    last: JobInfo | None = None
    submit_time: datetime | None = None
    external: bool = False
    pause: timedelta = FIRST_PAUSE
    unknown_since: datetime | None = None
    runaway_since: datetime | None = None
    absent_since: datetime | None = None
    answers: int = 0
    forgotten: bool = False


def to_key(job: JobInfo) -> Key | None:
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


def is_submission(absent: MissingJob, job: JobInfo) -> bool:
    """Return whether a job without a UUID is the missing one of the same id and user."""
    if job.submit_time is None:
        return False
    if absent.submit_time is None:
        return job.submit_time >= absent.since - CLOCK_SLACK
    return abs(job.submit_time - absent.submit_time) <= SAME_SUBMISSION


def group_by_name(jobs: Iterable[JobInfo]) -> dict[Name, list[JobInfo]]:
    """Return jobs by our name and by Slurm's ids."""
    by_name: dict[Name, list[JobInfo]] = {}
    for job in jobs:
        key = to_key(job)
        for name in {job.job_id, job.array_job_id or job.job_id, *((key,) if key else ())}:
            by_name.setdefault(name, []).append(job)
    return by_name


def select_matching(
    by_name: Mapping[Name, Iterable[JobInfo]], key: Key, absent: MissingJob
) -> list[JobInfo]:
    """Return the records of a missing job."""
    named = (*by_name.get(key, ()), *by_name.get(absent.job_id or 0, ()))
    return [job for job in named if _matches(key, absent, job)]


def _matches(key: Key, absent: MissingJob, job: JobInfo) -> bool:
    """Return whether Slurm's record is this job, and not of its run before a requeue.

    Accounting may have stored no comment: then id and user must match. The submit time must not be
    before ours.
    """
    uuid, user = key
    if job.user != user:
        return False
    earliest = absent.since - CLOCK_SLACK
    if absent.submit_time is not None:
        earliest = absent.submit_time - SAME_SUBMISSION
    if job.submit_time is not None and job.submit_time < earliest:
        return False
    if job.uuid is not None:
        return job.uuid == uuid
    return absent.job_id in {job.job_id, job.array_job_id} and job.submit_time is not None
