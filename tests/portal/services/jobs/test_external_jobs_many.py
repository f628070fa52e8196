"""Jobs from outside the portal on a busy cluster: each gets a row, in batches per poll."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from portal.db import utcnow
from portal.models import Job, Mark, User
from portal.services.jobs.external_jobs import MARK, MOST_AT_ONCE, MOST_LIVE, Outside
from spawner.slurm.model import JobInfo, SlurmState
from tests.portal.reconcile_loop import World, looping

pytestmark = pytest.mark.anyio

SUBMITTED = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    async with looping(tmp_path, monkeypatch) as made:
        yield made


async def add_users(world: World, count: int, **columns: Any) -> list[str]:
    names = [f"user{number}" for number in range(count)]
    async with world.db.session() as db:
        db.add_all(User(username=name, **columns) for name in names)
        await db.commit()
    return names


def jobs_of(names: list[str], each: int, state: SlurmState) -> dict[int, JobInfo]:
    """Return jobs of each user; the last user's have the highest ids."""
    found = {}
    for name in names:
        for _ in range(each):
            number = len(found) + 1
            at = SUBMITTED + timedelta(seconds=number)
            found[number] = JobInfo(number, name, "x", state, state.upper(), submit_time=at)
    return found


async def look(world: World, outside: Outside) -> None:
    await world.look()
    await outside.look(utcnow())


async def rows(world: World, name: str | None = None) -> int:
    query = select(func.count()).select_from(Job).join(User, Job.user_id == User.id)
    async with world.db.session() as db:
        return await db.scalar(query if name is None else query.where(User.username == name)) or 0


async def test_all_jobs_of_many_users_are_taken(world: World) -> None:
    names = await add_users(world, 20)
    world.slurm.shown = jobs_of(names, 100, SlurmState.RUNNING)
    outside = Outside(world.context)
    for count in range(1, 5):
        await look(world, outside)
        assert await rows(world) == count * MOST_AT_ONCE
    assert [await rows(world, name) for name in names] == [100] * 20
    for again in (outside, Outside(world.context)):  # the same portal, and one after a restart
        await look(world, again)
        assert await rows(world) == 2000


async def test_how_many_of_one_users_are_taken_is_bounded(world: World) -> None:
    names = await add_users(world, 2)
    world.slurm.shown = jobs_of(names, MOST_LIVE + 50, SlurmState.QUEUED)
    for outside in (Outside(world.context), Outside(world.context)):
        for _ in range(2):
            await look(world, outside)
        assert [await rows(world, name) for name in names] == [MOST_LIVE] * 2


async def test_of_the_disabled_all_are_taken_for_they_are_to_end(world: World) -> None:
    (name,) = await add_users(world, 1, disabled_at=utcnow())
    world.slurm.shown = jobs_of([name], MOST_LIVE + 50, SlurmState.RUNNING)
    outside = Outside(world.context)
    await look(world, outside)
    assert await rows(world) == MOST_LIVE + 50


async def test_all_ended_jobs_are_read_before_the_mark_moves(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = await add_users(world, 10)
    ended = list(jobs_of(names, 100, SlurmState.ENDED).values())

    async def accounting(*_: Any) -> list[JobInfo]:
        return ended

    monkeypatch.setattr(world.slurm, "accounting", accounting)
    now = utcnow()
    await Outside(world.context).history(now)
    assert await rows(world) == 1000
    async with world.db.session() as db:
        mark = await db.get(Mark, MARK)
    assert mark is not None
    assert mark.at == now
