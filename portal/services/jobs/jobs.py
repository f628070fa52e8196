"""Batch jobs as their owner knows them: submit, look at, cancel, take off the list.

A job's row, with all that is to be submitted, is written before Slurm hears of it. The request
that wrote it submits it; when that comes to no certain end (Slurm or the portal died), the row
stays as it is and the reconcile loop submits it once it is certain that Slurm hasn't got it.
"""

from collections.abc import Collection
from dataclasses import asdict
from functools import partial

import structlog
from sqlalchemy import select
from sqlalchemy.orm import undefer

from portal.db import utcnow
from portal.errors import Conflict, NotFound, PortalError
from portal.models import BatchJob, JobState, User, Wanted, new_id
from portal.parts import Parts
from portal.services import once
from portal.services.audit import audit
from portal.services.changes import RECONCILE
from portal.services.jobs import recipes
from portal.services.jobs.recipes import Recipe, Wish
from portal.services.limits import allowances
from portal.services.once import Once
from portal.services.slurm import launch
from portal.services.store import change
from spawner.errors import LauncherUnavailable, SpawnerError, Unreachable
from spawner.model import Outcome

log = structlog.get_logger(__name__)

ANSWER_WITHIN_S = 20.0  # a request that submits is answered by then, whatever Slurm does
WAITS = "Slurm does not answer at the moment. The job is kept, and submitted when it does."


async def create(
    parts: Parts, user: User, wish: Wish, key: str | None = None, ip: str = ""
) -> BatchJob:
    """Submit a job; the same wish under the same key is the same job.

    Raises InvalidInput with the fields, Conflict for a key that came with another wish,
    LimitReached, and what submitting raises while it is certain that Slurm has no job.
    """
    asked = Once.of(asdict(wish), key)
    if (found := await asked.settled(parts, BatchJob, user, ANSWER_WITHIN_S)) is not None:
        return found
    job_id = new_id()
    recipe = await recipes.prepare(parts, user, wish, job_id)

    async def insert() -> BatchJob:
        row = _row(parts, user, wish, recipe, job_id, asked)
        await _insert(parts, user, row, recipe, ip)
        return row

    with once.submission(parts, job_id, partial(_first_try, parts)) as written:
        row, new = await asked.insert(parts, BatchJob, user, insert, ANSWER_WITHIN_S)
        if not new:
            return row
        parts.changes.notify(user.id)
        written.set_result(await with_script(parts, row))
        await once.wait(parts, job_id, ANSWER_WITHIN_S)
    return await get(parts, user, job_id)


async def _insert(parts: Parts, user: User, row: BatchJob, recipe: Recipe, ip: str) -> None:
    """Write the row. Raises LimitReached, and IntegrityError for a key that is there already."""
    detail = {"template": recipe.template, "resources": recipe.kept_resources}
    target = f"{user.username}/{recipe.name}"
    async with parts.db.session() as db:
        await allowances.check_room(db, user, recipe.allowance, jobs=row.array_size or 1)
        db.add(row)
        audit.record(db, audit.Action.JOB_SUBMIT, actor=user, target=target, detail=detail, ip=ip)
        await db.commit()


def _row(
    parts: Parts, user: User, wish: Wish, recipe: Recipe, job_id: str, asked: Once
) -> BatchJob:
    rendered = recipe.rendered
    tasks = [
        {"index": index, "state": JobState.SUBMITTING, "parameters": parameters}
        for index, parameters in enumerate(recipe.tasks or [])
    ]
    return BatchJob(
        id=job_id,
        user_id=user.id,
        owner_id=user.id,
        name=recipe.name,
        environment=recipe.environment,
        resources=recipe.kept_resources,
        cluster=parts.settings.cluster_name,
        template=recipe.template,
        parameters=recipe.parameters,
        script=rendered.script,
        source=wish.script,
        files=dict(rendered.files),
        body_hash=asked.digest,
        idempotency_key=asked.key,
        logdir=_checked_logdir(wish.logdir, recipe.workdir) or rendered.logdir,
        workdir=recipe.workdir,
        array_size=rendered.array,
        requeue=rendered.requeue,
        signal=rendered.signal,
        tasks=tasks if rendered.array else None,
    )


def _checked_logdir(logdir: str | None, home: str) -> str | None:
    """The folder that TensorBoard is to show; the job's own PORTAL_LOGDIR stays what it is."""
    if logdir is None:
        return None
    return launch.checked_path("logdir", logdir, home)


# --- submitting ---------------------------------------------------------------------------------


async def _first_try(parts: Parts, row: BatchJob) -> PortalError | None:
    """Submit a new row; what Slurm surely refused leaves no row. Returns the refusal."""
    try:
        await launch.submit_job(parts, row)
    except SpawnerError as error:
        if isinstance(error, Unreachable | LauncherUnavailable):
            await _say(parts, row, WAITS)
            return None
        await _forget(parts, row)
        return launch.explained(error)
    finally:
        parts.submitting.pop(row.id, None)
        parts.changes.notify(row.user_id, row.id, RECONCILE)
    return None


