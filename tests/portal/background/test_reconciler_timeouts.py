"""Sessions that the loop ends because their start takes too long, and those that it must not
end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from portal.db import utcnow
from portal.models import JobState, Session, Wanted
from portal.services.sessions import nodes, servers
from portal.services.slurm.pending_rows import FULL_PASS_EVERY
from spawner.slurm.model import JobPhase
from tests.portal.reconcile_loop import ReconcileHarness

pytestmark = pytest.mark.anyio

AGES = timedelta(hours=3)
STARTED = utcnow() - AGES


@dataclass
class Hub:
    """A JupyterHub that records the servers it is asked to start."""

    started: list[str] = field(default_factory=list)

    async def ensure_user(self, _username: str) -> None:
        pass

    async def start_server(self, _username: str, name: str) -> None:
        self.started.append(name)


@pytest.fixture
def harness(harness: ReconcileHarness) -> ReconcileHarness:
    harness.context.hub = Hub()
    return harness


async def running(harness: ReconcileHarness, **columns: Any) -> str:
    """Add a session of three hours whose program has called home."""
    made: dict[str, Any] = {
        "name": "s1", "job_id": 5, "state": JobState.RUNNING, "started_at": STARTED,
        "called_home_at": STARTED, "target_host": "10.0.0.1", "target_port": 4000,
    }  # fmt: skip
    row_id = await harness.add(Session, **(made | columns))
    show(harness, row_id)
    await harness.look()
    return row_id


def show(harness: ReconcileHarness, row_id: str, state: JobPhase = JobPhase.RUNNING) -> None:
    harness.show(5, row_id, state)
    harness.slurm.shown[5] = replace(harness.slurm.shown[5], start_time=STARTED)


async def session(harness: ReconcileHarness, row_id: str) -> Session:
    async with harness.db.session() as db:
        return await db.get_one(Session, row_id)


async def rounds(harness: ReconcileHarness, after: timedelta = timedelta(0)) -> None:
    """Run three rounds, the first of them after `after`."""
    for pause in (after, timedelta(0), timedelta(0)):
        await harness.look()
        await harness.round(pause)
        await harness.acts()


async def test_a_session_that_the_hub_let_go_of_is_offered_again(harness: ReconcileHarness) -> None:
    """After its restart the hub stops servers that do not answer at once: one that is busy with
    a kernel, or all of them while there is no route to the nodes."""
    row_id = await running(harness, ready_at=STARTED, first_ready_at=STARTED)
    await rounds(harness)
    await servers.record_hub_stop(harness.context, "alice", "s1")
    await rounds(harness)
    row = await session(harness, row_id)
    assert (row.wanted, row.state, row.ready_at) == (Wanted.RUN, JobState.STARTING, None)
    assert harness.context.hub.started[:1] == ["s1"]
    assert harness.slurm.cancelled == []
    await rounds(harness, AGES)
    assert (await session(harness, row_id)).wanted is Wanted.RUN


@pytest.mark.parametrize("called_home", [False, True])
async def test_a_session_that_started_while_the_portal_was_away_lives(
    harness: ReconcileHarness, called_home: bool
) -> None:
    columns: dict[str, Any] = {} if called_home else {"called_home_at": None, "target_port": None}
    row_id = await running(harness, state=JobState.QUEUED, **columns)
    await rounds(harness)
    assert (await session(harness, row_id)).wanted is Wanted.RUN
    await rounds(harness, FULL_PASS_EVERY + timedelta(minutes=1))
    assert (await session(harness, row_id)).wanted is Wanted.STOP, "it has had its time by now"


async def test_time_of_a_silence_of_slurms_does_not_count(
    harness: ReconcileHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    row_id = await running(harness, state=JobState.STARTING, called_home_at=None, target_port=None)
    harness.slurm.away = True
    await rounds(harness)
    later = utcnow() + AGES
    monkeypatch.setattr(harness.watcher, "_now", lambda: later)
    harness.slurm.away = False
    await rounds(harness, AGES + timedelta(minutes=1))
    assert (await session(harness, row_id)).wanted is Wanted.RUN


async def test_time_of_a_suspension_does_not_count(harness: ReconcileHarness) -> None:
    columns = {"called_home_at": None, "target_port": None}
    row_id = await running(harness, state=JobState.SUSPENDED, **columns)
    show(harness, row_id, JobPhase.SUSPENDED)
    await rounds(harness)
    show(harness, row_id)
    await rounds(harness, AGES)
    row = await session(harness, row_id)
    assert (row.state, row.wanted) == (JobState.STARTING, Wanted.RUN)
    await rounds(harness, timedelta(minutes=4))
    assert (await session(harness, row_id)).wanted is Wanted.STOP


async def test_a_job_that_outlives_its_program_is_stopped(harness: ReconcileHarness) -> None:
    """A process that hangs in a file system would keep its GPU until the time limit."""
    row_id = await running(harness, ready_at=STARTED, first_ready_at=STARTED)
    await rounds(harness)
    await nodes.report(harness.context, await session(harness, row_id), "exiting", "shut down")
    await rounds(harness)
    row = await session(harness, row_id)
    assert (row.wanted, row.state) == (Wanted.RUN, JobState.STOPPING)
    await rounds(harness, timedelta(minutes=2))
    assert (await session(harness, row_id)).wanted is Wanted.STOP
    assert 5 in harness.slurm.cancelled


async def test_a_job_that_completes_after_its_program_keeps_its_outcome(
    harness: ReconcileHarness,
) -> None:
    row_id = await running(harness, ready_at=STARTED, first_ready_at=STARTED)
    await rounds(harness)
    await nodes.report(harness.context, await session(harness, row_id), "exiting", "shut down")
    show(harness, row_id, JobPhase.COMPLETING)
    await rounds(harness)
    await rounds(harness, timedelta(minutes=2))
    assert (await session(harness, row_id)).wanted is Wanted.RUN
