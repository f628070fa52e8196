"""TensorBoards: one per session or job, started on request, ended when not viewed any longer.

A row has the desired state; the reconcile loop starts and ends processes. Each run has an ID and a
secret of its own, so that nothing left over from an earlier run is taken for the current one.
"""

import hmac
import secrets
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from portal.background.notifier import RECONCILE
from portal.context import AppContext
from portal.db import utcnow
from portal.errors import Conflict, FieldError, Gone, LoginRequired, NotFound, invalid_input
from portal.models import (
    BatchJob,
    Job,
    JobState,
    Session,
    Tensorboard,
    TensorboardJob,
    TensorboardState,
    User,
    Wanted,
    new_id,
)
from portal.services.audit import audit
from portal.services.hashes import hash_token
from portal.services.slurm import certificates, launch
from portal.services.slurm.placement import node_address, where_it_runs
from portal.services.store import update_row
from spawner.errors import (
    LauncherUnavailable,
    PathRefused,
    Rejected,
    SpawnerError,
    Unreachable,
)
from spawner.slurm.model import Resources

LIVE = (TensorboardState.QUEUED, TensorboardState.STARTING, TensorboardState.RUNNING)
START_PATIENCE = timedelta(minutes=2)
TOUCH_EVERY = timedelta(seconds=30)
RUNS_SOMEWHERE = (JobState.STARTING, JobState.RUNNING)
NO_ALLOCATION = (JobState.STOPPING, JobState.ENDED, JobState.SUBMITTING, JobState.QUEUED)
"""States of a job that is ending, has ended, or was requeued: nothing runs in its allocation."""
LOOKED_AT = timedelta(minutes=10)
"""A user who viewed a TensorBoard within this time counts as still viewing it."""
SERVICE_MEMORY_GB = 2.0
SERVICE_MINUTES = 8 * 60
SILENCE = timedelta(seconds=60)
MOVES = "Its session or job has ended. It is moving to its own Slurm job and will open here again."
ENDED_UNWATCHED = "Its session or job has ended, and it was not in use. You can start it again."
HOST_ENDED = "Its allocation has ended."
NO_PARTITION = "no-service-partition"
STARTING = {TensorboardState.QUEUED, TensorboardState.STARTING}
NO_SERVICE_PARTITION = (
    "This has ended, and no partition is configured for TensorBoards of ended sessions and jobs."
)


async def load_tensorboard(context: AppContext, parent: Job) -> Tensorboard | None:
    """Return the TensorBoard of a session or job, if there ever was one."""
    async with context.db.session() as db:
        query = select(Tensorboard).where(Tensorboard.parent_id == parent.id)
        return (await db.scalars(query)).first()


async def load_tensorboards(context: AppContext, parents: list[str]) -> dict[str, Tensorboard]:
    """Return the TensorBoards of several sessions or jobs, by the parent's ID."""
    async with context.db.session() as db:
        rows = await db.scalars(select(Tensorboard).where(Tensorboard.parent_id.in_(parents)))
        return {board.parent_id: board for board in rows}


async def request_start(
    context: AppContext, parent: Job, user: User, logdir: str | None, ip: str = ""
) -> Tensorboard:
    """Request that a TensorBoard runs. Idempotent; another logdir restarts it."""
    chosen = await _check_logdir(context, parent, logdir) if logdir is not None else None
    board = await load_tensorboard(context, parent) or await _insert(context, parent, user, chosen)
    fresh_run = _new_run()

    def modify(row: Tensorboard) -> None:
        row.last_request_at = utcnow()
        moved = chosen is not None and chosen != row.logdir
        if row.wanted and row.state in LIVE and not moved:
            return
        row.logdir = chosen or row.logdir
        _reset_run(row, fresh_run, None)

    event = audit.job_event(audit.Action.TENSORBOARD_START, parent, user, ip)

    def record_event(db: AsyncSession, row: Tensorboard) -> None:
        if row.run_id == fresh_run[0]:
            event(db, row)

    changed = await update_row(context.db, Tensorboard, board.id, modify, record_event)
    if changed is None:
        raise NotFound
    context.notifier.notify(parent.user_id, board.id, RECONCILE)
    return changed


def _new_run() -> tuple[str, str]:
    """Return the ID of a new run and its key for signing requests, which are never reused."""
    return new_id(), secrets.token_urlsafe(32)


def _reset_run(row: Tensorboard, run: tuple[str, str], reason: str | None) -> None:
    row.wanted, row.state, row.reason = True, TensorboardState.STARTING, reason
    row.run_id, row.guard_key = run
    row.secret_hash = ""
    row.host = row.port = row.tls_name = row.started_at = row.own_job_id = None


