"""One loop: what should be, against what is. Every step can be repeated, after any crash.

It reads the rows that are not settled, asks the watcher (never Slurm itself) what is, writes what
follows, and starts acts: submit, hand to the hub, cancel, start a TensorBoard. An act runs beside
the loop, one at a time for each thing; what fails is tried again at a later round.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta

import structlog
from sqlalchemy import or_, select

from portal.db import utcnow
from portal.hub import HubError, HubUnavailable
from portal.models import (
    BatchJob,
    Job,
    JobState,
    Session,
    Tensorboard,
    TensorboardState,
    Wanted,
)
from portal.parts import Parts
from portal.services import (
    arrays,
    jobs,
    launch,
    lifecycle,
    nodes,
    scalars,
    tensorboards,
    usage,
)
from portal.services.changes import RECONCILE
from portal.services.outside import Outside
from portal.services.store import change
from spawner.errors import NotFound, SpawnerError
from spawner.model import SlurmState

log = structlog.get_logger(__name__)

ROUND_S = 5.0
AGAIN = timedelta(seconds=3)  # between two tries of the same act
NEVER_SEEN = timedelta(seconds=0)  # after accounting has answered; the watcher waits before
VANISHED = timedelta(seconds=60)
MOST_TRIES = 3  # of submitting what Slurm has lost
MOST_SUBMISSIONS = 20  # at once, of what Slurm's absence has held up
SUBMIT_PATIENCE = timedelta(seconds=60)  # longer than a request that submits can take
Act = Callable[[], Awaitable[None]]


DIED = "TensorBoard ended by itself, perhaps for lack of memory. You can start it again."


def _waits_for_hub(session: Session) -> None:
    if session.ready_at is None:
        session.reason = "JupyterHub does not answer at the moment."
        session.advice = "This goes on by itself when it is back."


class Reconcile:
    """The loop, for the application's lifespan: `run` until cancelled."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._acts: dict[str, asyncio.Task[None]] = {}
        self._tried: dict[str, datetime] = {}
        self._outside = Outside(parts)
        self._again: Counter[str] = Counter()

    async def run(self) -> None:
        """Go round whenever something changed, and every few seconds."""
        async with self.parts.changes.listen(RECONCILE) as listener:
            while True:
                await self.round(utcnow())
                await listener.wait(ROUND_S)

    async def close(self) -> None:
        """End the acts under way; each is repeated after the next start."""
        for task in self._acts.values():
            task.cancel()
        await asyncio.gather(*self._acts.values(), return_exceptions=True)

    async def round(self, now: datetime) -> None:
        """Look at everything that is not settled once."""
        jobs, boards = await self._unsettled()
        for job in jobs:
            await self._job(await self._observe(job, now), now)
        for board in boards:
            await self._board(board, now)
        await self._batches(now)
        self._hurry(jobs, boards)
        self._forget_tries({job.id for job in jobs} | {board.id for board in boards})

    async def _unsettled(self) -> tuple[list[Job], list[Tensorboard]]:
        query = select(Job).where(Job.state != JobState.ENDED)
        closing = select(Session).where(
            Session.state == JobState.ENDED, Session.server_env.is_not(None)
        )
        boards = select(Tensorboard).where(
            or_(Tensorboard.wanted, Tensorboard.state.in_(tensorboards.LIVE))
        )
        async with self.parts.db.session() as db:
            live = list((await db.scalars(query)).unique())
            whole: dict[str, Job] = {job.id: job for job in live}
            # Columns of a kind's own come with it, not one by one outside the database session.
            for kind in (Session, BatchJob):
                if any(isinstance(job, kind) for job in live):
                    own = select(kind).where(kind.state != JobState.ENDED)
                    found = await db.scalars(own.execution_options(populate_existing=True))
                    whole |= {job.id: job for job in found.all()}
            closed = (await db.scalars(closing)).all()
            return [*whole.values(), *closed], list((await db.scalars(boards)).unique())

    # --- jobs ---------------------------------------------------------------------------------

    async def _observe(self, job: Job, now: datetime) -> Job:
        """Write what Slurm says of a job; the row as it then is."""
        if job.state is JobState.ENDED:
            return job
        update = self._seen(job, now) or lifecycle.give_up(
            job, now, timedelta(minutes=self.parts.settings.hub_give_up_minutes)
        )
        if update is None or all(getattr(job, key) == value for key, value in update.items()):
            return job

        def apply(row: Job) -> None:
            fresh = self._seen(row, now) or update
            for column, value in fresh.items():
                setattr(row, column, value)

        changed = await change(self.parts.db, type(job), job.id, apply)
        self.parts.changes.notify(job.user_id, job.id)
        return changed or job

    def _seen(self, job: Job, now: datetime) -> lifecycle.Update | None:
        """What the watcher's last look means for a row, or None where it means nothing."""
        watcher = self.parts.watcher
        if watcher.stale_since is not None:
            return {"stale_since": watcher.stale_since}
        if isinstance(job, BatchJob):
            copies = watcher.copies(job.id, job.user.username, job.job_id)
            ours = [info for info in copies if lifecycle.is_ours(job, info)]
            if job.array_size is not None and ours:
                return arrays.observe(job, arrays.of_copies(job, ours), now)
            info = lifecycle.chosen(ours) or nodes.known(self.parts, job)
            if job.array_size is not None and info is not None:
                # None of its tasks is in squeue any more: accounting has them all.
                return {
                    "job_id": info.array_job_id or job.job_id,
                    "usage_due": job.usage_due or now,
                }
        else:
            info = nodes.known(self.parts, job)
        if info is None or not lifecycle.is_ours(job, info):
            return self._absent(job, now)
        update = lifecycle.observe(job, info, now)
        unchanged = all(getattr(job, key) == value for key, value in update.items())
        return None if unchanged else update

    def _absent(self, job: Job, now: datetime) -> lifecycle.Update | None:
        """Slurm answers and doesn't know the job, nor does accounting."""
        since = self.parts.watcher.unknown_since(job.id, job.user.username)
        if since is None or now - since < lifecycle.LOST_PATIENCE:
            return None
        never_submitted = job.job_id is None and job.wanted is Wanted.RUN
        to_come = isinstance(job, BatchJob) and not job.external and job.wanted is Wanted.RUN
        if never_submitted or (to_come and self._again[job.id] < MOST_TRIES):
            return None
        return lifecycle.lost(job, now)

    async def _job(self, job: Job, now: datetime) -> None:
        """Start what a row calls for."""
        if job.state is JobState.ENDED:
            if isinstance(job, Session) and job.server_env is not None:
                self._act(f"close {job.id}", now, lambda: self._close(job))
        elif job.wanted is Wanted.STOP:
            self._act(f"stop {job.id}", now, lambda: self._stop(job))
        elif isinstance(job, BatchJob):
            self._batch(job, now)
        elif job.job_id is None and now - job.created_at > SUBMIT_PATIENCE:
            unknown = self.parts.watcher.unknown_since(job.id, job.user.username)
            if isinstance(job, Session) and unknown is not None:
                self._act(f"submit {job.id}", now, lambda: self._submit(job))
        elif isinstance(job, Session) and job.target_port and not job.ready_at:
            self._act(f"adopt {job.id}", now, lambda: self._adopt(job))

    def _batch(self, job: BatchJob, now: datetime) -> None:
        """A batch job that should run: have it submitted, once."""
        if job.external or job.id in self.parts.submitting:
            return
        missing = self.parts.watcher.missing_since(job.id, job.user.username)
        patience = NEVER_SEEN if job.job_id is None else VANISHED
        if missing is not None and now - missing >= patience:
            under_way = sum(key.startswith("again ") for key in self._acts)
            if under_way < MOST_SUBMISSIONS and self._again[job.id] < MOST_TRIES:
                self._act(f"again {job.id}", now, lambda: self._submit_again(job))
        elif self._surplus(job):
            self._act(f"surplus {job.id}", now, lambda: self._end_surplus(job))

    async def _submit_again(self, job: BatchJob) -> None:
        """Slurm hasn't got the job, or has lost it: its controller forgets what is a few seconds
        old when it is killed. Should it run somewhere after all, the script's claim ends the copy.
        """
        self._again[job.id] += job.job_id is not None
        log.warning("a job is submitted again", job=job.id, slurm=job.job_id)
        await jobs.submit_again(self.parts, job.id, lost=job.job_id)

    def _surplus(self, job: BatchJob) -> set[int]:
        """Jobs that Slurm made of this one beside the one that it is: after a crash, when an answer
        was lost. They could only exit."""
        copies = self.parts.watcher.copies(job.id, job.user.username, job.job_id)
        live = {
            info.array_job_id or info.job_id
            for info in copies
            if info.state is not SlurmState.ENDED and lifecycle.is_ours(job, info)
        }
        return live - {job.job_id}

    async def _end_surplus(self, job: BatchJob) -> None:
        for job_id in self._surplus(job):
            log.warning("a second copy of a job is cancelled", job=job.id, slurm=job_id)
            with suppress(NotFound):
                await self.parts.slurm.cancel(job_id)

    async def _batches(self, now: datetime) -> None:
        """What concerns many jobs at once: their use, those from outside, arrays' figures."""
        await self._outside.look(now)
        if self.parts.watcher.stale_since is None:
            if self._outside.history_due(now):
                self._act("history", now, lambda: self._outside.history(now))
            if due := await usage.due(self.parts, now):
                self._act("usage", now, lambda: self._collect(due, now))

    async def _collect(self, due: list[BatchJob], now: datetime) -> None:
        await usage.collect(self.parts, due, now)
        for job in due:
            await self._figures(job)

    async def _figures(self, job: BatchJob) -> None:
        """The last values that an array's ended tasks have logged."""
        async with self.parts.db.session() as db:
            row = await db.get(BatchJob, job.id)
        while row is not None and scalars.wanting(row):
            await scalars.read(self.parts, row)
            async with self.parts.db.session() as db:
                row = await db.get(BatchJob, job.id)

    async def _submit(self, session: Session) -> None:
        """The portal died between the row and Slurm's answer. If Slurm has the job after all, its
        script's claim of the id makes one of the two copies exit."""
        try:
            await launch.submit_session(self.parts, session)
        except SpawnerError as error:
            log.warning("submitting again failed", job=session.id, error=error.message)

    async def _adopt(self, session: Session) -> None:
        """Have the hub start the named server; it then asks the portal for it."""
        try:
            await self.parts.hub.ensure_user(session.user.username)
            await self.parts.hub.start_server(session.user.username, session.name)
        except HubUnavailable:
            await change(self.parts.db, Session, session.id, _waits_for_hub)
            self.parts.changes.notify(session.user_id)
            raise

    async def _stop(self, job: Job) -> None:
        """End the job; the hub hears of it once the job has ended, and can't hold it up."""
        if job.job_id is not None:
            with suppress(NotFound):
                if isinstance(job, BatchJob) and job.external:
                    await self.parts.agents.cancel(job.user.username, job.job_id)
                else:
                    await self.parts.slurm.cancel(job.job_id)
            if isinstance(job, BatchJob):
                await self._end_surplus(job)
            await self.parts.watcher.look()

    async def _close(self, session: Session) -> None:
        """An ended session leaves no server in the hub, and no token here."""
        username, name = session.user.username, session.name
        if not await self.parts.hub.stop_server(username, name, remove=True):
            return  # it is stopping; asked again at a later round

        def apply(row: Session) -> None:
            row.server_env = None

        await change(self.parts.db, Session, session.id, apply)

    # --- tensorboards -------------------------------------------------------------------------

    async def _board(self, board: Tensorboard, now: datetime) -> None:
        idle = timedelta(minutes=self.parts.settings.tensorboard_idle_minutes)
        if not board.wanted:
            return
        if board.state is TensorboardState.STARTING and board.started_at is None:
            self._act(f"board {board.run_id}", now, lambda: self._start_board(board))
            return
        host = await tensorboards.host_job(self.parts, board)
        if tensorboards.is_homeless(board, host):
            await tensorboards.outlive(self.parts, board, now)
        elif board.state is not TensorboardState.RUNNING:
            if board.started_at and now - board.started_at > tensorboards.START_PATIENCE:
                await tensorboards.failed(self.parts, board, "TensorBoard did not come up in time.")
        elif tensorboards.is_silent(self.parts, board, now):
            await tensorboards.failed(self.parts, board, DIED)
        elif board.last_request_at and now - board.last_request_at > idle:
            await tensorboards.ended(self.parts, board, "Nobody looked at it for a while.")

    async def _start_board(self, board: Tensorboard) -> None:
        try:
            await tensorboards.begin(self.parts, board)
        except SpawnerError as error:
            await tensorboards.try_again_or_fail(self.parts, board, error)

    # --- acts ---------------------------------------------------------------------------------

    def _act(self, key: str, now: datetime, act: Act) -> None:
        """Start an act unless it is under way or was tried a moment ago."""
        running = self._acts.get(key)
        if running is not None and not running.done():
            return
        if key in self._tried and now - self._tried[key] < AGAIN:
            return
        self._tried[key] = now
        task = asyncio.create_task(self._guarded(key, act))
        self._acts[key] = task
        task.add_done_callback(lambda _: self._acts.pop(key, None))

    async def _guarded(self, key: str, act: Act) -> None:
        """Run an act; what the world refuses is logged and tried again at a later round."""
        try:
            await act()
        except (SpawnerError, HubError) as error:
            log.warning("will try again", act=key, error=str(error)[:300])
        self.parts.changes.notify(RECONCILE)

    def _hurry(self, jobs: list[Job], boards: list[Tensorboard]) -> None:
        """Slurm is looked at more often while something is on its way."""
        waiting = any(j.state not in {JobState.RUNNING, JobState.ENDED} for j in jobs)
        starting = any(
            b.state in {TensorboardState.QUEUED, TensorboardState.STARTING} for b in boards
        )
        self.parts.watcher.hurry = waiting or starting

    def _forget_tries(self, ids: set[str]) -> None:
        """Keep the memory of tries as small as what is unsettled."""
        if len(self._tried) > 10 * (len(ids) + 10):
            self._tried = {k: v for k, v in self._tried.items() if k.split()[-1] in ids}
