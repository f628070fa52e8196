"""Runs of TensorBoards: states, start, end, and the move to a job of its own.

The reconcile loop starts and ends the processes: in the allocation of the TensorBoard's parent,
which is its session or job, or in a job of its own in the service partition. Each run has an ID and
a secret of its own, so that nothing left over from an earlier run is taken for the current one.
"""

import secrets
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from portal.background.notifier import RECONCILE
from portal.context import AppContext
from portal.db import utcnow
from portal.models import (
    BatchJob,
    Job,
    JobState,
    Tensorboard,
    TensorboardJob,
    TensorboardState,
    Wanted,
    new_id,
)
from portal.services.slurm import launch
from portal.services.store import update_row
from spawner.errors import (
    LauncherUnavailable,
    Rejected,
    SpawnerError,
    Unreachable,
)
from spawner.slurm.model import Resources

LIVE = (TensorboardState.QUEUED, TensorboardState.STARTING, TensorboardState.RUNNING)
START_PATIENCE = timedelta(minutes=2)
HAS_ALLOCATION = (JobState.STARTING, JobState.RUNNING)
"""States of a job in whose allocation a TensorBoard can be started."""
NO_ALLOCATION = (JobState.STOPPING, JobState.ENDED, JobState.SUBMITTING, JobState.QUEUED)
"""States of a job that is ending, has ended, or was requeued: nothing runs in its allocation."""
VIEWED_WITHIN = timedelta(minutes=10)
"""A user who viewed a TensorBoard within this time counts as still viewing it."""
SERVICE_MEMORY_GB = 2.0
SERVICE_MINUTES = 8 * 60
MAX_SILENCE = timedelta(seconds=60)
MOVES = "Its session or job has ended. It is moving to its own Slurm job and will open here again."
ENDED_UNWATCHED = "Its session or job has ended, and it was not in use. You can start it again."
ALLOCATION_ENDED = "Its allocation has ended."
NO_PARTITION = "no-service-partition"  # code of the refusal with the text NO_SERVICE_PARTITION
STARTING = {TensorboardState.QUEUED, TensorboardState.STARTING}
NO_SERVICE_PARTITION = (
    "This has ended, and no partition is configured for TensorBoards of ended sessions and jobs."
)


def new_run() -> tuple[str, str]:
    """Return the ID of a new run and its key for signing requests, which are never reused."""
    return new_id(), secrets.token_urlsafe(32)


def reset_run(row: Tensorboard, run: tuple[str, str], reason: str | None) -> None:
    """Change a row so that the reconcile loop starts this new run."""
    row.wanted, row.state, row.reason = True, TensorboardState.STARTING, reason
    row.run_id, row.guard_key = run
    row.secret_hash = ""
    row.host = row.port = row.tls_name = row.started_at = row.own_job_id = None


def is_silent(context: AppContext, board: Tensorboard, host_job: Job, now: datetime) -> bool:
    """Return whether a running TensorBoard's program has sent no request for longer than it ever
    waits. The time is counted from the start of the portal or the last suspension of the job that
    it runs in, whichever is later.
    """
    if host_job.state is JobState.SUSPENDED:
        context.tensorboard_heartbeats[board.run_id] = now
        return False
    return now - context.tensorboard_heartbeats.setdefault(board.run_id, now) > MAX_SILENCE


async def retry_or_fail_start(context: AppContext, board: Tensorboard, error: SpawnerError) -> None:
    """Handle a start that was refused: retry for a while, because after a restart slurmctld refuses
    every step for some time.
    """
    requested_at = board.last_request_at
    is_transient = isinstance(error, Unreachable | LauncherUnavailable) or (
        isinstance(error, Rejected) and error.code != NO_PARTITION
    )
    if not is_transient or requested_at is None or utcnow() - requested_at > START_PATIENCE:
        await mark_failed(context, board, error.message)
        return

    def modify(row: Tensorboard) -> None:
        if row.run_id == board.run_id:
            row.started_at = None

    await update_row(context.db, Tensorboard, board.id, modify)


async def start_process(context: AppContext, board: Tensorboard) -> None:
    """Start the process: in the parent's allocation while that runs, else in a job of its own.

    Raises the spawner's errors. Marks the run as started before submitting it: a second process
    would be refused by the run's folder anyway, while an unrecorded one would never be looked for.
    """
    parent = board.parent
    inside = parent.state in HAS_ALLOCATION and parent.node is not None
    if inside and await _is_array(context, parent):
        inside = False  # its first task ends long before its last
    job = None if inside else await _find_or_create_job(context, board)

    def modify(row: Tensorboard) -> None:
        if row.run_id == board.run_id:
            row.started_at = utcnow()
            row.own_job_id = job.id if job else None

    await update_row(context.db, Tensorboard, board.id, modify)
    if job is None:
        await launch.step_tensorboard(context, board)
    else:
        await launch.submit_tensorboard(context, job, board)


async def _is_array(context: AppContext, parent: Job) -> bool:
    query = select(BatchJob.array_size).where(BatchJob.id == parent.id)
    async with context.db.session() as db:
        return (await db.scalars(query)).first() is not None


