"""TensorBoards: one per session or job, started on request, ended when not viewed any longer.

A row has the desired state; the reconcile loop starts and ends processes (runs.py).
"""

from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from portal.background.notifier import RECONCILE
from portal.context import AppContext
from portal.db import utcnow
from portal.errors import Conflict, FieldError, NotFound, invalid_input
from portal.models import BatchJob, Job, JobState, Session, Tensorboard, User
from portal.services.audit import audit
from portal.services.slurm import launch
from portal.services.store import update_row
from portal.services.tensorboards import runs
from spawner.errors import PathRefused, SpawnerError

TOUCH_EVERY = timedelta(seconds=30)


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
    fresh_run = runs.new_run()

    def modify(row: Tensorboard) -> None:
        row.last_request_at = utcnow()
        moved = chosen is not None and chosen != row.logdir
        if row.wanted and row.state in runs.LIVE and not moved:
            return
        row.logdir = chosen or row.logdir
        runs.reset_run(row, fresh_run, None)

    event = audit.prepare_job_event(audit.Action.TENSORBOARD_START, parent, user, ip)

    def record_event(db: AsyncSession, row: Tensorboard) -> None:
        if row.run_id == fresh_run[0]:
            event(db, row)

    changed = await update_row(context.db, Tensorboard, board.id, modify, record_event)
    if changed is None:
        raise NotFound
    context.notifier.notify(parent.user_id, board.id, RECONCILE)
    return changed


async def ensure(context: AppContext, parent: Job, user: User) -> Tensorboard:
    """Return the row of a parent's TensorBoard, which is created if it does not exist. Raises
    InvalidInput if the folder to show is unknown.
    """
    return await load_tensorboard(context, parent) or await _insert(context, parent, user, None)


async def request_stop(context: AppContext, board: Tensorboard, user: User, ip: str = "") -> None:
    """Request the end of a TensorBoard."""
    event = audit.prepare_job_event(audit.Action.TENSORBOARD_STOP, board.parent, user, ip)
    await runs.end_run(context, board, None, record_event=event)


async def _check_logdir(context: AppContext, parent: Job, logdir: str) -> str:
    """Return the path of a folder after checking, as the owner, that the owner may read it. It need
    not exist while the session or job has not ended. Raises InvalidInput.
    """
    owner = parent.user.username
    try:
        path = launch.normalize_path("logdir", logdir, (await context.launchers.info(owner)).home)
        exists = await context.launchers.folder_exists(owner, path)
    except PathRefused as error:
        raise invalid_input([FieldError("logdir", error.message)]) from error
    except SpawnerError as error:
        raise launch.to_launch_error(error) from error
    if not exists and parent.state is JobState.ENDED:
        raise invalid_input([FieldError("logdir", f"The folder {path} does not exist.")])
    return path


async def touch(context: AppContext, board_id: str, now: datetime) -> None:
    """Record that a user is viewing it. Called at most every TOUCH_EVERY per TensorBoard."""

    def modify(row: Tensorboard) -> None:
        row.last_request_at = now

    await update_row(context.db, Tensorboard, board_id, modify)


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
    """Return the folder that the TensorBoard of a session or job shows unless another is chosen.
    Raises InvalidInput if it is unknown.
    """
    if isinstance(parent, Session | BatchJob) and parent.logdir:
        return parent.logdir
    text = "The portal doesn't know this job's log folder: specify the folder."
    raise invalid_input([FieldError("logdir", text)])
