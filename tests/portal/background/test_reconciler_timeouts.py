"""Sessions that the loop ends because their start takes too long, and those that it must not
end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from portal.db import utcnow
from portal.models import JobState, Session, Wanted
from portal.services.sessions import servers
from portal.services.slurm.pending_rows import EVERYTHING_EVERY
from spawner.slurm.model import SlurmState
from tests.portal.reconcile_loop import World, looping

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
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    async with looping(tmp_path, monkeypatch) as made:
        made.context.hub = Hub()
        yield made


async def running(world: World, **columns: Any) -> str:
    """Add a session of three hours whose program has called home."""
    made: dict[str, Any] = {
        "name": "s1", "job_id": 5, "state": JobState.RUNNING, "started_at": STARTED,
        "called_home_at": STARTED, "target_host": "10.0.0.1", "target_port": 4000,
    }  # fmt: skip
    row_id = await world.add(Session, **(made | columns))
    show(world, row_id)
    await world.look()
    return row_id


def show(world: World, row_id: str, state: SlurmState = SlurmState.RUNNING) -> None:
    world.show(5, row_id, state)
    world.slurm.shown[5] = replace(world.slurm.shown[5], start_time=STARTED)


async def session(world: World, row_id: str) -> Session:
    async with world.db.session() as db:
        return await db.get_one(Session, row_id)


async def rounds(world: World, after: timedelta = timedelta(0)) -> None:
    """Run three rounds, the first of them after `after`."""
    for pause in (after, timedelta(0), timedelta(0)):
        await world.look()
        await world.round(pause)
        await world.acts()


async def test_a_session_that_the_hub_let_go_of_is_offered_again(world: World) -> None:
    """After its restart the hub stops servers that do not answer at once: one that is busy with
    a kernel, or all of them while there is no route to the nodes."""
    row_id = await running(world, ready_at=STARTED, first_ready_at=STARTED)
    await rounds(world)
    await servers.forget(world.context, "alice", "s1")
    await rounds(world)
    row = await session(world, row_id)
    assert (row.wanted, row.state, row.ready_at) == (Wanted.RUN, JobState.STARTING, None)
    assert world.context.hub.started[:1] == ["s1"]
    assert world.slurm.cancelled == []
    await rounds(world, AGES)
    assert (await session(world, row_id)).wanted is Wanted.RUN


@pytest.mark.parametrize("called_home", [False, True])
async def test_a_session_that_started_while_the_portal_was_away_lives(
    world: World, called_home: bool
) -> None:
    columns: dict[str, Any] = {} if called_home else {"called_home_at": None, "target_port": None}
    row_id = await running(world, state=JobState.QUEUED, **columns)
    await rounds(world)
    assert (await session(world, row_id)).wanted is Wanted.RUN
    await rounds(world, EVERYTHING_EVERY + timedelta(minutes=1))
    assert (await session(world, row_id)).wanted is Wanted.STOP, "it has had its time by now"


async def test_time_of_a_silence_of_slurms_does_not_count(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    row_id = await running(world, state=JobState.STARTING, called_home_at=None, target_port=None)
    world.slurm.away = True
    await rounds(world)
    later = utcnow() + AGES
    monkeypatch.setattr(world.watcher, "_now", lambda: later)
    world.slurm.away = False
    await rounds(world, AGES + timedelta(minutes=1))
    assert (await session(world, row_id)).wanted is Wanted.RUN


async def test_time_of_a_suspension_does_not_count(world: World) -> None:
    columns = {"called_home_at": None, "target_port": None}
    row_id = await running(world, state=JobState.SUSPENDED, **columns)
    show(world, row_id, SlurmState.SUSPENDED)
    await rounds(world)
    show(world, row_id)
    await rounds(world, AGES)
    row = await session(world, row_id)
    assert (row.state, row.wanted) == (JobState.STARTING, Wanted.RUN)
    await rounds(world, timedelta(minutes=4))
    assert (await session(world, row_id)).wanted is Wanted.STOP
