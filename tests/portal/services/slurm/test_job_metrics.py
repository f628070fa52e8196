"""Metrics of waits, starts and ends, updated as rows are written."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from portal.db import Database
from portal.metrics import Metrics
from portal.models import BatchJob, Job, JobState, Session, User, new_id
from portal.services.slurm.job_metrics import JobMetrics
from portal.services.store import update_row
from spawner.slurm.model import Outcome
from tests.servers.databases import database_of

pytestmark = pytest.mark.anyio

BEGAN = datetime(2026, 1, 1, 12, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


class MetricsHarness:
    """A database whose rows are counted, and one user."""

    def __init__(self, db: Database, metrics: Metrics, user: User) -> None:
        self.db, self.metrics, self.user = db, metrics, user

    async def add(self, kind: type[Job], **columns: Any) -> str:
        made: dict[str, Any] = {
            "id": new_id(), "user_id": self.user.id, "name": new_id(), "resources": {},
            "state": JobState.QUEUED, "created_at": BEGAN, "submit_time": after(1),
        }  # fmt: skip
        if kind is BatchJob:
            made |= {"owner_id": self.user.id, "parameters": {}, "files": {}, "nodes": []}
        row = kind(**(made | columns))
        async with self.db.session() as db:
            db.add(row)
            await db.commit()
        return row.id

    async def set(self, kind: type[Job], row_id: str, **columns: Any) -> None:
        def apply(row: Job) -> None:
            for column, new in columns.items():
                setattr(row, column, new)

        await update_row(self.db, kind, row_id, apply)

    def counted(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(name, labels)


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[MetricsHarness]:
    db = Database(database_of(tmp_path))
    await db.migrate()
    user, metrics = User(username="alice"), Metrics()
    async with db.session() as session:
        session.add(user)
        await session.commit()
    db.after_flush(JobMetrics(metrics, timedelta(minutes=5)).after_flush)
    try:
        yield MetricsHarness(db, metrics, user)
    finally:
        await db.close()


async def test_a_job_waits_starts_and_ends(harness: MetricsHarness) -> None:
    job = await harness.add(BatchJob)
    await harness.set(BatchJob, job, reason="Priority")
    assert harness.counted("portal_queue_wait_seconds_count", kind="job") == 0
    await harness.set(BatchJob, job, state=JobState.RUNNING, started_at=after(61))
    await harness.set(BatchJob, job, started_at=after(61), reason=None)
    assert harness.counted("portal_queue_wait_seconds_sum", kind="job") == 60
    ended = {"state": JobState.ENDED, "outcome": Outcome.TIMEOUT, "ended_at": after(600)}
    await harness.set(BatchJob, job, **ended)
    await harness.set(BatchJob, job, **ended, exit_code=1)
    assert harness.counted("portal_queue_wait_seconds_count", kind="job") == 1
    assert harness.counted("portal_jobs_ended_total", kind="job", outcome="timeout") == 1


async def test_one_that_began_and_ended_between_two_looks(harness: MetricsHarness) -> None:
    job = await harness.add(BatchJob)
    await harness.set(
        BatchJob, job, state=JobState.ENDED, outcome=Outcome.COMPLETED, started_at=after(3)
    )
    assert harness.counted("portal_queue_wait_seconds_sum", kind="job") == 2
    assert harness.counted("portal_jobs_ended_total", kind="job", outcome="completed") == 1


async def test_a_start_is_counted_without_the_queue_and_once(harness: MetricsHarness) -> None:
    session = await harness.add(Session)
    await harness.set(Session, session, state=JobState.STARTING, started_at=after(101))
    await harness.set(Session, session, called_home_at=after(102))
    await harness.set(Session, session, state=JobState.RUNNING, ready_at=after(103))
    assert harness.counted("portal_spawn_seconds_sum") == 3  # of 103 s, 100 were in the queue
    # the hub loses it, and has it again an hour later
    await harness.set(Session, session, state=JobState.STARTING, ready_at=None)
    await harness.set(Session, session, state=JobState.RUNNING, ready_at=after(3700))
    assert harness.counted("portal_spawn_seconds_count") == 1


async def test_clocks_that_disagree_make_no_negative_times(harness: MetricsHarness) -> None:
    session = await harness.add(Session, submit_time=after(10))
    await harness.set(Session, session, started_at=after(2), called_home_at=after(3))
    await harness.set(Session, session, ready_at=after(-5))
    assert harness.counted("portal_queue_wait_seconds_sum", kind="session") == 0
    assert harness.counted("portal_spawn_seconds_sum") == 0


async def test_what_came_from_outside_or_was_undone_does_not_count(harness: MetricsHarness) -> None:
    outside = await harness.add(BatchJob, id="12345678-1234-5234-8234-123456789abc", external=True)
    await harness.set(BatchJob, outside, state=JobState.ENDED, started_at=after(9))
    await harness.add(BatchJob, state=JobState.ENDED, started_at=after(9))
    job = await harness.add(BatchJob)
    async with harness.db.session() as db:
        row = await db.get(BatchJob, job)
        assert row is not None
        row.reason = "never written"
        await db.rollback()
    assert harness.counted("portal_queue_wait_seconds_count", kind="job") == 0
    assert harness.counted("portal_jobs_ended_total", kind="job", outcome="unknown") == 0


async def test_two_databases_count_apart(harness: MetricsHarness, tmp_path: Path) -> None:
    other = Database(database_of(tmp_path))
    job = await harness.add(BatchJob)
    await MetricsHarness(other, harness.metrics, harness.user).set(
        BatchJob, job, state=JobState.ENDED, outcome=Outcome.FAILED
    )
    await other.close()
    assert harness.counted("portal_jobs_ended_total", kind="job", outcome="failed") == 0
