"""Mapping of Slurm's state of a job to the columns of its row. Pure: no clock, no database, no
Slurm.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from portal.models import BatchJob, Job, JobState, Session, Wanted
from spawner.catalog.launch_files import EXIT_CLAIMED
from spawner.slurm.missing_jobs import CLOCK_SLACK, SAME_SUBMISSION
from spawner.slurm.model import JobInfo, JobPhase, Outcome
from spawner.slurm.reasons.explanation import Explanation
from spawner.slurm.reasons.outcomes import explain_outcome
from spawner.slurm.reasons.pending import explain_reason

LOST_PATIENCE = timedelta(minutes=2)
ACCOUNTING_PATIENCE = timedelta(seconds=20)
"""The time that a batch job which squeue shows as ended waits for its exit code, which only
accounting has: a client that waits for the end finds the exit code there.
"""

MAX_RESUBMISSIONS = 3  # of a job that Slurm has lost
ROOT_UID = 0

TWICE = "Slurm lost track of this job while it ran and would have run it again."
TWICE_SUGGESTION = "Its log and files show how far it got. Run it again if it did not finish."
NEVER = datetime.max.replace(tzinfo=UTC)
Update = Mapping[str, Any]
"""New values of a row's columns, by column."""
Explain = Callable[[JobInfo], Explanation | None]
"""Explains why a job waits in Slurm's queue."""


def is_ours(job: Job, info: JobInfo) -> bool:
    """Return whether a Slurm job belongs to this row: the UUID in its comment (without one, its job
    ID) and its user must match, and it must have been submitted after the row was created.

    Anyone may write any comment, and Slurm reuses job IDs after a crash.
    """
    ids = {info.job_id, info.array_job_id} - {None}
    matches = info.uuid == job.id if info.uuid else job.job_id in ids
    if not matches or info.user != job.user.username:
        return False
    return info.submit_time is None or info.submit_time >= job.created_at - CLOCK_SLACK


def is_certainly_ours(job: Job, info: JobInfo) -> bool:
    """Return whether a Slurm job is certainly this row's, and not a later one with the same ID.

    Without our UUID, which a comment can lose and an external job never had, only the last known
    submission time distinguishes jobs of one user.
    """
    if is_external(job):
        info = replace(info, uuid=None)  # not one of our UUIDs, or there would be no such row
    if not is_ours(job, info):
        return False
    if info.uuid is not None:
        return True
    if job.submit_time is None or info.submit_time is None:
        return False
    return abs(info.submit_time - job.submit_time) <= SAME_SUBMISSION


def is_external(job: Job) -> bool:
    """Return whether this is an external job: its row's ID is derived from Slurm's
    (external_jobs.py), and so has another UUID version than random ones (RFC 9562).
    """
    return job.id[14:15] == "5"


def choose_copy(copies: Iterable[JobInfo]) -> JobInfo | None:
    """Return the valid one of several Slurm jobs of one row: the one that started first has claimed
    the row's job (spawner/catalog/jobscript.py), and the others can only exit.
    """
    return min(
        copies,
        key=lambda i: (not i.nodes, i.start_time or NEVER, i.phase is JobPhase.ENDED, i.job_id),
        default=None,
    )


def awaits_accounting(info: JobInfo, now: datetime, answers_since: datetime | None = None) -> bool:
    """Return whether only squeue has reported the end yet, and accounting may soon report the
    outcome. A job may have ended long before `answers_since`, from when on Slurm has answered.
    """
    end_time = info.end_time
    known_at = end_time and max(end_time, answers_since or end_time)
    fresh = known_at is not None and now - known_at < ACCOUNTING_PATIENCE
    return info.phase is JobPhase.ENDED and info.exit_code is None and fresh


def may_submit_again(job: Job) -> bool:
    """Return whether a job is to be submitted again if Slurm has lost it."""
    if not isinstance(job, BatchJob) or job.external or job.wanted is Wanted.STOP:
        return False
    return len(job.lost_jobs or ()) < MAX_RESUBMISSIONS


