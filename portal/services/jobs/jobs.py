"""Operations of owners on their batch jobs: submit, view, cancel, remove from the list.

A job's row, with all that is to be submitted, is written before Slurm gets the job. The request
that writes the row submits it. If the result is uncertain (Slurm or the portal failed), the row
remains, and the reconcile loop submits the job once it is certain that Slurm does not have it.
"""

from collections.abc import Collection
from dataclasses import asdict
from typing import Any

import structlog
from sqlalchemy.orm import undefer

from portal.background.notifier import RECONCILE
from portal.context import AppContext
from portal.db import utcnow
from portal.errors import Conflict, NotFound, PortalError
from portal.models import BatchJob, JobState, User, Wanted, new_id
from portal.services import idempotency
from portal.services.audit import audit
from portal.services.idempotency import IdempotentRequest
from portal.services.jobs import listing, prepare
from portal.services.jobs.prepare import JobRequest, PreparedJob
from portal.services.limits import allowances
from portal.services.slurm import launch
from portal.services.store import update_row
from spawner.errors import LauncherUnavailable, SpawnerError, Unreachable
from spawner.slurm.model import JobInfo, Outcome

log = structlog.get_logger(__name__)

ANSWER_WITHIN_S = 20.0  # a request that submits is answered within this time, whatever Slurm does
WAITS = "Slurm doesn't answer. The job is saved and will be submitted when Slurm is back."


async def create(
    context: AppContext, user: User, request: JobRequest, key: str | None = None, ip: str = ""
) -> BatchJob:
    """Submit a job. The same request under the same idempotency key gives the same job.

    Raises InvalidInput with the fields, Conflict for a key that was used with another request,
    LimitReached, and the errors of submission while it is certain that Slurm has no job.
    """
    idempotent = IdempotentRequest.of(asdict(request), key)

    async def submit_new() -> BatchJob:
        batch_job_id = new_id()
        prepared = await prepare.prepare(context, user, request, batch_job_id)
        row = _to_row(context, user, request, prepared, batch_job_id, idempotent)
        submission = _insert_and_submit(context, user, row, prepared, ip)
        return await idempotency.submit(
            context, BatchJob, batch_job_id, user, submission, ANSWER_WITHIN_S
        )

    return await idempotent.run_once(context, BatchJob, user, submit_new, ANSWER_WITHIN_S)


async def _insert(
    context: AppContext, user: User, row: BatchJob, prepared: PreparedJob, ip: str
) -> BatchJob:
    """Write the row, and return it with all columns. Raises LimitReached, and IntegrityError for an
    idempotency key that exists already.
    """
    detail = {"template": prepared.template, "resources": prepared.resources_json}
    target = f"{user.username}/{prepared.name}"
    async with context.db.session() as db:
        await allowances.check_room(db, user, prepared.allowance, jobs=row.array_size or 1)
        db.add(row)
        audit.record(db, audit.Action.JOB_SUBMIT, actor=user, target=target, detail=detail, ip=ip)
        await db.commit()
    return await load_full(context, row)


def _to_row(
    context: AppContext,
    user: User,
    request: JobRequest,
    prepared: PreparedJob,
    batch_job_id: str,
    idempotent: IdempotentRequest,
) -> BatchJob:
    rendered = prepared.rendered
    tasks = [
        {"index": index, "state": JobState.SUBMITTING, "parameters": parameters}
        for index, parameters in enumerate(prepared.tasks or [])
    ]
    return BatchJob(
        id=batch_job_id,
        user_id=user.id,
        owner_id=user.id,
        name=prepared.name,
        environment=prepared.environment,
        resources=prepared.resources_json,
        cluster=context.settings.cluster_name,
        template=prepared.template,
        parameters=prepared.parameters,
        script=rendered.script,
        source=request.script,
        files=dict(rendered.files),
        body_hash=idempotent.digest,
        idempotency_key=idempotent.key,
        logdir=_check_logdir(request.logdir, prepared.workdir) or rendered.logdir,
        workdir=prepared.workdir,
        array_size=rendered.array,
        requeue=rendered.requeue,
        signal=rendered.signal,
        tasks=tasks if rendered.array else None,
    )


def _check_logdir(logdir: str | None, home: str) -> str | None:
    """Return the requested folder for TensorBoard, None without one. The job's own PORTAL_LOGDIR is
    not affected. Raises InvalidInput.
    """
    if logdir is None:
        return None
    return launch.normalize_path("logdir", logdir, home)


# --- submitting ---------------------------------------------------------------------------------


async def _insert_and_submit(
    context: AppContext, user: User, row: BatchJob, prepared: PreparedJob, ip: str
) -> PortalError | None:
    """Write a row and submit it; delete it if Slurm certainly refused the job. Returns the
    refusal.
    """
    job = await _insert(context, user, row, prepared, ip)
    context.notifier.notify(user.id)
    try:
        await launch.submit_job(context, job)
    except SpawnerError as error:
        if isinstance(error, Unreachable | LauncherUnavailable):
            await _set_reason(context, job, WAITS)
            return None
        await _delete(context, job)
        return launch.to_submission_error(context, user.username, launch.resources_of(job), error)
    finally:
        context.notifier.notify(user.id)
    return None


