"""Import of jobs' totals (the column `usage`), exit codes and outcomes from Slurm's accounting.

squeue has no exit codes and drops ended jobs; accounting has both, slightly later. Rows that are
waiting for it have `usage_due`; many are requested with one command. A job is requested again until
its record is complete, at growing intervals, for at most a day while accounting answers.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import structlog
from sqlalchemy import select

from portal.context import AppContext
from portal.models import BatchJob, JobState, Session
from portal.services.slurm import arrays, failures, lifecycle
from portal.services.slurm.failures import FailedLog
from portal.services.store import update_row
from spawner.errors import SlurmError
from spawner.slurm.missing_jobs import CLOCK_SLACK, SAME_SUBMISSION
from spawner.slurm.model import JobInfo, JobPhase, JobUsage, Outcome
from spawner.slurm.reasons.explanation import Explanation
from spawner.slurm.reasons.outcomes import explain_outcome

log = structlog.get_logger(__name__)

MAX_ROWS_PER_ROUND = 200
TASK_LOGS = 20
"""Number of failed tasks of an array whose logs are read; they mostly fail for the same reason."""
SOON = timedelta(seconds=2)  # the shortest pause between two requests
GIVE_UP = timedelta(days=1)
LONGEST_PAUSE = timedelta(hours=1)  # while accounting does not answer
STEPS_PATIENCE = timedelta(minutes=2)  # for the steps of a job whose own record is complete
UNENDED_TASK_STATES = {JobState.QUEUED, JobState.RUNNING, JobState.SUSPENDED}
GB = 1 << 30

JobOrSession = BatchJob | Session


async def load_due(context: AppContext, now: datetime) -> list[JobOrSession]:
    """Return the jobs and sessions whose accounting is due."""
    jobs = select(BatchJob).where(BatchJob.usage_due <= now, BatchJob.job_id.is_not(None))
    sessions = select(Session).where(Session.usage_due <= now, Session.job_id.is_not(None))
    async with context.db.session() as db:
        first = await db.scalars(jobs.order_by(BatchJob.usage_due).limit(MAX_ROWS_PER_ROUND))
        due_sessions = await db.scalars(
            sessions.order_by(Session.usage_due).limit(MAX_ROWS_PER_ROUND)
        )
        return [*first, *due_sessions]


async def collect(context: AppContext, jobs: Sequence[JobOrSession], now: datetime) -> None:
    """Request the accounting of these jobs and write the results to their rows."""
    try:
        records = await context.watcher.fetch_usage(_get_since(jobs))
    except SlurmError as error:
        log.warning("cannot read accounting", error=error.message, stderr=error.stderr[:300])
        for job in jobs:
            await update_row(context.db, type(job), job.id, lambda row: _postpone(row, now))
        return
    by_id: dict[int, list[JobUsage]] = {}
    for usage in records:
        by_id.setdefault(usage.info.array_job_id or usage.info.job_id, []).append(usage)
    of_job = {job.id: by_id.get(job.job_id or 0, []) for job in jobs}
    batch_jobs = [job for job in jobs if isinstance(job, BatchJob)]
    logs = [failed for job in batch_jobs for failed in _list_unread_logs(job, of_job[job.id])]
    causes = await failures.read_causes(context, logs)
    for job in jobs:
        own = {task: cause for (id_, task), cause in causes.items() if id_ == job.id}
        await _write_row(context, job, of_job[job.id], now, own)


def _get_since(jobs: Iterable[JobOrSession]) -> dict[int, datetime]:
    """Return Slurm's IDs with the time before which a run of that ID is another job's."""
    since: dict[int, datetime] = {}
    for job in jobs:
        if job.job_id:
            oldest = job.created_at - CLOCK_SLACK
            since[job.job_id] = min(oldest, since.get(job.job_id, oldest))
    return since


def _postpone(row: JobOrSession, now: datetime) -> None:
    """Set the time of the next request, after one without an answer: no job is given up."""
    elapsed = now - (row.ended_at or row.usage_due or now)
    row.usage_due = now + min(max(SOON, elapsed / 2), LONGEST_PAUSE)


def _list_unread_logs(job: BatchJob, usages: Sequence[JobUsage]) -> list[FailedLog]:
    """Return the logs that may explain why a job or its tasks failed, if Slurm only has an exit
    code; for an array, those of the first failed tasks whose logs have not been read yet.
    """
    failed = [
        usage.info
        for usage in usages
        if _is_current(job, usage.info)
        and usage.info.outcome is Outcome.FAILED
        and usage.info.nodes
    ]
    if job.array_size is None:
        return [FailedLog(job)] if failed else []
    read = {task["index"] for task in job.tasks or [] if "cause" in task}
    logs = {
        index: FailedLog(job, index, info.job_id)
        for info in failed
        for index in info.tasks
        if index not in read
    }
    return [logs[index] for index in sorted(logs)][: max(0, TASK_LOGS - len(read))]


async def _write_row(
    context: AppContext,
    job: JobOrSession,
    usages: list[JobUsage],
    now: datetime,
    causes: Mapping[int | None, Explanation | None],
) -> None:
    cause = causes.get(None)

    def modify(row: JobOrSession) -> None:
        ours = [usage for usage in usages if _is_current(row, usage.info)]
        columns = build_total_columns(row, ours, now) if ours else {}
        if cause and columns.get("reason") and columns["reason"] == _get_slurm_reason(ours):
            columns |= {"reason": cause.text, "suggestion": cause.suggestion}
        if columns.get("tasks"):
            columns |= arrays.add_causes(columns, causes)
        for column, value in columns.items():
            setattr(row, column, value)
        row.usage_due = compute_next_due(row, _is_complete(row, ours), bool(ours), now)

    kind: type[JobOrSession] = type(job)
    await update_row(context.db, kind, job.id, modify)
    context.notifier.notify(job.user_id, job.id)


def _is_current(row: JobOrSession, info: JobInfo) -> bool:
    """Return whether a record is of this job's current run. After a requeue, squeue may show the
    new run while accounting still has only the runs before.
    """
    if not lifecycle.is_ours(row, info):
        return False
    if isinstance(row, BatchJob) and row.array_size is not None:
        return True  # each task is requeued by itself
    if row.submit_time is None or info.submit_time is None:
        return True
    return info.submit_time >= row.submit_time - SAME_SUBMISSION


def _is_complete(row: JobOrSession, ours: Sequence[JobUsage]) -> bool:
    """Return whether accounting has all data that the row can have now.

    For an array that has not ended, these are the exit codes of the ended tasks. The next task that
    ends makes the array due again (arrays.has_vanished_tasks), and so does the array's end.
    """
    if not ours:
        return False
    if row.state is JobState.ENDED:
        return all(usage.complete for usage in ours)
    tasks = (row.tasks or []) if isinstance(row, BatchJob) else []
    return tasks != [] and all(
        task["state"] in UNENDED_TASK_STATES or task.get("exit_code") is not None for task in tasks
    )


def _get_slurm_reason(ours: Sequence[JobUsage]) -> str | None:
    why = explain_outcome(ours[0].info)
    return why.text if why else None


def build_total_columns(
    row: JobOrSession, ours: Sequence[JobUsage], now: datetime
) -> dict[str, Any]:
    """Return the columns that follow from accounting's records of a job, or of an array's tasks.
    How a session ended has been recorded from squeue and by the reconcile loop before.
    """
    columns: dict[str, Any] = {"usage": sum_totals(ours)}
    if isinstance(row, Session):
        return columns
    if row.array_size is not None:
        ended = [usage.info for usage in ours if usage.info.phase is JobPhase.ENDED]
        return columns | (dict(arrays.build_observed_columns(row, ended, now)) if ended else {})
    info = ours[0].info
    if info.phase is JobPhase.ENDED:
        columns |= lifecycle.build_observed_columns(row, info, now)
    if row.external and ours[0].cpus and info.nodes:
        per_node = max(1, ours[0].cpus // len(info.nodes))
        columns["resources"] = {**row.resources, "cpus": per_node, "nodes": len(info.nodes)}
    return columns


def sum_totals(ours: Iterable[JobUsage]) -> dict[str, Any]:
    """Sum up usage in the format of the row's column."""
    usages = list(ours)
    elapsed = [usage.elapsed_s for usage in usages]
    cpu_s = sum(usage.cpu_s for usage in usages)
    allocated_s = sum(usage.elapsed_s * usage.cpus for usage in usages)
    sizes = [usage.max_rss_bytes for usage in usages if usage.max_rss_bytes is not None]
    return {
        "elapsed_s": sum(elapsed),
        "longest_s": max((usage.longest_run_s or usage.elapsed_s for usage in usages), default=0),
        "cpu_s": round(cpu_s, 3),
        "cpu_efficiency": round(min(1.0, cpu_s / allocated_s), 4) if allocated_s else None,
        "max_rss_gb": round(max(sizes) / GB, 4) if sizes else None,
        "restarts": sum(usage.restarts for usage in usages),
    }


def compute_next_due(
    row: JobOrSession, complete: bool, has_records: bool, now: datetime
) -> datetime | None:
    """Return the time of the next accounting request, None if there is none.

    `complete`: no request is needed before the row's next change. `has_records`: accounting has
    records of the job.
    """
    if complete:
        return None
    elapsed = now - (row.ended_at or row.usage_due or now)
    if row.state is JobState.ENDED and elapsed > (STEPS_PATIENCE if has_records else GIVE_UP):
        return None
    return now + max(SOON, elapsed / 2)