async def submit_again(parts: Parts, job_id: str, lost: int | None = None) -> None:
    """For the reconcile loop: submit a row whose first try came to no certain end, or whose job
    `lost` Slurm has forgotten. What Slurm refuses now has failed, for its request was answered long
    ago."""

    def apply(job: BatchJob) -> None:
        if job.job_id == lost and job.wanted is Wanted.RUN and job.state is not JobState.ENDED:
            job.state, job.job_id, job.submit_time = JobState.SUBMITTING, None, None
            job.node = job.started_at = job.expires_at = job.estimated_start = None

    await change(parts.db, BatchJob, job_id, apply)
    async with parts.db.session() as db:
        row = await db.get(BatchJob, job_id, options=_WHOLE)
    if row is None or row.wanted is Wanted.STOP or row.state is not JobState.SUBMITTING:
        return
    parts.watcher.forget(row.id, row.user.username)
    try:
        await launch.submit_job(parts, row)
    except SpawnerError as error:
        if isinstance(error, Unreachable | LauncherUnavailable):
            await _say(parts, row, WAITS)
            return
        why = launch.explained(error)

        def refuse(job: BatchJob) -> None:
            job.state, job.outcome, job.ended_at = JobState.ENDED, Outcome.FAILED, utcnow()
            job.reason, job.advice = why.detail, None

        await change(parts.db, BatchJob, job_id, refuse)
        log.warning("a kept job was refused", job=job_id, error=error.message)
    finally:
        parts.changes.notify(row.user_id, row.id)


async def _say(parts: Parts, row: BatchJob, reason: str) -> None:
    def apply(job: BatchJob) -> None:
        if job.state is JobState.SUBMITTING:
            job.reason = reason

    await change(parts.db, BatchJob, row.id, apply)


async def _forget(parts: Parts, row: BatchJob) -> None:
    async with parts.db.session() as db:
        found = await db.get(BatchJob, row.id)
        if found is not None:
            await db.delete(found)
            await db.commit()


# --- reading ------------------------------------------------------------------------------------

_WHOLE = (undefer(BatchJob.script), undefer(BatchJob.source), undefer(BatchJob.files))


async def get(parts: Parts, user: User, job_id: str) -> BatchJob:
    """One's own job; raises NotFound for everyone else's too."""
    async with parts.db.session() as db:
        job = await db.get(BatchJob, job_id)
    if job is None or job.user_id != user.id or job.removed_at is not None:
        raise NotFound("There is no such job of yours.")
    return job


async def ended_of(parts: Parts, user: User, ids: Collection[str]) -> list[BatchJob]:
    """Those of one's own jobs with these ids that have ended, and are still on one's list."""
    ended = BatchJob.state == JobState.ENDED, BatchJob.removed_at.is_(None)
    mine = BatchJob.user_id == user.id, BatchJob.id.in_(ids), *ended
    async with parts.db.session() as db:
        return list((await db.scalars(select(BatchJob).where(*mine))).all())


async def with_script(parts: Parts, job: BatchJob) -> BatchJob:
    """The job with the columns that lists leave out."""
    async with parts.db.session() as db:
        found = await db.get(BatchJob, job.id, options=_WHOLE)
    if found is None:
        raise NotFound("There is no such job of yours.")
    return found


# --- ending -------------------------------------------------------------------------------------

_ENDED = {
    Outcome.COMPLETED: "it completed",
    Outcome.FAILED: "it failed",
    Outcome.CANCELLED: "it was cancelled",
    Outcome.TIMEOUT: "it reached its time limit",
    Outcome.OUT_OF_MEMORY: "it ran out of memory",
    Outcome.NODE_FAILED: "its node failed",
}


def has_ended(outcome: Outcome | None) -> str:
    """Why an ended job can't be cancelled."""
    how = _ENDED.get(outcome, "it is over") if outcome else "it is over"
    return f"This job has ended already: {how}."


NOT_ENDED = "This job has not ended yet. Cancel it first."


async def cancel(parts: Parts, job: BatchJob, *, by: User, ip: str = "") -> BatchJob:
    """Ask for a job's end; the reconcile loop brings it about. Asking twice is no mistake; what
    has ended can't be cancelled (Conflict)."""

    def apply(row: BatchJob) -> None:
        if row.state is JobState.ENDED:
            raise Conflict(has_ended(row.outcome))
        row.wanted = Wanted.STOP
        row.state = JobState.STOPPING
        row.reason = row.advice = None  # why it waited is no longer what matters
        row.stop_requested_at = row.stop_requested_at or utcnow()

    event = audit.of_job(audit.Action.JOB_CANCEL, job, by, ip)
    changed = await change(parts.db, BatchJob, job.id, apply, event)
    parts.changes.notify(job.user_id, job.id, RECONCILE)
    return changed or job


async def remove(parts: Parts, job: BatchJob, *, by: User, ip: str = "") -> None:
    """Take an ended job off its owner's list."""

    def apply(row: BatchJob) -> None:
        if row.state is not JobState.ENDED:
            raise Conflict(NOT_ENDED)
        row.removed_at = utcnow()

    event = audit.of_job(audit.Action.JOB_REMOVE, job, by, ip)
    await change(parts.db, BatchJob, job.id, apply, event)
    parts.changes.notify(job.user_id)
