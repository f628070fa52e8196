"""The reconcile loop: compares the desired state with the actual one. Every step can be repeated,
after any crash.

It reads the rows that may need work (services/slurm/pending_rows.py), decides by the watcher's last
result, writes the consequences, and starts tasks: submit, hand to the hub, cancel. It asks Slurm
itself only right before it acts on a job, and for accounting. A task runs beside the loop, one at a
time for each row; a failed one is retried in a later round. TensorBoards
(tensorboard_reconciler.py) are part of each round.

Slurm may have a job twice, after an answer was lost. So a job's script first takes its claim, the
exclusive right to run: `claimed` in the job's folder can be created only once, and a second copy
exits.
"""

import asyncio
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

import structlog
from sqlalchemy import update
from sqlalchemy.exc import DataError, IntegrityError
from sqlalchemy.orm.exc import StaleDataError

from portal.background.background_loop import log_failure
from portal.background.keyed_tasks import KeyedTasks
from portal.background.notifier import ALL_ROWS, RECONCILE
from portal.background.scalar_reader import ScalarReader
from portal.background.tensorboard_reconciler import TensorboardReconciler
from portal.context import AppContext
from portal.db import utcnow
from portal.hub.client import HubNotReady
from portal.models import (
    JOBS_TABLE,
    BatchJob,
    Job,
    JobState,
    Session,
    Tensorboard,
    TensorboardState,
    Wanted,
)
from portal.services.deprovision import deprovision
from portal.services.jobs import jobs
from portal.services.jobs.claim_checks import ClaimChecks
from portal.services.jobs.external_jobs import ExternalJobImport
from portal.services.sessions import hub_sync
from portal.services.slurm import accounting_totals, launch, lifecycle
from portal.services.slurm.job_identity import cancelling_user, find_job
from portal.services.slurm.pending_rows import LIVE, PendingRows, load
from portal.services.slurm.row_sync import RowSync
from portal.services.store import update_row
from spawner.errors import JobNotFound, SpawnerError
from spawner.launcher.pool import GRACE_S
from spawner.slurm.model import JobPhase

log = structlog.get_logger(__name__)

ROUND_S = 5.0
# How long Slurm has to report a job as missing before it is submitted again: at once if the row has
# no job id, or if slurmctld has certainly lost the job. The watcher reports a job as missing only
# after squeue and accounting have answered without it.
CERTAINLY_MISSING_FOR = timedelta(seconds=0)
PROBABLY_MISSING_FOR = timedelta(seconds=60)
MAX_SUBMISSIONS = 20  # at the same time, of those repeated or delayed while Slurm was down
MAX_CANCELS = 8  # concurrent commands
ROWS_PER_TRANSACTION = 100  # rows per transaction, during which the event loop is blocked
# After each transaction, so that requests are answered: each needs the event loop about ten times.
PAUSE = timedelta(milliseconds=20)
REFUSALS = (DataError, IntegrityError)  # of one row's values, unlike a failure of the database


def _mark_waiting_for_hub(session: Session) -> None:
    if session.ready_at is None:
        session.reason = "JupyterHub doesn't answer."
        session.suggestion = "The start continues automatically when it is back."


