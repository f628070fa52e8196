"""The rows that the reconcile loop processes, with a real database and a fake squeue."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import event

import portal.db as database
from portal.background import reconciler
from portal.models import BatchJob, JobState, Session
from portal.services.slurm.pending_rows import EVERYTHING_EVERY, load
from spawner.slurm.model import SlurmState
from tests.portal.reconcile_loop import World, looping, stop

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    async with looping(tmp_path, monkeypatch) as made:
        yield made


async def test_what_waits_is_not_read_again(world: World) -> None:
    ids = await world.queued(250)
    assert await world.round() == set(ids)
    assert (await world.row(ids[0])).reason
    assert await world.round() == set()
    await world.look()
    assert await world.round() == set()


async def test_a_row_that_was_written_is_looked_at(world: World) -> None:
    ids = await world.queued(3)
    await world.round()
    await world.write(ids[1], stop)
    assert await world.round() == {ids[1]}
    await world.acts()
    assert world.slurm.cancelled == [2]
    assert await world.round() == {ids[1]}, "it is on its way until it has ended"


async def test_a_new_row_is_looked_at(world: World) -> None:
    await world.round()
    made = await world.add(state=JobState.SUBMITTING)
    assert made in await world.round()


async def test_a_row_that_is_deleted_while_it_is_read_is_read_whole(world: World) -> None:
    """As by a refused submission: no other query may be needed for the rest of its columns."""
    made = await world.add(state=JobState.SUBMITTING)

    def delete(*_: Any) -> None:
        with closing(sqlite3.connect(world.db.engine.url.database or "")) as other, other:
            other.execute("DELETE FROM batch_jobs WHERE id = ?", (made,))
            other.execute("DELETE FROM jobs WHERE id = ?", (made,))

    event.listen(world.db.engine.sync_engine, "after_cursor_execute", delete, once=True)
    async with world.db.session() as db:
        (row,) = await load(db, [made])
    assert isinstance(row, BatchJob)
    assert (row.id, row.array_size, row.user.username) == (made, None, "alice")
    assert await world.round() == set()


async def test_row_changed_by_a_request_during_a_round_is_written_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The round's own transaction ends before the rows are written one by one."""
    monkeypatch.setattr(database, "WRITER_TIMEOUT_S", 2)  # what a nested writer would wait for
    ids = await world.queued(3)
    await world.round()
    for number, row_id in enumerate(ids, start=1):
        world.show(number, row_id, SlurmState.RUNNING)
    await world.look()
    loaded = reconciler.load

    async def load_then_stop(db: Any, changed: list[str]) -> Any:
        rows = await loaded(db, changed)
        await world.write(ids[0], stop)
        return rows

    monkeypatch.setattr(reconciler, "load", load_then_stop)
    await world.round()
    states = [(await world.row(row_id)).state for row_id in ids]
    assert states == [JobState.STOPPING, JobState.RUNNING, JobState.RUNNING]


async def test_what_squeue_shows_differently_is_looked_at(world: World) -> None:
    ids = await world.queued(3)
    await world.round()
    world.show(2, ids[1], SlurmState.RUNNING)
    await world.look()
    assert await world.round() == {ids[1]}
    assert (await world.row(ids[1])).state is JobState.RUNNING
    assert await world.round() == set()


async def test_what_squeue_no_longer_shows_is_watched_until_it_is_known(world: World) -> None:
    ids = await world.queued(3)
    await world.round()
    del world.slurm.shown[2]
    await world.look()
    assert await world.round() == {ids[1]}
    assert await world.round() == {ids[1]}
    assert (await world.row(ids[1])).state is JobState.QUEUED, "absence is no end"


async def test_all_are_looked_at_now_and_then(world: World) -> None:
    ids = await world.queued(3)
    await world.round()
    assert await world.round(EVERYTHING_EVERY) == set(ids)


async def test_a_silence_of_slurm_is_one_statement(world: World) -> None:
    """No rows are read for it; when Slurm answers again, all are."""
    ids = await world.queued(3)
    await world.round()
    world.slurm.away = True
    await world.look()
    written: list[str] = []
    event.listen(
        world.db.engine.sync_engine,
        "before_cursor_execute",
        lambda _c, _cursor, statement, *_: written.append(statement),
    )
    assert await world.round() == set()
    assert sum(statement.startswith("UPDATE") for statement in written) == 1
    assert (await world.row(ids[0])).stale_since is not None
    world.slurm.away = False
    await world.look()
    assert await world.round() == set(ids)
    assert (await world.row(ids[0])).stale_since is None


async def test_an_ended_session_stays_until_the_hub_let_go_of_it(world: World) -> None:
    made = await world.add(Session, state=JobState.ENDED, server_env={"A": "b"})
    away: Any = SimpleNamespace(stop_server=lambda *_, **__: asyncio.sleep(0, False))
    world.context.hub = away
    assert await world.round() == {made}
    assert await world.round() == {made}
    away.stop_server = lambda *_, **__: asyncio.sleep(0, True)
    await world.round(timedelta(minutes=1))
    await world.acts()
    await world.round()
    assert await world.round() == set()


async def test_someone_else_was_quicker(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of many rows was written in between: the updates of the others are not lost."""
    ids = await world.queued(5)
    write, meddled = world.loop._watched.write, []

    def meddle(row: Any, now: datetime) -> bool:
        if not meddled and row.id == ids[2]:
            meddled.append(row.id)
            row.version -= 1  # as if another process had written it since it was read
        return write(row, now)

    monkeypatch.setattr(world.loop._watched, "write", meddle)
    assert await world.round() == set(ids)
    assert all([(await world.row(row_id)).reason for row_id in ids])
