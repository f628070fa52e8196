"""Usage of a user's running sessions and jobs in the last minutes, all in one bounded answer.

The measurements of sessions are in the database. Those of jobs are in files, which the owner's
files program reads, as well as the last metric that each session and job has logged, within one
time limit for all. Nothing is read, and no program started, if no session or job runs.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import select

from portal.context import AppContext
from portal.db import utcnow
from portal.models import BatchJob, Job, JobState, Session, SessionMeasurements, User
from portal.services.jobs.usage_trend import LOOK_BACK_S, Measurements, UsageTrend, usage_trend
from portal.services.sessions.measurements import load_reports
from spawner.errors import SpawnerError
from spawner.usage_file import CPUS, FIRST_GPU, NodeSeries

Running = TypeVar("Running", Session, BatchJob)

MAX_SESSIONS = 20
MAX_JOBS = 8
READ_WITHIN_S = 4.0
PREFERRED_METRIC = "loss"


@dataclass(frozen=True)
class LastMetric:
    """The last value of a scalar that a session or job has logged for TensorBoard."""

    tag: str
    value: float


@dataclass(frozen=True)
class RecentUsage:
    """The trend of one session or job."""

    id: str
    trend: UsageTrend
    metric: LastMetric | None = None


async def load_recent_usage(context: AppContext, user: User) -> list[RecentUsage]:
    """Return the trends of the user's running sessions and jobs, as far as they are measured."""
    sessions = await _load_running(context, user, Session, MAX_SESSIONS)
    jobs = await _load_running(context, user, BatchJob, MAX_JOBS)
    now = utcnow().timestamp()
    reports = await load_reports(context, [session.id for session in sessions])
    measured = {id_: [_from_report(report)] for id_, report in reports.items()}
    deadline = time.monotonic() + READ_WITHIN_S
    measured |= await _read_jobs(context, user.username, jobs, now, deadline)
    folders = _log_folders(sessions, jobs)
    metrics = await _read_scalars(context, user.username, folders, deadline)
    return [
        RecentUsage(
            job.id, usage_trend(measured[job.id], _count_cpus(job), now), metrics.get(job.id)
        )
        for job in (*sessions, *jobs)
        if measured.get(job.id)
    ]


async def _load_running(
    context: AppContext, user: User, kind: type[Running], most: int
) -> list[Running]:
    """Return the newest running sessions or jobs of a user."""
    query = select(kind).where(kind.user_id == user.id, kind.state == JobState.RUNNING)
    query = query.where(kind.removed_at.is_(None)).order_by(kind.created_at.desc()).limit(most)
    async with context.db.session() as db:
        return list((await db.scalars(query)).all())


def _count_cpus(job: Job) -> int:
    return int(job.resources.get("cpus") or 1)


def _from_report(report: SessionMeasurements) -> Measurements:
    series: Mapping[str, Any] = report.series
    reported_at = report.reported_at.timestamp()
    return Measurements(
        at=[reported_at - age for age in series["ages_s"]],
        step_s=series["step_s"],
        cpus=series["cpus"],
        gpus=[gpu["use_percent"] for gpu in series["gpus"] or ()],
    )


async def _read_jobs(
    context: AppContext, username: str, jobs: Sequence[BatchJob], now: float, deadline: float
) -> dict[str, list[Measurements]]:
    """Return the measurements by job, as far as they could be read in time."""
    measured: dict[str, list[Measurements]] = {}
    for job in jobs:
        task, left_s = _find_task(job), deadline - time.monotonic()
        if job.external or task is None or left_s <= 0:
            continue
        try:
            series, _ = await context.file_pool.usage(
                username, job.id, task, left_s, now - LOOK_BACK_S
            )
        except SpawnerError:  # the others are in the same home, which can't be read
            break
        measured[job.id] = [_from_file(each) for each in series if each.points]
    return measured


def _log_folders(sessions: Sequence[Session], jobs: Sequence[BatchJob]) -> dict[str, str]:
    """Return the folders of logged metrics by session and job; not of arrays, whose tasks have one
    each.
    """
    folders = {session.id: session.logdir for session in sessions if session.logdir}
    for job in jobs:
        if job.logdir and not job.external and job.array_size is None:
            folders[job.id] = job.logdir
    return folders


async def _read_scalars(
    context: AppContext, username: str, folders: Mapping[str, str], deadline: float
) -> dict[str, LastMetric]:
    """Return the last metric by session or job, as far as they could be read in time."""
    left_s = deadline - time.monotonic()
    if not folders or left_s <= 0:
        return {}
    try:
        values = await context.file_pool.scalars(username, list(folders.values()), left_s)
    except SpawnerError:
        return {}
    found = zip(folders, map(_choose_metric, values), strict=False)
    return {id_: metric for id_, metric in found if metric is not None}


def _choose_metric(values: Mapping[str, float | None]) -> LastMetric | None:
    """Return the first loss, or else the first value; None without a finite one."""
    finite = [LastMetric(tag, value) for tag, value in values.items() if value is not None]
    losses = (metric for metric in finite if PREFERRED_METRIC in metric.tag.lower())
    return next(losses, finite[0] if finite else None)


def _find_task(job: BatchJob) -> int | None:
    """Return the task to show: the first running one of an array, None if there is none."""
    if job.array_size is None:
        return 0
    running = (task["index"] for task in job.tasks or () if task["state"] == JobState.RUNNING)
    return next(running, None)


def _from_file(series: NodeSeries) -> Measurements:
    gpus = len(series.header.gpus or ())
    return Measurements(
        at=[point.start for point in series.points],
        step_s=series.header.step_s,
        cpus=_column(series, CPUS),
        gpus=[_column(series, FIRST_GPU + 2 * index) for index in range(gpus)],
    )


def _column(series: NodeSeries, index: int) -> list[float | None]:
    return [point.values[index] if index < len(point.values) else None for point in series.points]
