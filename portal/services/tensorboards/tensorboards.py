"""TensorBoards: one for each session or job, started when asked for, ended when nobody looks.

A row says what should be; the reconcile loop starts and ends processes. Each run has an id and a
secret of its own, so that nothing left over from an earlier run is taken for this one.
"""

import hmac
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

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
from portal.parts import Parts
from portal.services.audit import audit
from portal.services.changes import RECONCILE
from portal.services.sessions import certificates
from portal.services.sessions.nodes import node_address, where_it_runs
from portal.services.slurm import launch
from portal.services.store import change
from spawner.errors import (
    LauncherUnavailable,
    PathRefused,
    Rejected,
    SpawnerError,
    Unreachable,
)
from spawner.model import Resources

LIVE = (TensorboardState.QUEUED, TensorboardState.STARTING, TensorboardState.RUNNING)
START_PATIENCE = timedelta(minutes=2)
TOUCH_EVERY = timedelta(seconds=30)
RUNS_SOMEWHERE = (JobState.STARTING, JobState.RUNNING)
NO_HOME = (JobState.STOPPING, JobState.ENDED, JobState.SUBMITTING, JobState.QUEUED)
"""A job that ends, has ended, or was put back into the queue: nothing lives in its allocation."""
LOOKED_AT = timedelta(minutes=10)
"""Whoever looked at a TensorBoard within this time is taken to be looking still."""
SERVICE_MEMORY_GB = 2.0
SERVICE_MINUTES = 8 * 60
SILENCE = timedelta(seconds=60)
MOVES = "What it ran in has ended, so it moves to a place of its own and opens here again."
NOBODY_LOOKED = "What it ran in has ended, and nobody was looking. You can start it again."
HOST_ENDED = "The allocation it ran in has ended."
NO_PARTITION = "no-service-partition"
NO_SERVICE_PARTITION = (
    "This has ended, and the site names no partition for TensorBoards of what has ended."
)


async def of_parent(parts: Parts, parent: Job) -> Tensorboard | None:
    """The TensorBoard of a session or job, if there ever was one."""
    async with parts.db.session() as db:
        query = select(Tensorboard).where(Tensorboard.parent_id == parent.id)
        return (await db.scalars(query)).first()


async def of_parents(parts: Parts, parents: list[str]) -> dict[str, Tensorboard]:
    """The TensorBoards of several sessions or jobs, by the parent's id."""
    async with parts.db.session() as db:
        found = await db.scalars(select(Tensorboard).where(Tensorboard.parent_id.in_(parents)))
        return {board.parent_id: board for board in found}


async def want(
    parts: Parts, parent: Job, user: User, logdir: str | None, ip: str = ""
) -> Tensorboard:
    """Have a TensorBoard run, or be on its way. Repeatable; another logdir restarts it."""
    chosen = await _checked(parts, parent, logdir) if logdir is not None else None
    board = await of_parent(parts, parent) or await _insert(parts, parent, user, chosen)
    fresh_run = _fresh_run()

    def apply(row: Tensorboard) -> None:
        row.last_request_at = utcnow()
        moved = chosen is not None and chosen != row.logdir
        if row.wanted and row.state in LIVE and row.secret and not moved:
            return
        row.logdir = chosen or row.logdir
        _begin_anew(row, fresh_run, None)

    event = audit.of_job(audit.Action.TENSORBOARD_START, parent, user, ip)

    def also(db: AsyncSession, row: Tensorboard) -> None:
        if row.run_id == fresh_run[0]:
            event(db, row)

    changed = await change(parts.db, Tensorboard, board.id, apply, also)
    if changed is None:
        raise NotFound
    parts.changes.notify(parent.user_id, board.id, RECONCILE)
    return changed


def _fresh_run() -> tuple[str, str]:
    """The id and the secret of a run: never those of an earlier one."""
    return new_id(), secrets.token_urlsafe(32)


def _begin_anew(row: Tensorboard, run: tuple[str, str], reason: str | None) -> None:
    row.wanted, row.state, row.reason = True, TensorboardState.STARTING, reason
    row.run_id, row.secret = run
    row.host = row.port = row.tls_name = row.started_at = row.slurm_job = None


async def ensure(parts: Parts, parent: Job, user: User) -> Tensorboard:
    """The row of a parent's TensorBoard, whether it was ever wanted or not. Raises InvalidInput if
    nobody knows which folder it would show."""
    return await of_parent(parts, parent) or await _insert(parts, parent, user, None)


async def unwant(parts: Parts, board: Tensorboard, user: User, ip: str = "") -> None:
    """End a TensorBoard."""
    event = audit.of_job(audit.Action.TENSORBOARD_STOP, board.parent, user, ip)
    await _stop(parts, board, None, also=event)


