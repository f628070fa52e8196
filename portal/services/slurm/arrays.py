"""Merging of Slurm's reports on an array's tasks into one job. Pure.

A task is an object in the column `tasks`: index, state, outcome, exit_code, reason, job_id, node,
submit_time, parameters, metrics with read (true) once they have been read after its end, and cause
(null, or reason and suggestion) once its log has been read after a failure. A task's fields are
kept until Slurm reports newer ones: ended tasks leave squeue one by one. Each task is requeued by
itself, which changes its submit time.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from portal.models import BatchJob, JobState, Wanted
from portal.services.slurm.lifecycle import Explain, Update, awaits_accounting, explain_queued
from spawner.slurm.missing_jobs import SAME_SUBMISSION
from spawner.slurm.model import JobInfo, JobPhase, Outcome
from spawner.slurm.reasons.explanation import Explanation
from spawner.slurm.reasons.outcomes import explain_outcome

Task = dict[str, Any]
_STATES = {
    JobPhase.QUEUED: JobState.QUEUED,
    JobPhase.RUNNING: JobState.RUNNING,
    JobPhase.SUSPENDED: JobState.SUSPENDED,
    JobPhase.COMPLETING: JobState.STOPPING,
    JobPhase.ENDED: JobState.ENDED,
}
# The job's state is the first of these that one of its tasks is in.
_STATE_PRECEDENCE = (
    JobState.RUNNING, JobState.SUSPENDED, JobState.QUEUED, JobState.SUBMITTING, JobState.STOPPING,
)  # fmt: skip
# The job's outcome, once all tasks have ended, is the first of these that one of them has.
_OUTCOME_PRECEDENCE = (
    Outcome.FAILED, Outcome.OUT_OF_MEMORY, Outcome.TIMEOUT, Outcome.NODE_FAILED, Outcome.CANCELLED,
)  # fmt: skip
_OUTCOME_TEXTS = {
    Outcome.FAILED: "failed",
    Outcome.OUT_OF_MEMORY: "ran out of memory",
    Outcome.TIMEOUT: "reached their time limit",
    Outcome.NODE_FAILED: "lost their node",
    Outcome.CANCELLED: "were cancelled",
}


def select_tasks(job: BatchJob, copies: Iterable[JobInfo]) -> list[JobInfo]:
    """Return the tasks of the job's array in Slurm: the array with the row's job ID, else the first
    one that Slurm created.
    """
    tasks = [info for info in copies if info.array_job_id is not None]
    ids = {info.array_job_id for info in tasks}
    chosen = job.job_id if job.job_id in ids else min(ids, default=None, key=lambda i: i or 0)
    return [info for info in tasks if info.array_job_id == chosen]


def merge_tasks(
    tasks: Sequence[Mapping[str, Any]], infos: Iterable[JobInfo], now: datetime
) -> list[Task]:
    """Return the tasks, updated with Slurm's current report, ordered by index."""
    by_index = {int(task["index"]): dict(task) for task in tasks}
    for info in infos:
        for index in info.tasks:
            known = by_index.get(index, {"index": index})
            if _adds_nothing(known, info):
                continue
            by_index[index] = {**known, **_to_task_fields(info, now)}
            if info.phase is not JobPhase.ENDED or _compare_submissions(known, info) > 0:
                for of_earlier_run in ("cause", "metrics", "read"):
                    by_index[index].pop(of_earlier_run, None)
    return [by_index[index] for index in sorted(by_index)]


def is_requeued(job: BatchJob, info: JobInfo) -> bool:
    """Return whether a task was submitted again in Slurm since the row's last report of it."""
    known = {task["index"]: task for task in job.tasks or []}
    return any(_compare_submissions(known.get(index, {}), info) > 0 for index in info.tasks)


def _compare_submissions(task: Task, info: JobInfo) -> int:
    """Return whether a report is of an earlier run of the task (-1), the same (0), a later (1)."""
    if not task.get("submit_time") or info.submit_time is None:
        return 0
    later = info.submit_time - datetime.fromisoformat(task["submit_time"])
    return 0 if abs(later) <= SAME_SUBMISSION else 1 if later > timedelta(0) else -1


def _adds_nothing(task: Task, info: JobInfo) -> bool:
    """Return whether a report changes nothing: it is of the run before a requeue, or it is
    squeue's, which has no exit codes, of a task whose end and outcome the row has already.
    """
    if (compared := _compare_submissions(task, info)) != 0:
        return compared < 0
    if task.get("state") != JobState.ENDED or info.exit_code is not None:
        return False
    if info.phase is JobPhase.COMPLETING:
        return True
    return info.phase is JobPhase.ENDED and task.get("outcome") == info.outcome


def _to_task_fields(info: JobInfo, now: datetime) -> Task:
    state = _STATES[info.phase]
    if awaits_accounting(info, now):
        state = JobState.STOPPING
    ended = state is JobState.ENDED
    why = explain_outcome(info) if ended else None
    single = len(info.tasks) == 1
    return {
        "state": state.value,
        "outcome": (info.outcome or Outcome.FAILED).value if ended else None,
        "exit_code": info.exit_code if ended else None,
        "reason": why.text if why else None,
        "job_id": info.job_id if single and info.nodes else None,
        "node": info.nodes[0] if info.nodes else None,
        "submit_time": info.submit_time.isoformat() if info.submit_time else None,
    }


