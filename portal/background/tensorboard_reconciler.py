"""Reconciliation of TensorBoards: starts and ends their runs, and moves them out of ended jobs.

A run is in the allocation of its session or job, or in a Slurm job of its own in the service
partition; `host_job` is the job that it is in.
"""

from datetime import datetime, timedelta

from sqlalchemy import select

from portal.background.keyed_tasks import KeyedTasks
from portal.context import AppContext
from portal.models import Job, JobState, Tensorboard, TensorboardState
from portal.services.deprovision import deprovision
from portal.services.tensorboards import runs
from spawner.errors import SpawnerError

DIED = (
    "TensorBoard stopped unexpectedly, possibly because it ran out of memory. You can start "
    "it again."
)
ENDED_EARLY = "The job of this TensorBoard ended before TensorBoard started."


class TensorboardReconciler:
    """The part of the reconcile loop that is about TensorBoards; `tasks` are those of the loop."""

    def __init__(self, context: AppContext, tasks: KeyedTasks) -> None:
        self.context = context
        self._tasks = tasks

    async def reconcile(self, now: datetime) -> list[Tensorboard]:
        """Process all TensorBoards that should run, once; return them."""
        boards = await self._load_boards()
        self._forget_heartbeats(boards)
        host_jobs = await runs.load_host_jobs(self.context, boards)
        for board in boards:
            if board.id in host_jobs:
                await self._act_on_board(board, host_jobs[board.id], now)
        return boards

    async def _load_boards(self) -> list[Tensorboard]:
        query = select(Tensorboard).where(Tensorboard.wanted)
        async with self.context.db.session() as db:
            return list((await db.scalars(query)).unique())

    def _forget_heartbeats(self, boards: list[Tensorboard]) -> None:
        """Drop the heartbeats of other runs: a program's last request may arrive after the stop."""
        heartbeats = self.context.tensorboard_heartbeats
        for run_id in heartbeats.keys() - {board.run_id for board in boards}:
            del heartbeats[run_id]

    async def _act_on_board(self, board: Tensorboard, host_job: Job, now: datetime) -> None:
        idle = timedelta(minutes=self.context.settings.tensorboard_idle_minutes)
        if board.user.disabled_at is not None:
            await runs.end_run(self.context, board, deprovision.BOARD_ENDED)
            return
        if board.state is TensorboardState.STARTING and board.started_at is None:
            self._tasks.start(f"board {board.run_id}", now, lambda: self._start_board(board))
            return
        if runs.host_job_ended(board, host_job):
            await runs.handle_ended_allocation(self.context, board, now)
        elif board.state is not TensorboardState.RUNNING:
            await self._check_start(board, host_job, now)
        elif runs.is_silent(self.context, board, host_job, now):
            await runs.mark_failed(self.context, board, DIED)
        elif board.last_request_at and now - board.last_request_at > idle:
            await runs.end_run(
                self.context, board, "It was stopped because it was not used for a while."
            )

    async def _check_start(self, board: Tensorboard, host_job: Job, now: datetime) -> None:
        """Wait while the run's own job waits in Slurm's queue; else fail it when it takes long."""
        started_at = board.started_at
        if board.own_job_id is not None:
            if host_job.state is JobState.ENDED:
                await runs.mark_failed(self.context, board, host_job.reason or ENDED_EARLY)
                return
            if host_job.state is JobState.QUEUED:
                await runs.mark_queued(self.context, board, host_job.reason)
                return
            started_at = host_job.started_at or started_at
        if started_at and now - started_at > runs.START_PATIENCE:
            await runs.mark_failed(self.context, board, "TensorBoard did not start in time.")
        elif board.state is TensorboardState.QUEUED:
            await runs.mark_starting(self.context, board)

    async def _start_board(self, board: Tensorboard) -> None:
        try:
            await runs.start_process(self.context, board)
        except SpawnerError as error:
            await runs.retry_or_fail_start(self.context, board, error)