async def _checked(parts: Parts, parent: Job, logdir: str) -> str:
    """A folder that the owner may look into, asked as the owner. Raises InvalidInput."""
    owner = parent.user.username
    try:
        path = launch.checked_path("logdir", logdir, (await parts.agents.info(owner)).home)
        there = await parts.agents.look(owner, path)
    except PathRefused as error:
        raise invalid_input([FieldError("logdir", error.message)]) from error
    except SpawnerError as error:
        raise launch.explained(error) from error
    if not there and parent.state is JobState.ENDED:
        raise invalid_input([FieldError("logdir", f"There is no folder {path}.")])
    return path


async def authenticated(parts: Parts, board_id: str, secret: str) -> Tensorboard:
    """The TensorBoard whose secret this is; raises LoginRequired without saying what was wrong."""
    async with parts.db.session() as db:
        board = await db.get(Tensorboard, board_id)
    known = board.secret if board is not None else ""
    if board is None or not known or not hmac.compare_digest(known.encode(), secret.encode()):
        raise LoginRequired("This address wants a TensorBoard's own secret.")
    return board


async def hello(
    parts: Parts, board: Tensorboard, port: int, request: str | None = None
) -> str | None:
    """The node program listens on `port`; where, says Slurm. Raises Conflict until it does. The
    certificate that it asks for is returned, where the site wants any."""
    check_wanted(board)
    info = await where_it_runs(parts, await host_job(parts, board))
    host = node_address(parts, info)
    name = certificates.name_of(board)
    certificate = certificates.first(parts, name, request, info)

    def apply(row: Tensorboard) -> None:
        if row.run_id == board.run_id and row.wanted:
            row.host, row.port = host, port
            row.tls_name = name if certificate else None
            row.state, row.reason = TensorboardState.RUNNING, None
            row.last_request_at = utcnow()

    await change(parts.db, Tensorboard, board.id, apply)
    parts.changes.notify(board.user_id, board.id)
    return certificate


async def certify(parts: Parts, board: Tensorboard, request: str) -> str:
    """A certificate in place of one that ends soon. Raises Conflict, InvalidInput, Unavailable."""
    check_wanted(board)
    info = await where_it_runs(parts, await host_job(parts, board))
    return certificates.signed(parts, certificates.name_of(board), request, info)


async def wait_while_wanted(parts: Parts, board: Tensorboard, wait_s: float) -> None:
    """Return after `wait_s`, or raise Gone as soon as this run is not wanted any more.

    That it asks is how one knows that it lives: nothing else tells of a process that was killed.
    """
    parts.heard[board.run_id] = utcnow()
    async with parts.changes.listen(board.id) as listener:
        while True:
            async with parts.db.session() as db:
                row = await db.get(Tensorboard, board.id)
            if row is None or row.run_id != board.run_id:
                raise Gone
            check_wanted(row)
            if not await listener.wait(wait_s):
                return


def check_wanted(board: Tensorboard) -> None:
    """Raises Gone for a run that should end."""
    if not board.wanted:
        raise Gone


def is_silent(parts: Parts, board: Tensorboard, now: datetime) -> bool:
    """Whether a running TensorBoard's program has not asked for longer than it ever waits. After
    a start of the portal it gets that time anew."""
    return now - parts.heard.setdefault(board.run_id, now) > SILENCE


async def try_again_or_fail(parts: Parts, board: Tensorboard, error: SpawnerError) -> None:
    """A start that was refused: for a while after slurmctld's restart Slurm refuses every step."""
    asked = board.last_request_at
    passing = isinstance(error, Unreachable | LauncherUnavailable) or (
        isinstance(error, Rejected) and error.code != NO_PARTITION
    )
    if not passing or asked is None or utcnow() - asked > START_PATIENCE:
        await failed(parts, board, error.message)
        return

    def apply(row: Tensorboard) -> None:
        if row.run_id == board.run_id:
            row.started_at = None

    await change(parts.db, Tensorboard, board.id, apply)


async def begin(parts: Parts, board: Tensorboard) -> None:
    """Start the process: inside the parent's allocation while that runs, else in a job of its own.

    Raises the spawner's errors. Marks the run as started before it asks, for a second process
    would be refused by the run's folder anyway, while a forgotten one would never be looked for.
    """
    parent = board.parent
    inside = parent.state in RUNS_SOMEWHERE and parent.node is not None
    if inside and await _is_array(parts, parent):
        inside = False  # its first task ends long before its last
    job = None if inside else await _service_job(parts, board)

    def apply(row: Tensorboard) -> None:
        if row.run_id == board.run_id:
            row.started_at = utcnow()
            row.slurm_job = job.id if job else None

    await change(parts.db, Tensorboard, board.id, apply)
    if job is None:
        await launch.step_tensorboard(parts, board)
    else:
        await launch.submit_tensorboard(parts, job, board)


async def _is_array(parts: Parts, parent: Job) -> bool:
    query = select(BatchJob.array_size).where(BatchJob.id == parent.id)
    async with parts.db.session() as db:
        return (await db.scalars(query)).first() is not None