def add_causes(columns: Update, causes: Mapping[int | None, Explanation | None]) -> Update:
    """Return the tasks with the causes found in their logs, and, once the array has ended, its
    resulting reason and suggestion.
    """
    tasks = [
        {**task, "cause": _to_cause(causes[task["index"]])} if task["index"] in causes else task
        for task in columns["tasks"]
    ]
    ended = columns["state"] is JobState.ENDED
    return {"tasks": tasks, **(_explain_outcomes(tasks) if ended else {})}


def _to_cause(why: Explanation | None) -> dict[str, str | None] | None:
    return {"reason": why.text, "suggestion": why.suggestion} if why else None


def has_vanished_tasks(tasks: Sequence[Mapping[str, Any]], infos: Iterable[JobInfo]) -> bool:
    """Return whether some tasks have not ended in the row and are not alive in squeue: accounting
    has their end.
    """
    alive = {index for info in infos if info.phase is not JobPhase.ENDED for index in info.tasks}
    return any(t["state"] != JobState.ENDED and t["index"] not in alive for t in tasks)


def build_observed_columns(
    job: BatchJob,
    infos: Sequence[JobInfo],
    now: datetime,
    explain: Explain = explain_queued,
) -> Update:
    """Return the columns that follow from squeue's or accounting's report on the tasks."""
    tasks = merge_tasks(job.tasks or [], infos, now)
    running = [info for info in infos if info.phase is JobPhase.RUNNING]
    queued = [info for info in infos if info.phase is JobPhase.QUEUED]
    starts = [info.start_time for info in infos if info.start_time and info.nodes]
    first = min(infos, key=lambda info: info.job_id, default=None)
    values: dict[str, Any] = {
        "stale_since": None,
        "tasks": tasks,
        "array_size": max(job.array_size or 0, len(tasks)),
        "job_id": (first.array_job_id if first else None) or job.job_id,
        "submit_time": (first.submit_time if first else None) or job.submit_time,
        "submitted_at": job.submitted_at or (first.submit_time if first else None) or now,
        "started_at": min([*starts, *([job.started_at] if job.started_at else [])], default=None),
        "node": running[0].nodes[0] if running and running[0].nodes else job.node,
        "nodes": sorted({node for info in running for node in info.nodes}) or job.nodes,
        "reason": None,
        "suggestion": None,
        "estimated_start": None,
        "expires_at": None,
    }
    state = _merge_states(job, tasks)
    values["state"] = state
    if state is JobState.ENDED:
        return {**values, **_build_end_columns(job, tasks, infos, now)}
    if state is JobState.QUEUED and queued and (why := explain(queued[0])):
        values |= {
            "reason": why.text,
            "suggestion": why.suggestion,
            "estimated_start": queued[0].estimated_start,
        }
    if has_vanished_tasks(tasks, infos):
        values["usage_due"] = job.usage_due or now
    return values


def _merge_states(job: BatchJob, tasks: Sequence[Task]) -> JobState:
    states = {JobState(task["state"]) for task in tasks}
    if not states - {JobState.ENDED}:
        return JobState.ENDED
    if job.wanted is Wanted.STOP:
        return JobState.STOPPING
    return next(state for state in _STATE_PRECEDENCE if state in states)


def _build_end_columns(
    job: BatchJob, tasks: Sequence[Task], infos: Iterable[JobInfo], now: datetime
) -> Update:
    ends = [info.end_time for info in infos if info.end_time]
    counts = Counter(Outcome(task["outcome"]) for task in tasks if task.get("outcome"))
    outcome = next((o for o in _OUTCOME_PRECEDENCE if counts[o]), Outcome.COMPLETED)
    codes = [task["exit_code"] for task in tasks if task.get("exit_code") is not None]
    stopped = job.wanted is Wanted.STOP
    return {
        "ended_at": max(ends, default=job.ended_at or now),
        "outcome": Outcome.CANCELLED if stopped and counts[Outcome.CANCELLED] else outcome,
        "exit_code": max(codes, default=None),
        "usage_due": job.usage_due or now,
        **_explain_outcomes(tasks),
    }


def _explain_outcomes(tasks: Sequence[Mapping[str, Any]]) -> dict[str, str | None]:
    """Explain why an ended array did not complete; includes the cause if all failed tasks
    share it.
    """
    counts = Counter(Outcome(task["outcome"]) for task in tasks if task.get("outcome"))
    parts = [
        f"{counts[o]} of {len(tasks)} tasks {_OUTCOME_TEXTS[o]}"
        for o in _OUTCOME_PRECEDENCE
        if counts[o]
    ]
    if not parts:
        return {"reason": None, "suggestion": None}
    reason = f"{'; '.join(parts)}."
    failed = [task["cause"] for task in tasks if "cause" in task]
    cause = failed[0] if failed and failed.count(failed[0]) == len(failed) else None
    if cause is not None:
        return {"reason": f"{reason} {cause['reason']}", "suggestion": cause["suggestion"]}
    return {
        "reason": reason,
        "suggestion": "See the table of tasks: each task has its own log.",
    }
