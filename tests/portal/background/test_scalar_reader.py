"""The reader of ended jobs' metrics, with a real database."""

from __future__ import annotations

import asyncio
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

    monkeypatch.setattr(scalars, "read", read)
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
