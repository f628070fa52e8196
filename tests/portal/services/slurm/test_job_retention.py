"""Deletion of sessions and jobs that ended long ago, with their folders."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import func, select, update

from portal.db import Database, utcnow
from portal.models import (
    BatchJob,
    BenchmarkRun,
    Job,
    JobState,
    Session,
    Share,
    Tensorboard,
    TensorboardJob,
    User,
)
from portal.services.slurm import job_retention
from portal.services.slurm.job_retention import delete_expired
from tests.portal.job_portal import FakeLaunchers, FakeSlurm
from tests.servers.databases import database_of

pytestmark = pytest.mark.anyio
DAYS = 31
NOW = utcnow()
LONG_AGO = NOW - timedelta(days=DAYS + 1)


@pytest.fixture
async def context(tmp_path: Path) -> AsyncIterator[Any]:
    """A context in which bob's home can't be opened."""
    database = Database(database_of(tmp_path))
    await database.migrate()
    launchers = FakeLaunchers(FakeSlurm(), without_home={"bob"})
    settings = SimpleNamespace(job_retention_days=DAYS)
    async with database.session() as db:
        db.add_all([User(username="alice"), User(username="bob")])
        await db.commit()
    yield SimpleNamespace(db=database, launchers=launchers, settings=settings)
    await database.close()


async def add(
    context: Any, kind: type[Job] = BatchJob, owner: str = "alice", **columns: Any
) -> str:
    """Add a row that ended long ago; return its id."""
    async with context.db.session() as db:
        user_id = await db.scalar(select(User.id).where(User.username == owner))
        own = {"owner_id": user_id} if kind is BatchJob else {}
        ended = {"state": JobState.ENDED, "created_at": LONG_AGO, "ended_at": LONG_AGO}
        row = kind(user_id=user_id, name="x", resources={}, **(own | ended | columns))
        db.add(row)
        await db.commit()
        return row.id


async def add_board(context: Any, parent_id: str, **columns: Any) -> str:
    """Add the TensorBoard of a row; return its run's id."""
    async with context.db.session() as db:
        owner = await db.scalar(select(Job.user_id).where(Job.id == parent_id))
        board = Tensorboard(parent_id=parent_id, user_id=owner, logdir="/l", **columns)
        db.add(board)
        await db.commit()
        return board.run_id


async def left(context: Any) -> set[str]:
    async with context.db.session() as db:
        return set((await db.scalars(select(Job.id))).all())


async def test_what_ended_long_ago_is_deleted_with_its_folders(context: Any) -> None:
    job = await add(context)
    run = await add_board(context, job, wanted=False)
    async with context.db.session() as db:
        db.add(Share(parent_id=job, username="bob"))
        await db.commit()
    session = await add(context, Session, removed_at=LONG_AGO)
    of_board = await add(context, TensorboardJob)
    kept = {
        await add(context, ended_at=NOW - timedelta(days=DAYS - 1)),
        await add(context, state=JobState.RUNNING, ended_at=None),
        await add(context, Session, server_env={}),
    }
    viewed = await add(context)
    await add_board(context, viewed, wanted=True)
    assert await delete_expired(context, NOW) == 3
    assert await left(context) == {*kept, viewed}
    assert sorted(context.launchers.forgotten) == sorted([job, run, session, of_board])
    async with context.db.session() as db:
        assert await db.scalar(select(func.count()).select_from(Share)) == 0
        assert (await db.scalars(select(Tensorboard.parent_id))).all() == [viewed]
    assert await delete_expired(context, NOW) == 0


async def test_without_the_setting_nothing_is_deleted(context: Any) -> None:
    context.settings.job_retention_days = None
    job = await add(context)
    assert await delete_expired(context, NOW) == 0
    assert await left(context) == {job}
    assert context.launchers.forgotten == []


async def test_benchmark_results_keep_their_job(context: Any) -> None:
    job = await add(context)
    async with context.db.session() as db:
        owner = await db.scalar(select(Job.user_id))
        run = BenchmarkRun(
            batch_job_id=job, user_id=owner, template="t", gpus=0, nodes=1, figures=[],
            ended_at=LONG_AGO,
        )  # fmt: skip
        db.add(run)
        await db.commit()
    assert await delete_expired(context, NOW) == 0
    assert await left(context) == {job}


async def test_homes_that_fail_keep_no_other_folder_waiting(
    context: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_retention, "MAX_JOBS_PER_QUERY", 1)
    failing = {await add(context, owner="bob") for _ in range(3)}
    others = [await add(context) for _ in range(2)]
    assert await delete_expired(context, NOW) == len(others)
    assert await left(context) == failing
    context.launchers.without_home.clear()
    assert await delete_expired(context, NOW) == len(failing)


async def test_a_disabled_users_jobs_stay_until_the_user_is_deleted(context: Any) -> None:
    job = await add(context, owner="bob")

    async def set_user(**values: Any) -> None:
        async with context.db.session() as db:
            await db.execute(update(User).where(User.username == "bob").values(**values))
            await db.commit()

    await set_user(disabled_at=NOW)
    assert await delete_expired(context, NOW) == 0
    assert await left(context) == {job}
    await set_user(deleted_at=NOW)
    assert await delete_expired(context, NOW) == 1, "without a launcher"
    assert await left(context) == set()
