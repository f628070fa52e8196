"""Rows whose submission a crash has interrupted: users see what becomes of them within 30 s."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from portal.context import AppContext
from portal.db import utcnow
from portal.models import BatchJob, Job, JobState, Session
from portal.services.slurm import launch
from portal.services.store import update_row
from spawner.launcher.pool import GRACE_S
from tests.portal.reconcile_loop import ReconcileHarness

pytestmark = pytest.mark.anyio

SECOND = timedelta(seconds=1)
LAUNCHER_LIMIT = timedelta(seconds=10 + GRACE_S)


@pytest.fixture
def submitted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the IDs of the sessions that are submitted, in place of their submission."""
    made: list[str] = []

    async def submit(_context: AppContext, session: Session) -> None:
        made.append(session.id)

    monkeypatch.setattr(launch, "submit_session", submit)
    return made


async def interrupted(harness: ReconcileHarness, kind: type[Job], age: timedelta) -> str:
    """Add a row without a job, which neither squeue nor accounting knows."""
    columns = {"script": "true"} if kind is BatchJob else {"environment": "python3"}
    made = await harness.add(kind, state=JobState.SUBMITTING, created_at=utcnow() - age, **columns)
    since = utcnow()
    watcher: Any = harness.watcher
    watcher.unknown_since = watcher.missing_since = lambda *_: since
    return made


async def test_a_job_is_submitted_once_slurm_does_not_know_it(harness: ReconcileHarness) -> None:
    job = await interrupted(harness, BatchJob, SECOND)
    await harness.round()
    await harness.acts()
    assert harness.launchers.submitted == [job]
    assert (await harness.row(job)).job_id == harness.launchers.next_id


async def test_a_session_is_submitted_when_no_launcher_can_submit_it_any_more(
    harness: ReconcileHarness, submitted: list[str]
) -> None:
    """Of two copies the one that Slurm starts first runs, and the row may have the other's id."""
    session = await interrupted(harness, Session, LAUNCHER_LIMIT - 5 * SECOND)
    await harness.round()
    await harness.acts()
    assert submitted == []
    await harness.round(6 * SECOND)
    await harness.acts()
    assert submitted == [session]


async def test_a_session_that_a_request_submits_is_left_alone(
    harness: ReconcileHarness, submitted: list[str]
) -> None:
    session = await interrupted(harness, Session, timedelta(hours=1))
    harness.context.submitting[session] = None
    await harness.round()
    await harness.acts()
    assert submitted == []


async def test_a_session_whose_request_has_succeeded_since_is_left_alone(
    harness: ReconcileHarness, submitted: list[str]
) -> None:
    """The loop has read the row before the request recorded Slurm's id."""
    session = await interrupted(harness, Session, timedelta(hours=1))
    async with harness.db.session() as db:
        stale = await db.get_one(Session, session)

    def record(row: Session) -> None:
        row.job_id = 7

    await update_row(harness.db, Session, session, record)
    harness.loop._act_on_job(stale, utcnow())
    await harness.acts()
    assert submitted == []