def may_have_been_lost(job: Job, info: JobInfo) -> bool:
    """Return whether Slurm itself has ended a job, maybe before its script began.

    slurmctld does so after it was killed, or with a node that fails: it cancels a job as root when
    a node reports the end of a forgotten one that had the same id. The tasks of an array can't be
    submitted again one by one.
    """
    if not may_submit_again(job) or not isinstance(job, BatchJob) or job.array_size is not None:
        return False
    if info.phase is not JobPhase.ENDED or job.state is JobState.ENDED:
        return False
    suspicious = info.outcome is Outcome.NODE_FAILED or info.cancelled_by == ROOT_UID
    return suspicious or job.claim_check_since is not None


def explain_queued(info: JobInfo) -> Explanation | None:
    """Explain why a job waits, from Slurm's code alone."""
    return explain_reason(info.reason)


def build_observed_columns(
    job: Job,
    info: JobInfo,
    now: datetime,
    explain: Explain = explain_queued,
    *,
    claim_checked: bool = False,
    answers_since: datetime | None = None,
) -> Update:
    """Return the columns that follow from Slurm's report on the job.

    `claim_checked`: whether its script began has been checked, and it is not submitted again.
    `answers_since`: see `awaits_accounting`.
    """
    columns = _build_columns(job, info, now, explain)
    if isinstance(job, BatchJob | Session) and info.phase is JobPhase.ENDED:
        columns["usage_due"] = job.usage_due or now
    if not isinstance(job, BatchJob):
        return columns
    if info.nodes:
        columns["nodes"] = list(info.nodes)
    columns["claim_check_since"] = None
    stopping = {"state": JobState.STOPPING, "stale_since": None, "reason": None, "suggestion": None}
    stopping |= {key: columns[key] for key in ("job_id", "usage_due") if key in columns}
    if awaits_accounting(info, now, answers_since):
        return stopping
    if not claim_checked and may_have_been_lost(job, info):
        return stopping | {"claim_check_since": job.claim_check_since or now}
    return columns


def _build_columns(job: Job, info: JobInfo, now: datetime, explain: Explain) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "stale_since": None,
        "job_id": info.job_id,
        "submit_time": info.submit_time or job.submit_time,
        "submitted_at": job.submitted_at or info.submit_time or now,
    }
    match info.phase:
        case JobPhase.QUEUED:
            columns |= _build_queued_columns(job, info, explain(info))
        case JobPhase.RUNNING:
            columns |= _build_running_columns(job, info)
        case JobPhase.SUSPENDED:
            columns |= {"state": JobState.SUSPENDED}
            if not _is_end_decided(job):
                columns |= {"reason": "Slurm has suspended this job.", "suggestion": None}
        case JobPhase.COMPLETING:
            columns |= {"state": JobState.STOPPING}
        case JobPhase.ENDED:
            columns |= _build_ended_columns(job, info, now)
    return columns


def _build_queued_columns(job: Job, info: JobInfo, why: Explanation | None) -> Update:
    reason, suggestion = (why.text, why.suggestion) if why else (None, None)
    if _is_end_decided(job):
        reason, suggestion = job.reason, job.suggestion
    return {
        "state": JobState.STOPPING if job.wanted is Wanted.STOP else JobState.QUEUED,
        "reason": reason,
        "suggestion": suggestion,
        "estimated_start": info.estimated_start,
        "node": None,
        "started_at": None,
        "expires_at": None,
    }


def _build_running_columns(job: Job, info: JobInfo) -> Update:
    limit = info.time_limit_minutes
    started = info.start_time
    return {
        "state": _find_running_state(job),
        "reason": job.reason if _has_own_reason(job) else None,
        "suggestion": job.suggestion if _has_own_reason(job) else None,
        "estimated_start": None,
        "node": info.nodes[0] if info.nodes else None,
        "started_at": started,
        "expires_at": started + timedelta(minutes=limit) if started and limit else None,
    }


def _find_running_state(job: Job) -> JobState:
    if job.wanted is Wanted.STOP:
        return JobState.STOPPING
    if has_reported_its_end(job):
        return JobState.STOPPING
    if isinstance(job, Session) and job.ready_at is None:
        return JobState.STARTING
    return JobState.RUNNING