async def ensure(context: AppContext, parent: Job, user: User) -> Tensorboard:
    """Return the row of a parent's TensorBoard, which is created if it does not exist. Raises
    InvalidInput if the folder to show is unknown.
    """
    return await load_tensorboard(context, parent) or await _insert(context, parent, user, None)


async def request_stop(context: AppContext, board: Tensorboard, user: User, ip: str = "") -> None:
    """Request the end of a TensorBoard."""
    event = audit.job_event(audit.Action.TENSORBOARD_STOP, board.parent, user, ip)
    await _stop(context, board, None, record_event=event)


async def _check_logdir(context: AppContext, parent: Job, logdir: str) -> str:
    """Return the path of a folder after checking, as the owner, that the owner may read it. Raises
    InvalidInput.
    """
    owner = parent.user.username
    try:
        path = launch.checked_path("logdir", logdir, (await context.launchers.info(owner)).home)
        exists = await context.launchers.folder_exists(owner, path)
    except PathRefused as error:
        raise invalid_input([FieldError("logdir", error.message)]) from error
    except SpawnerError as error:
        raise launch.to_launch_error(error) from error
    if not exists and parent.state is JobState.ENDED:
        raise invalid_input([FieldError("logdir", f"The folder {path} does not exist.")])
    return path


async def authenticated(context: AppContext, board_id: str, secret: str) -> Tensorboard:
    """Return the TensorBoard with this secret. Raises LoginRequired without giving the reason."""
    async with context.db.session() as db:
        board = await db.get(Tensorboard, board_id)
    expected = board.secret_hash if board is not None else ""
    if board is None or not hmac.compare_digest(expected.encode(), hash_token(secret).encode()):
        raise LoginRequired("This address requires the TensorBoard's secret.")
    return board


async def hello(
    context: AppContext, board: Tensorboard, port: int, request: str | None = None
) -> str | None:
    """Record that the node program listens on `port`; its host is taken from Slurm. Returns the
    certificate that it requests, if the site uses TLS on nodes. Raises Conflict until Slurm reports
    where the job runs.
    """
    check_wanted(board)
    info = await where_it_runs(context, await host_job(context, board))
    host = node_address(context, info)
    name = certificates.name_of(board)
    certificate = certificates.issue_first(context, name, request, info)

    def modify(row: Tensorboard) -> None:
        if row.run_id == board.run_id and row.wanted:
            row.host, row.port = host, port
            row.tls_name = name if certificate else None
            row.state, row.reason = TensorboardState.RUNNING, None
            row.last_request_at = utcnow()

    await update_row(context.db, Tensorboard, board.id, modify)
    context.notifier.notify(board.user_id, board.id)
    return certificate


async def certify(context: AppContext, board: Tensorboard, request: str) -> str:
    """Return a certificate to replace one that expires soon. Raises Conflict, InvalidInput,
    Unavailable.
    """
    check_wanted(board)
    info = await where_it_runs(context, await host_job(context, board))
    return certificates.sign(context, certificates.name_of(board), request, info)


async def wait_while_wanted(context: AppContext, board: Tensorboard, wait_s: float) -> None:
    """Return after `wait_s`, or raise Gone as soon as this run is no longer wanted.

    This request is also the run's heartbeat: nothing else reports a process that was killed.
    """
    requested_at, heartbeats = utcnow(), context.tensorboard_heartbeats
    async with context.notifier.listen(board.id) as listener:
        while True:
            async with context.db.session() as db:
                row = await db.get(Tensorboard, board.id)
            if row is None or row.run_id != board.run_id:
                raise Gone
            check_wanted(row)
            heartbeats[board.run_id] = max(requested_at, heartbeats.get(board.run_id, requested_at))
            if not await listener.wait(wait_s):
                return


def check_wanted(board: Tensorboard) -> None:
    """Raise Gone for a run that should end."""
    if not board.wanted:
        raise Gone


def is_silent(context: AppContext, board: Tensorboard, host: Job, now: datetime) -> bool:
    """Return whether a running TensorBoard's program has sent no request for longer than it ever
    waits. The time is counted from the start of the portal or the last suspension of the job that
    it runs in, whichever is later.
    """
    if host.state is JobState.SUSPENDED:
        context.tensorboard_heartbeats[board.run_id] = now
        return False
    return now - context.tensorboard_heartbeats.setdefault(board.run_id, now) > SILENCE


async def try_again_or_fail(context: AppContext, board: Tensorboard, error: SpawnerError) -> None:
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
    inside = parent.state in RUNS_SOMEWHERE and parent.node is not None
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
    await _stop(context, board, reason, TensorboardState.FAILED)


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


