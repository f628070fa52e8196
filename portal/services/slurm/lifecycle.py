"""What Slurm's word on a job means for our row of it. Pure: no clock, no database, no Slurm."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from portal.models import BatchJob, Job, JobState, Session, Wanted
from spawner.model import JobInfo, Outcome, SlurmState
from spawner.reasons import explain_outcome, explain_reason
from spawner.scripts import EXIT_CLAIMED

CALL_HOME_PATIENCE = timedelta(minutes=3)
LOST_PATIENCE = timedelta(minutes=2)
CLOCK_SLACK = timedelta(seconds=30)
ACCOUNTING_PATIENCE = timedelta(seconds=20)
"""For so long a batch job that squeue shows as ended waits for its exit code, which only accounting
has: so that whoever waits for the end finds it there."""

TWICE = "Slurm had lost sight of this job while it ran, and would have run it a second time."
TWICE_ADVICE = "Its log and files say how far it came. Run it again if it did not come to its end."
NEVER = datetime.max.replace(tzinfo=UTC)
Update = Mapping[str, Any]


def is_ours(job: Job, info: JobInfo) -> bool:
    """A Slurm job is this row's only if id, user and a submit time after the row agree.

    Anyone may write any comment, and Slurm uses job ids again after a crash.
    """
    ids = {info.job_id, info.array_job_id} - {None}
    named = info.uuid == job.id if info.uuid else job.job_id in ids
    if not named or info.user != job.user.username:
        return False
    return info.submit_time is None or info.submit_time >= job.created_at - CLOCK_SLACK


def from_outside(job: Job) -> bool:
    """Whether the portal only found this job: its id is made of Slurm's own (outside.py), and so of
    another version than those that are made at random (RFC 9562)."""
    return job.id[14:15] == "5"


def chosen(copies: Iterable[JobInfo]) -> JobInfo | None:
    """Of several jobs that Slurm made of one, the one that is it: whichever has started first has
    claimed the job, and the others can only exit."""
    return min(
        copies,
        key=lambda i: (not i.nodes, i.start_time or NEVER, i.state is SlurmState.ENDED, i.job_id),
        default=None,
    )


def awaits_accounting(info: JobInfo, now: datetime) -> bool:
    """Whether squeue alone says that this has ended, and accounting may soon say how."""
    fresh = info.end_time is not None and now - info.end_time < ACCOUNTING_PATIENCE
    return info.state is SlurmState.ENDED and info.exit_code is None and fresh


def observe(job: Job, info: JobInfo, now: datetime) -> Update:
    """The columns that follow from what Slurm says of the job."""
    found = _observed(job, info, now)
    if isinstance(job, BatchJob | Session) and info.state is SlurmState.ENDED:
        found["usage_due"] = job.usage_due or now
    if not isinstance(job, BatchJob):
        return found
    if info.nodes:
        found["nodes"] = list(info.nodes)
    if awaits_accounting(info, now):
        held = {"state": JobState.STOPPING, "stale_since": None, "reason": None, "advice": None}
        return {key: found[key] for key in ("job_id", "usage_due")} | held
    return found


def _observed(job: Job, info: JobInfo, now: datetime) -> dict[str, Any]:
    found: dict[str, Any] = {
        "stale_since": None,
        "job_id": info.job_id,
        "submit_time": info.submit_time or job.submit_time,
        "submitted_at": job.submitted_at or info.submit_time or now,
    }
    match info.state:
        case SlurmState.QUEUED:
            found |= _queued(job, info)
        case SlurmState.RUNNING:
            found |= _running(job, info)
        case SlurmState.SUSPENDED:
            found |= {"state": JobState.SUSPENDED, "reason": "Slurm has paused this for a while."}
        case SlurmState.COMPLETING:
            found |= {"state": JobState.STOPPING}
        case SlurmState.ENDED:
            found |= _ended(job, info, now)
    return found


def _queued(job: Job, info: JobInfo) -> Update:
    why = explain_reason(info.reason)
    return {
        "state": JobState.STOPPING if job.wanted is Wanted.STOP else JobState.QUEUED,
        "reason": why.text if why else None,
        "advice": why.advice if why else None,
        "estimated_start": info.estimated_start,
        "node": None,
        "started_at": None,
        "expires_at": None,
    }


def _running(job: Job, info: JobInfo) -> Update:
    limit = info.time_limit_minutes
    started = info.start_time
    return {
        "state": _running_state(job),
        "reason": job.reason if _is_between(job) else None,
        "advice": job.advice if _is_between(job) else None,
        "estimated_start": None,
        "node": info.nodes[0] if info.nodes else None,
        "started_at": started,
        "expires_at": started + timedelta(minutes=limit) if started and limit else None,
    }


def _running_state(job: Job) -> JobState:
    if job.wanted is Wanted.STOP:
        return JobState.STOPPING
    if isinstance(job, Session) and job.called_home_at is not None and job.target_port is None:
        return JobState.STOPPING  # its program has said that it ends
    if isinstance(job, Session) and job.ready_at is None:
        return JobState.STARTING
    return JobState.RUNNING


def _is_between(job: Job) -> bool:
    """A session that waits for the hub, or says why it ends: Slurm does not know the reason."""
    if not isinstance(job, Session) or job.called_home_at is None:
        return False
    return job.ready_at is None or job.target_port is None


def _ended(job: Job, info: JobInfo, now: datetime) -> Update:
    ended: dict[str, Any] = {
        "state": JobState.ENDED,
        "ended_at": info.end_time or now,
        "exit_code": info.exit_code,
        "estimated_start": None,
        "node": job.node or (info.nodes[0] if info.nodes else None),
        "started_at": info.start_time if info.nodes else job.started_at,
    }
    if job.wanted is Wanted.STOP:
        if job.outcome is Outcome.FAILED:
            return ended | {"outcome": Outcome.FAILED}  # and why we stopped it stands
        return ended | {"outcome": Outcome.CANCELLED, "reason": None, "advice": None}
    if isinstance(job, BatchJob) and info.exit_code == EXIT_CLAIMED:
        return ended | {"outcome": Outcome.FAILED, "reason": TWICE, "advice": TWICE_ADVICE}
    why = explain_outcome(info)
    reported = job.reason if job.outcome is Outcome.FAILED else None
    return ended | {
        "outcome": info.outcome or Outcome.FAILED,
        "reason": reported or (why.text if why else None),
        "advice": job.advice if reported else (why.advice if why else None),
    }


def give_up(job: Job, now: datetime, hub_patience: timedelta) -> Update | None:
    """The columns of a session that is stopped because its start does not come off, or None."""
    if not isinstance(job, Session) or job.wanted is Wanted.STOP or job.ready_at is not None:
        return None
    if job.state is not JobState.STARTING or job.started_at is None:
        return None
    if job.called_home_at is None and now - job.started_at > CALL_HOME_PATIENCE:
        return _failed(
            f"The job started on {job.node or 'a node'}, but nothing there called the portal.",
            "The end of the log says more. If it is empty, tell the admins the node's name.",
            now,
        )
    if job.called_home_at is not None and now - job.called_home_at > hub_patience:
        return _failed(
            "JupyterHub or the notebook server did not come up in time.",
            "Start it again. If it happens twice, tell the admins.",
            now,
        )
    return None


def _failed(reason: str, advice: str, now: datetime) -> Update:
    return {
        "wanted": Wanted.STOP,
        "stop_requested_at": now,
        "outcome": Outcome.FAILED,
        "reason": reason,
        "advice": advice,
    }


def lost(job: Job, now: datetime) -> Update:
    """A job that neither squeue nor accounting knows, although Slurm answers, long enough."""
    stopped = job.wanted is Wanted.STOP
    return {
        "state": JobState.ENDED,
        "ended_at": now,
        "stale_since": None,
        "outcome": job.outcome or (Outcome.CANCELLED if stopped else Outcome.FAILED),
        "reason": job.reason if stopped else "Slurm does not know this job any more.",
        "advice": job.advice if stopped else "Slurm was probably restarted. Start it again.",
    }
