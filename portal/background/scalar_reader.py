"""Reading of the metrics of ended jobs, as their users: the last values of the scalars that a job
has logged.
"""

from datetime import datetime, timedelta
from functools import partial

from portal.background.keyed_tasks import KeyedTasks
from portal.background.notifier import RECONCILE
from portal.context import AppContext
from portal.models import BatchJob
from portal.services.jobs import measurements, scalars
from portal.services.slurm import accounting_totals

RETRY_INTERVAL = timedelta(minutes=1)


class ScalarReader:
    """The jobs whose metrics are to be read, and the tasks that read them."""

    def __init__(self, context: AppContext) -> None:
        self.context = context
        self._tasks = KeyedTasks(
            lambda: context.notifier.notify(RECONCILE),
            context.metrics.background_failures,
            retry_interval=RETRY_INTERVAL,
        )
        # When each job became due, by user and job.
        self._due: dict[str, dict[str, datetime]] = {}

    async def close(self) -> None:
        """Cancel the running tasks."""
        await self._tasks.close()

    def add(self, job: BatchJob, now: datetime) -> None:
        """Queue a job whose accounting was read: it may have ended, and its metrics be unread."""
        self._due.setdefault(job.user_id, {})[job.id] = now

    def start_due(self, now: datetime) -> None:
        """Read each user's metrics in a task of its own: a home that hangs delays no other user."""
        self._due = {user: due for user, due in self._due.items() if due}
        for user_id, due in self._due.items():
            key = f"metrics {user_id}"
            if self._tasks.is_running(key):
                continue
            expired = [job_id for job_id, at in due.items() if now - at > accounting_totals.GIVE_UP]
            for job_id in expired:
                del due[job_id]
            self._tasks.start(key, now, partial(self._read_users_scalars, user_id))

    async def _read_users_scalars(self, user_id: str) -> None:
        """Read the metrics of a user's jobs; a job that fails comes last the next time."""
        due = self._due.get(user_id, {})
        for job_id, since in list(due.items()):
            del due[job_id]
            due[job_id] = since
            await self._read_scalars(job_id)
            if due[job_id] == since:  # else it has become due again
                del due[job_id]

    async def _read_scalars(self, job_id: str) -> None:
        """Read the last values that an ended job, or an array's ended tasks, have logged, and the
        mean use of an ended job's GPUs.
        """
        async with self.context.db.session() as db:
            row = await db.get(BatchJob, job_id)
        if row is not None and scalars.is_unread(row):
            await scalars.store_final_values(self.context, row)
        while row is not None and scalars.find_unread_tasks(row):
            await scalars.store_task_values(self.context, row)
            async with self.context.db.session() as db:
                row = await db.get(BatchJob, job_id)
        if row is not None and measurements.is_gpu_usage_unread(row):
            await measurements.store_gpu_usage(self.context, row)