async def clear_address(context: AppContext, board: Tensorboard) -> None:
    """Record that the program ends, and clear its address: it holds its port until this request is
    answered, and no browser must be sent there afterwards. The fate of the run follows from the end
    of its allocation or from its silence.
    """

    def modify(row: Tensorboard) -> None:
        if row.run_id == board.run_id:
            row.host = row.port = None

    await update_row(context.db, Tensorboard, board.id, modify)


async def end_run(context: AppContext, board: Tensorboard, reason: str) -> None:
    """End this run with a reason for its owner."""
    await _stop(context, board, reason)


async def touch(context: AppContext, board_id: str, now: datetime) -> None:
    """Record that a user is viewing it. Called at most every TOUCH_EVERY per TensorBoard."""

    def modify(row: Tensorboard) -> None:
        row.last_request_at = now

    await update_row(context.db, Tensorboard, board_id, modify)


async def _stop(
    context: AppContext,
    board: Tensorboard,
    reason: str | None,
    state: TensorboardState = TensorboardState.STOPPED,
    record_event: Callable[[AsyncSession, Tensorboard], None] | None = None,
) -> None:
    def modify(row: Tensorboard) -> None:
        if row.run_id == board.run_id:
            row.wanted, row.state, row.reason = False, state, reason
            row.host = row.port = None

    context.tensorboard_heartbeats.pop(board.run_id, None)
    await update_row(context.db, Tensorboard, board.id, modify, record_event)
    if board.own_job_id is not None:
        await update_row(context.db, TensorboardJob, board.own_job_id, _mark_stopping)
    context.notifier.notify(board.user_id, board.id, RECONCILE)


def _mark_stopping(job: TensorboardJob) -> None:
    if job.state is not JobState.ENDED:
        job.wanted, job.stop_requested_at = Wanted.STOP, utcnow()


def host_job_ended(board: Tensorboard, host: Job) -> bool:
    """Return whether the allocation that this run lives in has ended; `host` is its job."""
    if board.own_job_id is None:
        return host.state in NO_ALLOCATION
    return host.state is JobState.ENDED and board.state is TensorboardState.RUNNING


async def migrate_to_service_job(context: AppContext, board: Tensorboard, now: datetime) -> None:
    """Handle a run whose allocation has ended.

    A run in the allocation of its session or job moves to the service partition if a user is
    viewing it; every other run ends with a reason. A run that had a job of its own is not repeated:
    what ended it would end the next one too.
    """
    viewed_at = board.last_request_at
    if board.own_job_id is not None:
        await end_run(context, board, HOST_ENDED)
    elif context.settings.service_partition is None:
        await end_run(context, board, NO_SERVICE_PARTITION)
    elif viewed_at is None or now - viewed_at > LOOKED_AT:
        await end_run(context, board, ENDED_UNWATCHED)
    else:
        await _move_to_service_job(context, board, now)


async def _move_to_service_job(context: AppContext, board: Tensorboard, now: datetime) -> None:
    run = _new_run()

    def modify(row: Tensorboard) -> None:
        if row.run_id == board.run_id and row.wanted:
            _reset_run(row, run, MOVES)
            row.last_request_at = now

    context.tensorboard_heartbeats.pop(board.run_id, None)
    await update_row(context.db, Tensorboard, board.id, modify)
    context.notifier.notify(board.user_id, board.id, RECONCILE)


async def host_job(context: AppContext, board: Tensorboard) -> Job:
    """Return the Slurm job that this run lives in: its own, or its parent's."""
    if board.own_job_id is None:
        return board.parent
    async with context.db.session() as db:
        return await db.get_one(TensorboardJob, board.own_job_id)


async def load_host_jobs(context: AppContext, boards: Sequence[Tensorboard]) -> dict[str, Job]:
    """Return the Slurm job of each of these runs, like `host_job`, by TensorBoard ID; a job that
    was removed since is missing.
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


async def _insert(context: AppContext, parent: Job, user: User, logdir: str | None) -> Tensorboard:
    board = Tensorboard(
        parent_id=parent.id, user_id=user.id, logdir=logdir or parent_logdir(parent), wanted=False
    )
    async with context.db.session() as db:
        db.add(board)
        try:
            await db.commit()
        except IntegrityError as error:  # a concurrent request
            existing = await load_tensorboard(context, parent)
            if existing is None:
                raise Conflict("This TensorBoard is being created. Try again.") from error
            return existing
    return board


def parent_logdir(parent: Job) -> str:
    """Return PORTAL_LOGDIR of the session or job. Raises InvalidInput if it is unknown."""
    if isinstance(parent, Session | BatchJob) and parent.logdir:
        return parent.logdir
    text = "The portal doesn't know this job's log folder: specify the folder."
    raise invalid_input([FieldError("logdir", text)])
