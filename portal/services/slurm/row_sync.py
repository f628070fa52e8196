"""Comparison of rows with the watcher's last result from Slurm: columns to write, and remaining
work.

Does not query Slurm and does not write to the database. The mapping of Slurm's states to a row's
columns is in lifecycle.py and arrays.py.
"""

from datetime import datetime, timedelta
from functools import partial

from portal.context import AppContext
from portal.models import BatchJob, Job, JobState, Session, Wanted
from portal.services.limits.gpu_limit import explain_pending
from portal.services.slurm import arrays, lifecycle
from portal.services.slurm.placement import find_last_state
from spawner.slurm.missing_jobs import SAME_SUBMISSION
from spawner.slurm.model import JobInfo, JobPhase

END_PATIENCE = timedelta(minutes=1)  # from the report of a session's program to its job's end
ALIVE = {JobPhase.QUEUED, JobPhase.RUNNING, JobPhase.SUSPENDED}
STATES_THAT_WAIT = {JobState.QUEUED, JobState.RUNNING, JobState.SUSPENDED}


class RowSync:
    """Comparison of rows with Slurm's state."""

    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._explain = partial(explain_pending, context)
        # Sessions by ID: the time at which they were resumed, and since when their jobs have
        # outlived their programs.
        self._resumed: dict[str, datetime] = {}
        self._outliving: dict[str, datetime] = {}

    def apply_report(self, row: Job, now: datetime) -> bool:
        """Change a row as follows from Slurm's report, or from the lack of one; return whether the
        row changed. The caller commits it.
        """
        if row.state is JobState.ENDED and not self._revive(row):
            return False
        values = self._observe(row, now) or self._give_up(row, now) or self._end_hanging(row, now)
        changes = {key: new for key, new in (values or {}).items() if getattr(row, key) != new}
        self._record_resumption(row, changes.get("state"), now)
        for column, value in changes.items():
            setattr(row, column, value)
        return bool(changes)

    def _revive(self, row: Job) -> bool:
        """Make an ended job live again if it, or a task of it, was requeued in Slurm after its
        end.
        """
        if not isinstance(row, BatchJob) or row.wanted is Wanted.STOP:
            return False  # its job is cancelled (find_unwanted_jobs)
        if self._context.watcher.stale_since is not None:
            return False
        alive = [info for info in self._find_shown(row) if info.phase in ALIVE]
        if not any(_is_requeued(row, info) for info in alive):
            return False
        row.state = JobState.QUEUED
        row.ended_at = row.outcome = row.exit_code = row.metrics = row.gpu_percent = None
        row.removed_at = None  # its owner has to see it
        return True

    def _give_up(self, row: Job, now: datetime) -> lifecycle.Update | None:
        """Return the columns of a session whose start has failed, or None.

        Its time limits count from when Slurm began to answer (after a start of this process or an
        outage of Slurm, during which node programs' reports are refused), or from when the session
        was last resumed.
        """
        answers_since = self._context.watcher.answers_since
        if answers_since is None:
            return None
        settings = self._context.settings
        patience = lifecycle.Patience(
            call_home=timedelta(minutes=settings.call_home_minutes),
            hub=timedelta(minutes=settings.hub_give_up_minutes),
        )
        since = max(answers_since, self._resumed.get(row.id, answers_since))
        return lifecycle.build_start_timeout_columns(row, now, patience, since)

    def _end_hanging(self, row: Job, now: datetime) -> lifecycle.Update | None:
        """Stop a session whose program has reported its end while its job goes on: a process that
        hangs, for example in a file system, would keep its GPUs until the time limit.
        """
        if not lifecycle.has_reported_its_end(row) or row.wanted is Wanted.STOP:
            return None
        info = find_last_state(self._context, row)
        if info is None or info.phase is not JobPhase.RUNNING:
            return None
        if now - self._outliving.setdefault(row.id, now) <= END_PATIENCE:
            return None
        return {"wanted": Wanted.STOP, "stop_requested_at": now}

    def _record_resumption(self, row: Job, state: JobState | None, now: datetime) -> None:
        if state is JobState.ENDED:
            self._resumed.pop(row.id, None)
            self._outliving.pop(row.id, None)
        elif isinstance(row, Session) and row.state is JobState.SUSPENDED and state is not None:
            self._resumed[row.id] = now

    def needs_no_more_actions(self, row: Job) -> bool:
        """Return whether there will never be an action for this row."""
        if row.state is not JobState.ENDED or self.find_unwanted_jobs(row):
            return False
        return not (isinstance(row, Session) and row.server_env is not None)

    def waits_for_change(self, row: Job, now: datetime) -> bool:
        """Return whether nothing is to be done for this row until it is written or squeue shows a
        change. While Slurm does not answer, this is true of every row that is queued, runs or is
        suspended; all rows are processed when it answers again.
        """
        if row.wanted is Wanted.STOP or row.state not in STATES_THAT_WAIT:
            return False
        if self._context.watcher.stale_since is not None:
            return True
        shown = self._find_shown(row)
        return (
            any(info.phase in ALIVE for info in shown)
            and not any(lifecycle.awaits_accounting(info, now) for info in shown)
            and not (isinstance(row, BatchJob) and self.find_duplicate_jobs(row))
        )

    def _find_shown(self, row: Job) -> list[JobInfo]:
        """Return what squeue currently shows of a row."""
        shown = self._context.watcher.list_records(
            row.id, row.user.username, row.job_id, lifecycle.is_external(row)
        )
        return [info for info in shown if lifecycle.is_ours(row, info)]

    def find_unwanted_jobs(self, row: Job) -> set[int]:
        """Return the Slurm job IDs of live jobs of a row that was stopped and has ended."""
        if row.state is not JobState.ENDED or row.wanted is not Wanted.STOP:
            return set()
        return {i.array_job_id or i.job_id for i in self._find_shown(row) if i.phase in ALIVE}

    def _observe(self, job: Job, now: datetime) -> lifecycle.Update | None:
        """Return the columns that follow from the watcher's last result, or None if nothing
        changes.
        """
        watcher = self._context.watcher
        if watcher.stale_since is not None:
            return {"stale_since": job.stale_since or watcher.stale_since}
        if isinstance(job, BatchJob):
            self._ignore_lost_jobs(job)
            ours = self._find_copies(job)
            if job.array_size is not None and ours:
                return arrays.build_observed_columns(
                    job, arrays.select_tasks(job, ours), now, self._explain
                )
            info = lifecycle.choose_copy(ours) or find_last_state(self._context, job)
            if job.array_size is not None and info is not None:
                # None of its tasks is in squeue any longer: accounting has them all.
                return {
                    "job_id": info.array_job_id or job.job_id,
                    "usage_due": job.usage_due or now,
                }
        else:
            info = find_last_state(self._context, job)
        if info is None or not lifecycle.is_ours(job, info):
            return self._handle_missing(job, now)
        update = lifecycle.build_observed_columns(
            job, info, now, self._explain, answers_since=watcher.answers_since
        )
        unchanged = all(getattr(job, key) == value for key, value in update.items())
        return None if unchanged else update

    def _handle_missing(self, job: Job, now: datetime) -> lifecycle.Update | None:
        """Return the columns of a job that neither squeue nor accounting has, while both answer;
        None until that is certain, and for a job that is submitted (again).
        """
        watcher, name = self._context.watcher, (job.id, job.user.username)
        since = watcher.unknown_since(*name)
        if since is None:
            return None
        if now - since < lifecycle.LOST_PATIENCE and not watcher.is_lost_by_slurmctld(*name):
            return None
        never_submitted = job.job_id is None and job.wanted is Wanted.RUN
        if never_submitted or lifecycle.may_submit_again(job):
            return None
        return lifecycle.build_lost_columns(job, now)

    def _ignore_lost_jobs(self, job: BatchJob) -> None:
        """Have the watcher ignore jobs that ended before their script began: the row has a new
        one.
        """
        for lost in job.lost_jobs or ():
            if lost["outcome"] and lost["submit_time"]:
                submitted = datetime.fromisoformat(lost["submit_time"])
                self._context.watcher.ignore(job.id, job.user.username, lost["job_id"], submitted)

    def _find_copies(self, job: BatchJob) -> list[JobInfo]:
        """Return what squeue shows of a batch job, including extra jobs of its row."""
        copies = self._context.watcher.list_copies(job.id, job.user.username, job.job_id)
        return [info for info in copies if lifecycle.is_ours(job, info)]

    def find_end(self, job: BatchJob) -> JobInfo | None:
        """Return Slurm's report of the end of a row's job, None if there is none."""
        info = lifecycle.choose_copy(self._find_copies(job)) or find_last_state(self._context, job)
        if info is None or info.phase is not JobPhase.ENDED or info.job_id != job.job_id:
            return None
        return info if lifecycle.is_ours(job, info) else None

    def find_duplicate_jobs(self, job: BatchJob) -> set[int]:
        """Return the Slurm job IDs of extra jobs of this row, which exist after a crash in which
        Slurm's answer was lost. They can only exit.
        """
        live = {
            info.array_job_id or info.job_id
            for info in self._find_copies(job)
            if info.phase is not JobPhase.ENDED
        }
        return live - {job.job_id}


def _is_requeued(row: BatchJob, info: JobInfo) -> bool:
    """Return whether Slurm's job is this row's, submitted again since it was last seen."""
    if (info.array_job_id or info.job_id) != row.job_id:
        return False
    if row.array_size is not None:
        return arrays.is_requeued(row, info)
    if row.submit_time is None or info.submit_time is None:
        return False
    return info.submit_time > row.submit_time + SAME_SUBMISSION
