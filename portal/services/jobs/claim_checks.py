"""Checks whether a job's script began before Slurm itself ended the job. If not, the job is
submitted again.

A slurmctld that was killed has forgotten its last seconds. It treats a node that has not yet
received the job's script as failed, and gives the ids of forgotten jobs to later ones, which it
cancels when a node reports the end of the forgotten job. A script's first action is to create a
claim in the job's folder (spawner/catalog/jobscript.py): without one, the script has not begun.
"""

import asyncio
from datetime import datetime, timedelta

import structlog

from portal.context import AppContext
from portal.models import BatchJob, JobState
from portal.services.jobs import jobs
from portal.services.slurm import lifecycle
from portal.services.store import update_row
from spawner.errors import LauncherError
from spawner.slurm.model import JobInfo, Outcome

log = structlog.get_logger(__name__)

PATIENCE = timedelta(minutes=10)
"""How long to retry while a home can't be read; after that, Slurm's outcome is recorded."""
AFTER_START = timedelta(minutes=10)
"""slurmctld cancels forgotten jobs, as root, only within this time of its start; a later cancel by
root is an administrator's. Other users' cancels are no reason for a check
(lifecycle.may_have_been_lost).
"""
START_SLACK = timedelta(minutes=1)  # slurmctld may be killed again before its cancel is known
START_CACHED_FOR = timedelta(seconds=10)


class ClaimChecks:
    """Checks of claims; caches the time of slurmctld's start, which all jobs share."""

    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._lock = asyncio.Lock()
        self._started_at: datetime | None = None
        self._read_at: datetime | None = None

    async def resolve(self, job: BatchJob, end: JobInfo, now: datetime) -> None:
        """Submit the job again if Slurm ended it before its script began, else record its end.

        May be repeated. Raises LauncherError while the claim can't be read (see `PATIENCE`), and
        SlurmError.
        """
        if await self._was_lost(job, end, now):
            log.warning("resubmitting a job that never began", job=job.id, slurm=end.job_id)
            await jobs.submit_again(self._context, job.id, lost=end.job_id, end=end)
            return

        def modify(row: BatchJob) -> None:
            if row.job_id == end.job_id and row.state is not JobState.ENDED:
                columns = lifecycle.build_observed_columns(row, end, now, claim_checked=True)
                for column, value in columns.items():
                    setattr(row, column, value)

        await update_row(self._context.db, BatchJob, job.id, modify)
        self._context.notifier.notify(job.user_id, job.id)

    async def _was_lost(self, job: BatchJob, end: JobInfo, now: datetime) -> bool:
        """Return whether Slurm ended a job by itself, before its script began. Raises like
        `resolve`.
        """
        if job.user.disabled_at is not None:  # nothing runs as a disabled user
            return False
        if end.outcome is Outcome.CANCELLED and not await self._was_just_started(end, now):
            return False
        try:
            return await self._context.launchers.is_unclaimed(job.user.username, job.id)
        except LauncherError:
            if now - (job.claim_check_since or now) < PATIENCE:
                raise
            return False

    async def _was_just_started(self, end: JobInfo, now: datetime) -> bool:
        """Return whether slurmctld was started shortly before a job's end."""
        async with self._lock:
            if self._read_at is None or now - self._read_at > START_CACHED_FOR:
                await self._context.watcher.wait_for_call_budget()
                self._started_at = await self._context.slurm.started_at()
                self._read_at = now
        if self._started_at is None or end.end_time is None:
            return False
        return -START_SLACK < end.end_time - self._started_at < AFTER_START
