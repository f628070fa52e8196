"""The reader of ended jobs' metrics, with a real database."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from portal.background.scalar_reader import ScalarReader
from portal.models import BatchJob, JobState, User
from portal.services.jobs import scalars
from tests.portal.reconcile_loop import ReconcileHarness

pytestmark = pytest.mark.anyio


async def test_a_hanging_home_delays_no_other_users_metrics(
    harness: ReconcileHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with harness.db.session() as db:
        bob = User(username="bob")
        db.add(bob)
        await db.commit()
    ended: dict[str, Any] = {
        "state": JobState.ENDED, "array_size": 1, "logdir": "/logs",
        "tasks": [{"index": 0, "state": "ended"}],
    }  # fmt: skip
    stuck = await harness.add(**ended)
    other = await harness.add(**ended, user_id=bob.id, owner_id=bob.id)
    hangs, was_read = asyncio.Event(), asyncio.Event()

    async def read(_context: Any, row: BatchJob) -> None:
        if row.id == stuck:
            await hangs.wait()
        await harness.write(row.id, mark_read)
        was_read.set()

    def mark_read(row: Any) -> None:
        row.tasks = [{**task, "read": True} for task in row.tasks]

    monkeypatch.setattr(scalars, "store_task_values", read)
    reader = ScalarReader(harness.context)
    for row_id in (stuck, other):
        row = await harness.row(row_id)
        assert isinstance(row, BatchJob)
        reader.add(row, harness.now)
    reader.start_due(harness.now)
    async with asyncio.timeout(10):
        await was_read.wait()
    assert scalars.find_unread_tasks(await harness.row(stuck))
    assert not scalars.find_unread_tasks(await harness.row(other))
    await reader.close()


async def test_an_answer_without_values_is_not_requested_forever(
    harness: ReconcileHarness,
) -> None:
    async def answer(*_: Any) -> list[Any]:
        return []

    harness.context.file_pool = SimpleNamespace(scalars=answer)
    ended: dict[str, Any] = {
        "state": JobState.ENDED, "started_at": harness.now, "ended_at": harness.now,
        "logdir": "/logs",
    }  # fmt: skip
    array = await harness.add(
        **ended, array_size=2, tasks=[{"index": index, "state": "ended"} for index in (0, 1)]
    )
    single = await harness.add(**ended)

    async def load(row_id: str) -> BatchJob:
        row = await harness.row(row_id)
        assert isinstance(row, BatchJob)
        return row

    await scalars.store_task_values(harness.context, await load(array))
    await scalars.store_final_values(harness.context, await load(single))
    assert not scalars.find_unread_tasks(await load(array))
    assert not scalars.is_unread(await load(single))