async def _service_job(parts: Parts, board: Tensorboard) -> TensorboardJob:
    """The row of a TensorBoard's own job; its id is the run's, so a second try finds it."""
    partition = parts.settings.service_partition
    if partition is None:
        raise Rejected(NO_PARTITION, NO_SERVICE_PARTITION)
    asked = Resources(
        partition=partition, cpus=1, memory_gb=SERVICE_MEMORY_GB, time_limit_minutes=SERVICE_MINUTES
    )
    job = TensorboardJob(
        id=board.run_id,
        user_id=board.user_id,
        name="tensorboard",
        resources=launch.kept(asked),
        cluster=parts.settings.cluster_name,
    )
    async with parts.db.session() as db:
        if (found := await db.get(TensorboardJob, job.id)) is not None:
            return found
        db.add(job)
        await db.commit()
        await db.refresh(job)
    return job


async def failed(parts: Parts, board: Tensorboard, reason: str) -> None:
    """This run came to nothing."""
    await _stop(parts, board, reason, TensorboardState.FAILED)


async def ended(parts: Parts, board: Tensorboard, reason: str) -> None:
    """This run is over, for a reason its owner may want to know."""
    await _stop(parts, board, reason)


async def touch(parts: Parts, board_id: str, now: datetime) -> None:
    """Somebody looks at it. Called at most every TOUCH_EVERY for each."""

    def apply(row: Tensorboard) -> None:
        row.last_request_at = now

    await change(parts.db, Tensorboard, board_id, apply)


async def _stop(
    parts: Parts,
    board: Tensorboard,
    reason: str | None,
    state: TensorboardState = TensorboardState.STOPPED,
    also: Callable[[AsyncSession, Tensorboard], None] | None = None,
) -> None:
    def apply(row: Tensorboard) -> None:
        if row.run_id == board.run_id:
            row.wanted, row.state, row.reason = False, state, reason
            row.host = row.port = None

    parts.heard.pop(board.run_id, None)
    await change(parts.db, Tensorboard, board.id, apply, also)
    if board.slurm_job is not None:
        await change(parts.db, TensorboardJob, board.slurm_job, _let_go)
    parts.changes.notify(board.user_id, board.id, RECONCILE)


def _let_go(job: TensorboardJob) -> None:
    if job.state is not JobState.ENDED:
        job.wanted, job.stop_requested_at = Wanted.STOP, utcnow()


def is_homeless(board: Tensorboard, host: Job) -> bool:
    """Whether the allocation that this run lives in is over; `host` is its job."""
    if board.slurm_job is None:
        return host.state in NO_HOME
    return host.state is JobState.ENDED and board.state is TensorboardState.RUNNING


async def outlive(parts: Parts, board: Tensorboard, now: datetime) -> None:
    """What to do with a run whose allocation is over. One that lived in its session's or job's own
    moves to the service partition if somebody is looking; every other ends, and says why. A run
    that had a job of its own is not repeated: what ended it would end the next one too."""
    seen = board.last_request_at
    if board.slurm_job is not None:
        await ended(parts, board, HOST_ENDED)
    elif parts.settings.service_partition is None:
        await ended(parts, board, NO_SERVICE_PARTITION)
    elif seen is None or now - seen > LOOKED_AT:
        await ended(parts, board, NOBODY_LOOKED)
    else:
        await _move(parts, board, now)


async def _move(parts: Parts, board: Tensorboard, now: datetime) -> None:
    run = _fresh_run()

    def apply(row: Tensorboard) -> None:
        if row.run_id == board.run_id and row.wanted:
            _begin_anew(row, run, MOVES)
            row.last_request_at = now

    parts.heard.pop(board.run_id, None)
    await change(parts.db, Tensorboard, board.id, apply)
    parts.changes.notify(board.user_id, board.id, RECONCILE)


async def host_job(parts: Parts, board: Tensorboard) -> Job:
    """The Slurm job that this run lives in: its own, or its parent's."""
    if board.slurm_job is None:
        return board.parent
    async with parts.db.session() as db:
        return await db.get_one(TensorboardJob, board.slurm_job)


async def _insert(parts: Parts, parent: Job, user: User, logdir: str | None) -> Tensorboard:
    board = Tensorboard(
        parent_id=parent.id, user_id=user.id, logdir=logdir or parent_logdir(parent), wanted=False
    )
    async with parts.db.session() as db:
        db.add(board)
        try:
            await db.commit()
        except IntegrityError as error:  # asked for twice at once
            found = await of_parent(parts, parent)
            if found is None:
                raise Conflict("This TensorBoard is being made. Please try again.") from error
            return found
    return board


def parent_logdir(parent: Job) -> str:
    """Where PORTAL_LOGDIR pointed in the session or job. Raises InvalidInput if nobody knows."""
    if isinstance(parent, Session | BatchJob) and parent.logdir:
        return parent.logdir
    text = "The portal doesn't know where this job logs to: name the folder."
    raise invalid_input([FieldError("logdir", text)])
