"""What becomes of sessions and jobs, counted as it is written: how long they wait in Slurm's queue,
how long a start takes, and how they end.

Whoever writes a row needn't know of it. Rows of jobs that the portal only found in Slurm don't
count, and neither does what was written as ended in the first place.
"""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import inspect
from sqlalchemy.orm import Session as DbSession

from portal.metrics import UNKNOWN, Metrics
from portal.models import Job, JobState, Session
from portal.services.slurm.lifecycle import from_outside


class Counting:
    """Counts into `metrics`. A session that the hub has lost is offered again and gets ready once
    more: that is no start, and comes later than `patience` after its program called."""

    def __init__(self, metrics: Metrics, patience: timedelta) -> None:
        self._metrics, self._patience = metrics, patience

    def after_flush(self, session: DbSession, _context: object = None) -> None:
        """For the database's event of that name: rows that were changed, with what they were."""
        for row in session.dirty:
            if isinstance(row, Job) and not from_outside(row):
                self._look(row)

    def _look(self, row: Job) -> None:
        if _became(row, "started_at"):
            waited = _queue_wait(row)
            self._metrics.queue_wait.labels(row.kind.value).observe(waited.total_seconds())
        if isinstance(row, Session) and _became(row, "ready_at"):
            self._ready(row)
        if row.state is JobState.ENDED and _was(row, "state") not in (None, JobState.ENDED):
            outcome = row.outcome.value if row.outcome else UNKNOWN
            self._metrics.jobs_ended.labels(row.kind.value, outcome).inc()

    def _ready(self, row: Session) -> None:
        ready, called = row.ready_at, row.called_home_at
        if ready is None or called is None or ready - called > self._patience:
            return
        took = ready - row.created_at - _queue_wait(row)
        self._metrics.spawn.observe(max(0.0, took.total_seconds()))


def _queue_wait(row: Job) -> timedelta:
    """Both by Slurm's clock where it has told them, in whole seconds; nought before the start."""
    taken: datetime | None = row.submit_time or row.submitted_at
    if row.started_at is None or taken is None:
        return timedelta(0)
    return max(timedelta(0), row.started_at - taken)


def _was(row: Job, column: str) -> Any:
    """The value before this change; None where it wasn't changed, too."""
    deleted = inspect(row).attrs[column].history.deleted
    return deleted[0] if deleted else None


def _became(row: Job, column: str) -> bool:
    """Whether there is a value now, and was none before."""
    history = inspect(row).attrs[column].history
    return any(history.added) and not any(history.deleted or ())
