"""Prometheus metrics of sessions and jobs: queue wait, start-up time and outcome.

They are updated from SQLAlchemy flush events, so code that writes rows need not know about them.
Jobs that were not submitted through the portal do not count, and neither do rows that are inserted
in an ended state.
"""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import inspect
from sqlalchemy.orm import Session as DbSession

from portal.metrics import UNKNOWN, Metrics
from portal.models import Job, JobState, Session
from portal.services.slurm.lifecycle import is_external


class JobMetrics:
    """Updates `metrics` from changed rows.

    A session that JupyterHub lost is offered to it again and becomes ready once more. That is not a
    start: it comes more than `patience` after the session first contacted the portal, and is not
    counted.
    """

    def __init__(self, metrics: Metrics, patience: timedelta) -> None:
        self._metrics, self._patience = metrics, patience

    def after_flush(self, session: DbSession, _context: object = None) -> None:
        """Handle the SQLAlchemy event of this name: count the changed rows."""
        for row in session.dirty:
            if isinstance(row, Job) and not is_external(row):
                self._count(row)

    def _count(self, row: Job) -> None:
        if _was_set(row, "started_at"):
            waited = _queue_wait(row)
            self._metrics.queue_wait.labels(row.kind.value).observe(waited.total_seconds())
        if isinstance(row, Session) and _was_set(row, "ready_at"):
            self._observe_start_time(row)
        if row.state is JobState.ENDED and _get_previous(row, "state") not in (
            None,
            JobState.ENDED,
        ):
            outcome = row.outcome.value if row.outcome else UNKNOWN
            self._metrics.jobs_ended.labels(row.kind.value, outcome).inc()

    def _observe_start_time(self, row: Session) -> None:
        ready, called = row.ready_at, row.called_home_at
        if ready is None or called is None or ready - called > self._patience:
            return
        took = ready - row.created_at - _queue_wait(row)
        self._metrics.spawn.observe(max(0.0, took.total_seconds()))


def _queue_wait(row: Job) -> timedelta:
    """Return the time between submission and start, zero before the start.

    Both times come from Slurm's clock, in whole seconds, if Slurm reported the submit time.
    """
    submitted: datetime | None = row.submit_time or row.submitted_at
    if row.started_at is None or submitted is None:
        return timedelta(0)
    return max(timedelta(0), row.started_at - submitted)


def _get_previous(row: Job, column: str) -> Any:
    """Return the value before this change; None also if the column did not change."""
    deleted = inspect(row).attrs[column].history.deleted
    return deleted[0] if deleted else None


def _was_set(row: Job, column: str) -> bool:
    """Return whether the column was empty before this change and has a value now."""
    history = inspect(row).attrs[column].history
    return any(history.added) and not any(history.deleted or ())
