"""TensorBoards in the reconcile loop, with a real database."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from portal.background.tensorboard_reconciler import ENDED_EARLY
from portal.models import JobState, Tensorboard, TensorboardJob, TensorboardState
from tests.portal.reconcile_loop import ReconcileHarness

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ({"state": JobState.QUEUED, "reason": "Priority."}, TensorboardState.QUEUED),
        ({"state": JobState.RUNNING}, TensorboardState.STARTING),
        ({"state": JobState.ENDED}, TensorboardState.FAILED),
    ],
)
async def test_a_tensorboard_may_wait_in_the_queue(
    harness: ReconcileHarness, host: dict[str, Any], expected: TensorboardState
) -> None:
    """Its patience begins when its own job starts."""
    parent = await harness.add(state=JobState.ENDED)
    now = harness.now
    started_at = now if host["state"] is JobState.RUNNING else None
    own = await harness.add(TensorboardJob, **host, started_at=started_at)
    async with harness.db.session() as db:
        row = Tensorboard(
            parent_id=parent, user_id=harness.user.id, logdir="/x", own_job_id=own,
            state=TensorboardState.QUEUED, started_at=now - timedelta(minutes=3),
            last_request_at=now,
        )  # fmt: skip
        db.add(row)
        await db.commit()
        board = await db.get_one(Tensorboard, row.id, populate_existing=True)
        job = await db.get_one(TensorboardJob, own)
    await harness.loop._tensorboards._act_on_board(board, job, now)
    async with harness.db.session() as db:
        found = await db.get_one(Tensorboard, board.id)
    assert (found.state, found.wanted) == (expected, expected is not TensorboardState.FAILED)
    assert found.reason == {
        TensorboardState.QUEUED: "Priority.", TensorboardState.FAILED: ENDED_EARLY,
    }.get(expected)  # fmt: skip


async def test_heartbeats_of_stopped_runs_are_forgotten(harness: ReconcileHarness) -> None:
    """A program's last request may arrive after its run was stopped."""
    harness.context.tensorboard_heartbeats["stopped"] = harness.now
    await harness.round()
    assert harness.context.tensorboard_heartbeats == {}
