"""A row beside the watcher's last look at Slurm: what to write, and whether work is left.

Asks Slurm nothing and writes no database; what an answer means for a row's columns stands in
lifecycle.py and arrays.py.
"""

from collections import Counter
from datetime import datetime, timedelta

from portal.models import BatchJob, Job, JobState, Session, Wanted
from portal.parts import Parts
from portal.services.jobs import arrays
from portal.services.sessions import nodes
from portal.services.slurm import lifecycle
from spawner.model import JobInfo, SlurmState

MOST_TRIES = 3  # of submitting what Slurm has lost
ALIVE = {SlurmState.QUEUED, SlurmState.RUNNING, SlurmState.SUSPENDED}
QUIET = {JobState.QUEUED, JobState.RUNNING, JobState.SUSPENDED}


class Watched:
    """`again` counts how often a job was submitted again that Slurm had lost."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.again: Counter[str] = Counter()

    def write(self, row: Job, now: datetime) -> bool:
        """Write what Slurm says, and what its silence means, into a row; whether that is news."""
        if row.state is JobState.ENDED:
            return False
        found = self._seen(row, now) or lifecycle.give_up(
            row, now, timedelta(minutes=self._parts.settings.hub_give_up_minutes)
        )
        news = {key: new for key, new in (found or {}).items() if getattr(row, key) != new}
        for column, value in news.items():
            setattr(row, column, value)
        return bool(news)

    def settled(self, row: Job) -> bool:
        """Whether there will never be anything to do for this row."""
        if row.state is not JobState.ENDED or self.alive(row):
            return False
        return not (isinstance(row, Session) and row.server_env is not None)

    def quiet(self, row: Job, now: datetime) -> bool:
        """Whether nothing follows for this row before it is written, or squeue shows something
        else. While Slurm is silent nothing does; everything is looked at when it speaks again."""
        if row.wanted is Wanted.STOP or row.state not in QUIET:
            return False
        if self._parts.watcher.stale_since is not None:
            return True
        shown = self._shown(row)
        return (
            any(info.state in ALIVE for info in shown)
            and not any(lifecycle.awaits_accounting(info, now) for info in shown)
            and not (isinstance(row, BatchJob) and self.surplus(row))
        )

    def _shown(self, row: Job) -> list[JobInfo]:
        """What squeue shows of a row at this moment."""
        shown = self._parts.watcher.shown(
            row.id, row.user.username, row.job_id, lifecycle.from_outside(row)
        )
        return [info for info in shown if lifecycle.is_ours(row, info)]

    def alive(self, row: Job) -> set[int]:
        """Slurm's jobs that should not be there: of a row that has been withdrawn."""
        if row.state is not JobState.ENDED or row.wanted is not Wanted.STOP:
            return set()
        return {i.array_job_id or i.job_id for i in self._shown(row) if i.state in ALIVE}

    def _seen(self, job: Job, now: datetime) -> lifecycle.Update | None:
        """What the watcher's last look means for a row, or None where it means nothing."""
        watcher = self._parts.watcher
        if watcher.stale_since is not None:
            return {"stale_since": job.stale_since or watcher.stale_since}
        if isinstance(job, BatchJob):
            copies = watcher.copies(job.id, job.user.username, job.job_id)
            ours = [info for info in copies if lifecycle.is_ours(job, info)]
            if job.array_size is not None and ours:
                return arrays.observe(job, arrays.of_copies(job, ours), now)
            info = lifecycle.chosen(ours) or nodes.known(self._parts, job)
            if job.array_size is not None and info is not None:
                # None of its tasks is in squeue any more: accounting has them all.
                return {
                    "job_id": info.array_job_id or job.job_id,
                    "usage_due": job.usage_due or now,
                }
        else:
            info = nodes.known(self._parts, job)
        if info is None or not lifecycle.is_ours(job, info):
            return self._absent(job, now)
        update = lifecycle.observe(job, info, now)
        unchanged = all(getattr(job, key) == value for key, value in update.items())
        return None if unchanged else update

    def _absent(self, job: Job, now: datetime) -> lifecycle.Update | None:
        """Slurm answers and doesn't know the job, nor does accounting."""
        since = self._parts.watcher.unknown_since(job.id, job.user.username)
        if since is None or now - since < lifecycle.LOST_PATIENCE:
            return None
        never_submitted = job.job_id is None and job.wanted is Wanted.RUN
        to_come = isinstance(job, BatchJob) and not job.external and job.wanted is Wanted.RUN
        if never_submitted or (to_come and self.may_try_again(job)):
            return None
        return lifecycle.lost(job, now)

    def may_try_again(self, job: Job) -> bool:
        """Whether a job that Slurm has lost is to be submitted once more."""
        return self.again[job.id] < MOST_TRIES

    def surplus(self, job: BatchJob) -> set[int]:
        """Jobs that Slurm made of this one beside the one that it is: after a crash, when an answer
        was lost. They could only exit."""
        copies = self._parts.watcher.copies(job.id, job.user.username, job.job_id)
        live = {
            info.array_job_id or info.job_id
            for info in copies
            if info.state is not SlurmState.ENDED and lifecycle.is_ours(job, info)
        }
        return live - {job.job_id}