class Reconciler:
    """The reconcile loop."""

    def __init__(self, context: AppContext) -> None:
        self.context = context
        self._tasks = KeyedTasks(
            lambda: context.notifier.notify(RECONCILE), context.metrics.background_failures
        )
        self._row_sync = RowSync(context)
        self._claim_checks = ClaimChecks(context)
        self._external_jobs = ExternalJobImport(context)
        self._pending = PendingRows(context)
        self._cancels = asyncio.Semaphore(MAX_CANCELS)
        self._stale_since: datetime | None = None
        self._scalar_reader = ScalarReader(context)
        self._tensorboards = TensorboardReconciler(context, self._tasks)

    async def step(self) -> timedelta | None:
        """Run a round; the next one follows immediately if more rows may need work."""
        await self.round(utcnow())
        return PAUSE if self._pending.has_more else None

    async def close(self) -> None:
        """Cancel the running tasks; each is repeated after the next start."""
        await self._tasks.close()
        await self._scalar_reader.close()

    async def round(self, now: datetime) -> None:
        """Process all rows that may need work, once."""
        await self._write_stale()
        due = await self._pending.next_batch(now)
        for at in range(0, len(due), ROWS_PER_TRANSACTION):
            if at:
                await asyncio.sleep(PAUSE.total_seconds())
            await self._process_rows(due[at : at + ROWS_PER_TRANSACTION], now)
        boards = await self._tensorboards.reconcile(now)
        await self._run_bulk_work(now)
        self._set_polling_pace(boards)
        self._tasks.drop_old_attempts(
            keep=self._pending, row_count=len(self._pending) + len(boards)
        )

    async def _write_stale(self) -> None:
        """Write since when Slurm has not answered to every row that has not ended.

        One statement, which does not count as a change of the rows.
        """
        since = self.context.watcher.stale_since
        if since == self._stale_since:
            return
        differs = (
            JOBS_TABLE.c.stale_since.is_not(None)
            if since is None
            else JOBS_TABLE.c.stale_since.is_(None)
        )
        rows = update(JOBS_TABLE).where(JOBS_TABLE.c.state.in_(LIVE), differs)
        async with self.context.db.session() as db:
            await db.execute(rows.values(stale_since=since, changed_at=JOBS_TABLE.c.changed_at))
            await db.commit()
        self._stale_since = since
        self.context.notifier.notify(ALL_ROWS)

    # --- jobs ---------------------------------------------------------------------------------

    async def _process_rows(self, ids: list[str], now: datetime) -> None:
        """Write Slurm's state to these rows, and start the tasks that they need."""
        rows = await self._observe(ids, now)
        self._pending.discard(set(ids) - {row.id for row in rows})
        for row in rows:
            self._act_on_job(row, now)
            done = self._row_sync.needs_no_more_actions(row)
            waits = self._row_sync.waits_for_change(row, now)
            self._pending.note(row, needs_no_more_actions=done, waits_for_change=waits)

    async def _observe(self, ids: list[str], now: datetime) -> list[Job]:
        """Write Slurm's state to these rows in one transaction, or one by one if another writer
        changed one of them or the database refuses one.

        Returns the rows as written.
        """
        async with self.context.db.session() as db:
            rows = await load(db, ids)
            found = [(type(row), row.id, row.version) for row in rows]
            changed = [row for row in rows if self._row_sync.apply_report(row, now)]
            try:
                await db.commit()
            except (StaleDataError, *REFUSALS):
                await db.rollback()  # the rows below are written by sessions of their own
                results = [await self._write_one(*row, now) for row in found]
                return [row for row in results if row is not None]
        for row in changed:
            self.context.notifier.notify(row.user_id, row.id)
        return rows

    async def _write_one(
        self, kind: type[Job], row_id: str, version: int, now: datetime
    ) -> Job | None:
        """Write Slurm's state to one row; return it, or None if there is none or the database
        refuses it. A refused row is tried again once Slurm shows a change, or when all rows are
        processed, every few minutes (pending_rows.FULL_PASS_EVERY).
        """
        try:
            row = await update_row(
                self.context.db, kind, row_id, lambda row: self._row_sync.apply_report(row, now)
            )
        except REFUSALS as error:
            self.context.metrics.background_failures.labels("observe").inc()
            log_failure("database refused a row", error, job=row_id)
            self._pending.set_aside(row_id, version)
            return None
        if row is not None:
            self.context.notifier.notify(row.user_id, row.id)
        return row

    def _act_on_job(self, job: Job, now: datetime) -> None:
        """Start the task that a row needs."""
        if job.state is JobState.ENDED:
            if unwanted := self._row_sync.find_unwanted_jobs(job):
                self._tasks.start(f"surplus {job.id}", now, lambda: self._cancel(job, unwanted))
            elif isinstance(job, Session) and job.server_env is not None:
                self._tasks.start(f"close {job.id}", now, lambda: hub_sync.close(self.context, job))
        elif job.wanted is Wanted.STOP:
            self._tasks.start(f"stop {job.id}", now, lambda: self._stop(job))
        elif deprovision.must_end(job):
            self._tasks.start(f"end {job.id}", now, lambda: deprovision.end_row(self.context, job))
        elif isinstance(job, BatchJob):
            self._act_on_batch_job(job, now)
        elif isinstance(job, Session) and self._was_never_submitted(job, now):
            self._tasks.start(f"submit {job.id}", now, lambda: self._submit_session_again(job.id))
        elif isinstance(job, Session) and job.target_port and not job.ready_at:
            self._tasks.start(f"adopt {job.id}", now, lambda: self._adopt(job))

    def _was_never_submitted(self, session: Session, now: datetime) -> bool:
        """Return whether the portal crashed between writing the session's row and submitting it.

        Slurm must not know the session, and the row must be so old that no launcher that survived
        the crash can still submit it. Otherwise the session could be submitted twice, and the row
        would have the job id of the second copy, while Slurm may run the first.
        """
        if session.job_id is not None or session.id in self.context.submitting:
            return False
        limit = timedelta(seconds=self.context.settings.slurm_timeout_s + GRACE_S)
        unknown = self.context.watcher.unknown_since(session.id, session.user.username)
        return unknown is not None and now - session.created_at > limit

    def _act_on_batch_job(self, job: BatchJob, now: datetime) -> None:
        """Submit a batch job again if it is missing in Slurm, or cancel duplicates."""
        if job.external or job.id in self.context.submitting:
            return
        may_submit = self._tasks.count_running("again") < MAX_SUBMISSIONS
        if job.claim_check_since is not None and (end := self._row_sync.find_end(job)) is not None:
            if may_submit:
                resolve = partial(self._claim_checks.resolve, job, end, now)
                self._tasks.start(f"again {job.id}", now, resolve)
            return
        key = (job.id, job.user.username)
        missing = self.context.watcher.missing_since(*key)
        sure = job.job_id is None or self.context.watcher.is_lost_by_slurmctld(*key)
        if missing is not None and now - missing >= (
            CERTAINLY_MISSING_FOR if sure else PROBABLY_MISSING_FOR
        ):
            if job.user.disabled_at is not None:  # nothing runs as a disabled user
                self._tasks.start(
                    f"end {job.id}", now, lambda: deprovision.end_row(self.context, job)
                )
                return
            if may_submit and (job.job_id is None or lifecycle.may_submit_again(job)):
                self._tasks.start(f"again {job.id}", now, lambda: self._submit_again(job))
        elif self._row_sync.find_duplicate_jobs(job):
            self._tasks.start(f"surplus {job.id}", now, lambda: self._cancel_duplicates(job))

    async def _submit_again(self, job: BatchJob) -> None:
        """Submit a job again that Slurm does not have, or has lost: a killed controller forgets the
        last few seconds.

        If it runs somewhere nevertheless, the script's claim ends the second copy.
        """
        log.warning("resubmitting a job", job=job.id, slurm=job.job_id)
        await jobs.submit_again(self.context, job.id, lost=job.job_id)

    async def _cancel_duplicates(self, job: BatchJob) -> None:
        """Cancel duplicates, by the row's present state.

        Since the row was read, its submission may have finished, and the supposed copy be the job
        itself. A row without a job number has no copies.
        """
        async with self.context.db.session() as db:
            current = await db.get(BatchJob, job.id)
        if current is not None and current.job_id is not None:
            await self._cancel(current, self._row_sync.find_duplicate_jobs(current))

    async def _cancel(self, job: Job, job_ids: set[int]) -> None:
        """Cancel copies of a job that Slurm should not have."""
        for job_id in job_ids:
            log.warning("cancelling a duplicate job", job=job.id, slurm=job_id)
            with suppress(JobNotFound):
                async with self._cancels:
                    await self.context.block_unless_leader()
                    info = await find_job(self.context, job, job_id)
                    await self.context.slurm.cancel(job_id, cancelling_user(info))

    async def _run_bulk_work(self, now: datetime) -> None:
        """Process many jobs at once: usage, external jobs, metrics of arrays."""
        await self._external_jobs.import_new(now)
        if self.context.watcher.stale_since is None:
            if self._external_jobs.is_history_due(now):
                self._tasks.start("history", now, lambda: self._external_jobs.import_history(now))
            if due := await accounting_totals.load_due(self.context, now):
                self._tasks.start("usage", now, lambda: self._collect_usage(due, now))
        self._scalar_reader.start_due(now)

    async def _collect_usage(
        self, due: list[accounting_totals.JobOrSession], now: datetime
    ) -> None:
        await accounting_totals.collect(self.context, due, now)
        for job in due:
            if isinstance(job, BatchJob):
                self._scalar_reader.add(job, now)

    async def _submit_session_again(self, session_id: str) -> None:
        """Submit a session again after the portal died between writing the row and Slurm's answer.

        If Slurm has the job after all, the script's claim of the id makes one of the two copies
        exit. The row is read again, because a request may have recorded the id since.
        """
        async with self.context.db.session() as db:
            session = await db.get(Session, session_id)
        if (
            session is None
            or session.job_id is not None
            or session.wanted is not Wanted.RUN
            or session.state is JobState.ENDED
            or session_id in self.context.submitting
        ):
            return
        self.context.watcher.discard_lookups(session_id, session.user.username)
        try:
            await launch.submit_session(self.context, session)
        except SpawnerError as error:
            log.warning("resubmitting failed", job=session.id, error=error.message)

    async def _adopt(self, session: Session) -> None:
        """Request the named server from the hub, which then requests it from the portal."""
        try:
            await hub_sync.adopt(self.context, session)
        except HubNotReady:
            await update_row(self.context.db, Session, session.id, _mark_waiting_for_hub)
            self.context.notifier.notify(session.user_id)
            raise

    async def _stop(self, job: Job) -> None:
        """End the job.

        The hub is notified only after the job has ended, so it cannot delay that.
        """
        may_exist = job.job_id is not None
        if job.job_id is not None:
            try:
                await self._end_job(job, job.job_id)
            except JobNotFound:
                may_exist = self.context.watcher.missing_since(job.id, job.user.username) is None
            if isinstance(job, BatchJob):
                await self._cancel_duplicates(job)
        if may_exist or not await self._withdraw(job):
            await self.context.watcher.refresh()

    async def _end_job(self, job: Job, job_id: int) -> None:
        """End a job in Slurm.

        Raises JobNotFound if Slurm has no such job, or has reused its number.
        """
        disabled = job.user.disabled_at is not None
        async with self._cancels:
            await self.context.block_unless_leader()
            info = await find_job(self.context, job, job_id)
            if info.phase is JobPhase.ENDED:
                return
            if isinstance(job, BatchJob) and job.external and not disabled:
                await self.context.launchers.cancel(job.user.username, job_id)
            elif isinstance(job, Session) and disabled:
                await self.context.slurm.kill(
                    job_id, cancelling_user(info)
                )  # closes an open notebook immediately
            else:
                await self.context.slurm.cancel(job_id, cancelling_user(info))

    async def _withdraw(self, job: Job) -> bool:
        """End a job that Slurm apparently does not have.

        Its script's claim is taken first: a copy that still reaches Slurm can only exit. Returns
        False if a copy has begun to run.
        """
        if job.id in self.context.submitting or lifecycle.is_external(job):
            return False
        await self.context.block_unless_leader()
        if not await self.context.launchers.withdraw(job.user.username, job.id):
            return False

        def mark_lost(row: Job) -> None:
            if row.state is not JobState.ENDED and row.job_id == job.job_id:
                for column, value in lifecycle.build_lost_columns(row, utcnow()).items():
                    setattr(row, column, value)

        await update_row(self.context.db, type(job), job.id, mark_lost)
        self.context.notifier.notify(job.user_id, job.id)
        return True

    def _set_polling_pace(self, boards: list[Tensorboard]) -> None:
        """Have the watcher poll Slurm more often while a job or TensorBoard is starting."""
        starting = any(
            b.state in {TensorboardState.QUEUED, TensorboardState.STARTING} for b in boards
        )
        self.context.watcher.hurry = self._pending.has_rows_in_transition or starting