async def submit_again(
    context: AppContext, batch_job_id: str, lost: int | None = None, end: JobInfo | None = None
) -> None:
    """Submit a row again, for the reconcile loop. The result of its first submission is uncertain,
    or Slurm has lost its job with the id `lost`: it has forgotten the job, or ended it before the
    script began, as reported in `end`.

    If Slurm refuses it now, the job is marked as failed, because its request was answered long ago.
    """

    def modify(job: BatchJob) -> None:
        if job.job_id != lost or job.wanted is Wanted.STOP or job.state is JobState.ENDED:
            return
        if lost is not None:
            job.lost_jobs = [*(job.lost_jobs or ()), _to_lost_job(job, end)]
        job.state, job.job_id, job.submit_time = JobState.SUBMITTING, None, None
        job.node = job.started_at = job.expires_at = job.estimated_start = None
        job.usage = job.usage_due = job.claim_check_since = None
        job.nodes = []

    await update_row(context.db, BatchJob, batch_job_id, modify)
    async with context.db.session() as db:
        row = await db.get(BatchJob, batch_job_id, options=_LONG_COLUMNS)
    if row is None or row.wanted is Wanted.STOP or row.state is not JobState.SUBMITTING:
        return
    context.watcher.discard_lookups(row.id, row.user.username)
    try:
        await launch.submit_job(context, row)
    except SpawnerError as error:
        if isinstance(error, Unreachable | LauncherUnavailable):
            await _set_reason(context, row, WAITS)
            return
        username, resources = row.user.username, launch.resources_of(row)
        why = launch.to_submission_error(context, username, resources, error)

        def refuse(job: BatchJob) -> None:
            job.state, job.outcome, job.ended_at = JobState.ENDED, Outcome.FAILED, utcnow()
            job.reason, job.suggestion = why.detail, None

        await update_row(context.db, BatchJob, batch_job_id, refuse)
        log.warning("a saved job was refused", job=batch_job_id, error=error.message)
    finally:
        context.notifier.notify(row.user_id, row.id)


def _to_lost_job(job: BatchJob, end: JobInfo | None) -> dict[str, Any]:
    submit_time = end.submit_time if end else job.submit_time
    return {
        "job_id": job.job_id,
        "submit_time": submit_time.isoformat() if submit_time else None,
        "outcome": end.outcome if end else None,
    }


async def _set_reason(context: AppContext, row: BatchJob, reason: str) -> None:
    def modify(job: BatchJob) -> None:
        if job.state is JobState.SUBMITTING:
            job.reason = reason

    await update_row(context.db, BatchJob, row.id, modify)


async def _delete(context: AppContext, row: BatchJob) -> None:
    async with context.db.session() as db:
        current = await db.get(BatchJob, row.id)
        if current is not None:
            await db.delete(current)
            await db.commit()


# --- reading ------------------------------------------------------------------------------------

_LONG_COLUMNS = (undefer(BatchJob.script), undefer(BatchJob.source), undefer(BatchJob.files))


async def get(context: AppContext, user: User, batch_job_id: str) -> BatchJob:
    """Return a job of this user. Raises NotFound, also for jobs of other users."""
    async with context.db.session() as db:
        job = await db.get(BatchJob, batch_job_id)
    if job is None or job.user_id != user.id or job.removed_at is not None:
        raise NotFound("Job not found.")
    return job


async def load_ended(context: AppContext, user: User, ids: Collection[str]) -> list[BatchJob]:
    """Return the user's jobs with these IDs that have ended and are still on the list."""
    ended = BatchJob.state == JobState.ENDED, BatchJob.removed_at.is_(None)
    condition = BatchJob.user_id == user.id, BatchJob.id.in_(ids), *ended
    async with context.db.session() as db:
        return list((await db.scalars(listing.select_for_list().where(*condition))).all())


async def load_full(context: AppContext, job: BatchJob) -> BatchJob:
    """Return the job with the columns that lists leave out."""
    async with context.db.session() as db:
        full = await db.get(BatchJob, job.id, options=_LONG_COLUMNS)
    if full is None:
        raise NotFound("Job not found.")
    return full


# --- ending -------------------------------------------------------------------------------------

_OUTCOME_TEXTS = {
    Outcome.COMPLETED: "it completed",
    Outcome.FAILED: "it failed",
    Outcome.CANCELLED: "it was cancelled",
    Outcome.TIMEOUT: "it reached its time limit",
    Outcome.OUT_OF_MEMORY: "it ran out of memory",
    Outcome.NODE_FAILED: "its node failed",
}


def explain_already_ended(outcome: Outcome | None) -> str:
    """Return the reason why an ended job cannot be cancelled."""
    text = _OUTCOME_TEXTS.get(outcome, "it has finished") if outcome else "it has finished"
    return f"This job has already ended: {text}."


NOT_ENDED = "This job has not ended yet. Cancel it first."


async def cancel(context: AppContext, job: BatchJob, *, by: User, ip: str = "") -> BatchJob:
    """Request the end of a job; the reconcile loop carries it out. Idempotent. Raises Conflict for
    a job that has ended.
    """

    def modify(row: BatchJob) -> None:
        if row.state is JobState.ENDED:
            raise Conflict(explain_already_ended(row.outcome))
        row.wanted = Wanted.STOP
        row.state = JobState.STOPPING
        row.reason = row.suggestion = None  # the reason why it was waiting no longer matters
        row.stop_requested_at = row.stop_requested_at or utcnow()

    event = audit.prepare_job_event(audit.Action.JOB_CANCEL, job, by, ip)
    changed = await update_row(context.db, BatchJob, job.id, modify, event)
    context.notifier.notify(job.user_id, job.id, RECONCILE)
    return changed or job


async def remove(context: AppContext, job: BatchJob, *, by: User, ip: str = "") -> None:
    """Remove an ended job from its owner's list."""

    def modify(row: BatchJob) -> None:
        if row.state is not JobState.ENDED:
            raise Conflict(NOT_ENDED)
        row.removed_at = utcnow()

    event = audit.prepare_job_event(audit.Action.JOB_REMOVE, job, by, ip)
    await update_row(context.db, BatchJob, job.id, modify, event)
    context.notifier.notify(job.user_id)