def has_reported_its_end(job: Job) -> bool:
    """Return whether a session's program has reported that it ends."""
    return isinstance(job, Session) and job.called_home_at is not None and job.target_port is None


def _has_own_reason(job: Job) -> bool:
    """Return whether the row's reason is the portal's own, which Slurm's report must not replace: a
    session waits for the hub or has reported why it ends, or a stop was recorded with its reason.
    """
    if _is_end_decided(job):
        return True
    if not isinstance(job, Session) or job.called_home_at is None:
        return False
    return job.ready_at is None or job.target_port is None


def _is_end_decided(job: Job) -> bool:
    """Return whether the portal or an administrator stops the job, and its outcome and reason are
    stored already.
    """
    return job.wanted is Wanted.STOP and job.outcome is not None


def _build_ended_columns(job: Job, info: JobInfo, now: datetime) -> Update:
    ended: dict[str, Any] = {
        "state": JobState.ENDED,
        "ended_at": info.end_time or now,
        "exit_code": info.exit_code,
        "estimated_start": None,
        "node": job.node or (info.nodes[0] if info.nodes else None),
        "started_at": info.start_time if info.nodes else job.started_at,
    }
    if _is_end_decided(job):
        return ended | {"outcome": job.outcome}
    if job.wanted is Wanted.STOP:
        return ended | {"outcome": Outcome.CANCELLED, "reason": None, "suggestion": None}
    if isinstance(job, BatchJob) and info.exit_code == EXIT_CLAIMED:
        return ended | {"outcome": Outcome.FAILED, "reason": TWICE, "suggestion": TWICE_SUGGESTION}
    why = explain_outcome(info)
    reported = job.reason if job.outcome is Outcome.FAILED else None
    return ended | {
        "outcome": info.outcome or Outcome.FAILED,
        "reason": reported or (why.text if why else None),
        "suggestion": job.suggestion if reported else (why.suggestion if why else None),
    }


@dataclass(frozen=True)
class Patience:
    """Time limits for a session's start: until its node program calls home, and from then until the
    hub has taken its server over.
    """

    call_home: timedelta
    hub: timedelta


def build_start_timeout_columns(
    job: Job, now: datetime, patience: Patience, since: datetime
) -> Update | None:
    """Return the columns of a session that is stopped because its start failed, or None.

    Time before `since` does not count: the program could not reach the portal, or could not run. A
    session that was ready once is never given up: its server may hold a user's work, and it is
    offered again to the hub that dropped it.
    """
    if not isinstance(job, Session) or job.wanted is Wanted.STOP:
        return None
    if job.ready_at is not None or job.first_ready_at is not None:
        return None
    if job.state is not JobState.STARTING or job.started_at is None:
        return None
    if job.called_home_at is None and now - max(job.started_at, since) > patience.call_home:
        return _build_failed_columns(
            f"The job started on {job.node or 'a node'} but did not contact the portal.",
            (
                "See the end of the log. If it is empty, report the node's name to your "
                "administrators."
            ),
            now,
        )
    if job.called_home_at is not None and now - max(job.called_home_at, since) > patience.hub:
        return _build_failed_columns(
            "JupyterHub or the notebook server did not start in time.",
            "Start it again. If it happens again, contact your administrators.",
            now,
        )
    return None


def _build_failed_columns(reason: str, suggestion: str, now: datetime) -> Update:
    return {
        "wanted": Wanted.STOP,
        "stop_requested_at": now,
        "outcome": Outcome.FAILED,
        "reason": reason,
        "suggestion": suggestion,
    }


def build_lost_columns(job: Job, now: datetime) -> Update:
    """Return the columns of a job that neither squeue nor accounting knows although Slurm has
    answered for long enough.
    """
    stopped = job.wanted is Wanted.STOP
    return {
        "state": JobState.ENDED,
        "ended_at": now,
        "stale_since": None,
        "outcome": job.outcome or (Outcome.CANCELLED if stopped else Outcome.FAILED),
        "reason": job.reason if stopped else "Slurm no longer knows this job.",
        "suggestion": job.suggestion
        if stopped
        else "Slurm was probably restarted. Start the job again.",
    }