async def _find_or_create_job(context: AppContext, board: Tensorboard) -> TensorboardJob:
    """Return the row of a TensorBoard's own job; its ID is the run's, so a second attempt
    finds it.
    """
    partition = context.settings.service_partition
    if partition is None:
        raise Rejected(NO_PARTITION, NO_SERVICE_PARTITION)
    resources = Resources(
        partition=partition, cpus=1, memory_gb=SERVICE_MEMORY_GB, time_limit_minutes=SERVICE_MINUTES
    )
    job = TensorboardJob(
        id=board.run_id,
        user_id=board.user_id,
        name="tensorboard",
        resources=launch.resources_to_json(resources),
        cluster=context.settings.cluster_name,
    )
    async with context.db.session() as db:
        if (existing := await db.get(TensorboardJob, job.id)) is not None:
            return existing
        db.add(job)
        await db.commit()
        await db.refresh(job)
    return job


async def mark_failed(context: AppContext, board: Tensorboard, reason: str) -> None:
    """Mark this run as failed."""
    await end_run(context, board, reason, TensorboardState.FAILED)


async def mark_queued(context: AppContext, board: Tensorboard, reason: str | None) -> None:
    """Record that the run's own job waits in Slurm's queue."""
    await _set_state(context, board, TensorboardState.QUEUED, reason)


async def mark_starting(context: AppContext, board: Tensorboard) -> None:
    """Record that the run's own job has left Slurm's queue."""
    await _set_state(context, board, TensorboardState.STARTING, None)


async def _set_state(
    context: AppContext, board: Tensorboard, state: TensorboardState, reason: str | None
) -> None:
    if (board.state, board.reason) == (state, reason):
        return

    def modify(row: Tensorboard) -> None:
        if row.run_id == board.run_id and row.wanted and row.state in STARTING:
            row.state, row.reason = state, reason

    await update_row(context.db, Tensorboard, board.id, modify)
    context.notifier.notify(board.user_id, board.id)


async def end_run(
    context: AppContext,
    board: Tensorboard,
    reason: str | None,
    state: TensorboardState = TensorboardState.STOPPED,
    record_event: Callable[[AsyncSession, Tensorboard], None] | None = None,
) -> None:
    """End this run, with a reason for its owner; `record_event` adds an audit event."""

    def modify(row: Tensorboard) -> None:
        if row.run_id == board.run_id:
            row.wanted, row.state, row.reason = False, state, reason
            row.host = row.port = None

    context.tensorboard_heartbeats.pop(board.run_id, None)
    await update_row(context.db, Tensorboard, board.id, modify, record_event)
    if board.own_job_id is not None:
        await update_row(context.db, TensorboardJob, board.own_job_id, _request_job_stop)
    context.notifier.notify(board.user_id, board.id, RECONCILE)


def _request_job_stop(job: TensorboardJob) -> None:
    if job.state is not JobState.ENDED:
        job.wanted, job.stop_requested_at = Wanted.STOP, utcnow()


def host_job_ended(board: Tensorboard, host_job: Job) -> bool:
    """Return whether the allocation that this run lives in has ended; `host_job` is the job that
    has it. False for a job of its own that ended before TensorBoard ran: that is a failed start
    (background/tensorboard_reconciler.py).
    """
    if board.own_job_id is None:
        return host_job.state in NO_ALLOCATION
    return host_job.state is JobState.ENDED and board.state is TensorboardState.RUNNING


async def handle_ended_allocation(context: AppContext, board: Tensorboard, now: datetime) -> None:
    """Move or end a run whose allocation has ended.

    A run in the allocation of its session or job moves to the service partition if a user is
    viewing it; every other run ends with a reason. A run that had a job of its own is not repeated:
    what ended it would end the next one too.
    """
    viewed_at = board.last_request_at
    if board.own_job_id is not None:
        await end_run(context, board, ALLOCATION_ENDED)
    elif context.settings.service_partition is None:
        await end_run(context, board, NO_SERVICE_PARTITION)
    elif viewed_at is None or now - viewed_at > VIEWED_WITHIN:
        await end_run(context, board, ENDED_UNWATCHED)
    else:
        await _move_to_service_job(context, board, now)


async def _move_to_service_job(context: AppContext, board: Tensorboard, now: datetime) -> None:
    run = new_run()

    def modify(row: Tensorboard) -> None:
        if row.run_id == board.run_id and row.wanted:
            reset_run(row, run, MOVES)
            row.last_request_at = now

    context.tensorboard_heartbeats.pop(board.run_id, None)
    await update_row(context.db, Tensorboard, board.id, modify)
    context.notifier.notify(board.user_id, board.id, RECONCILE)


async def load_host_job(context: AppContext, board: Tensorboard) -> Job:
    """Return the Slurm job that this run lives in: its own, or its parent's."""
    if board.own_job_id is None:
        return board.parent
    async with context.db.session() as db:
        return await db.get_one(TensorboardJob, board.own_job_id)


async def load_host_jobs(context: AppContext, boards: Sequence[Tensorboard]) -> dict[str, Job]:
    """Return the Slurm job of each of these runs, by TensorBoard ID; a job that was removed since
    is missing.
    """
    ids = [board.own_job_id for board in boards if board.own_job_id is not None]
    jobs: dict[str, Job] = {}
    if ids:
        async with context.db.session() as db:
            rows = await db.scalars(select(TensorboardJob).where(TensorboardJob.id.in_(ids)))
            jobs = {row.id: row for row in rows}
    return {
        board.id: board.parent if board.own_job_id is None else jobs[board.own_job_id]
        for board in boards
        if board.own_job_id is None or board.own_job_id in jobs
    }
