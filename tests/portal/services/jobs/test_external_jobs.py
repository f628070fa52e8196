"""Jobs from outside the portal are in their owners' lists, whatever their comments are.

The same against a real Slurm: tests/cluster/test_jobs.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select

from portal.models import Job, Role, User, new_id
from spawner.slurm.model import JobInfo, SlurmState
from tests.patience import PATIENCE_S
from tests.portal.job_portal import World, job_world
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def world(slapd: Slapd, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with job_world(slapd, tmp_path_factory.mktemp("jobs")) as made:
        yield made


def show(world: World, number: int, uuid: str | None, **changes: Any) -> None:
    submitted = datetime.now(UTC).replace(microsecond=0)
    waiting = JobInfo(
        number, "alice", f"number {number}", SlurmState.QUEUED, "PENDING", uuid=uuid,
        submit_time=submitted, reason="Priority",
    )  # fmt: skip
    world.slurm.shown[number] = replace(waiting, **changes)


async def taken(world: World, number: int) -> Any:
    """Return the job with this Slurm id, once it is in alice's list."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            items = (await world.ask("GET", f"/jobs?q={number}")).body["items"]
            if found := [job for job in items if job["job_id"] == number]:
                (job,) = found
                return job
            await asyncio.sleep(0.02)


async def test_a_comment_like_ours_hides_no_job(world: World) -> None:
    """A comment with an unknown UUID, or with that of another user's job; the job is listed
    normally."""
    (theirs,) = await world.rows(1, "bob")
    comments = {901: None, 902: new_id(), 903: theirs}
    for number, uuid in comments.items():
        show(world, number, uuid)
    jobs = {number: await taken(world, number) for number in comments}
    assert [job["external"] for job in jobs.values()] == [True] * 3
    for number, uuid in comments.items():
        now = datetime.now(UTC)
        show(world, number, uuid, state=SlurmState.RUNNING, nodes=("node03",), start_time=now)
    for job in jobs.values():
        assert (await world.settled(job["id"], "running"))["nodes"] == ["node03"]
    assert (await world.ask("POST", f"/jobs/{jobs[902]['id']}/cancel")).status == 202
    async with asyncio.timeout(PATIENCE_S):
        while 902 not in world.slurm.cancelled:
            await asyncio.sleep(0.02)


async def test_ones_own_job_is_no_other(world: World) -> None:
    made = await world.job(name="mine")
    found = await world.settled(made["id"], "queued")
    show(world, 904, None)  # listed by the same round, or a later one
    await taken(world, 904)
    assert (await taken(world, found["job_id"]))["id"] == made["id"]


async def test_jobs_from_before_the_first_login_are_added_at_login(
    world: World,
) -> None:
    show(world, 905, None, user="newcomer")
    show(world, 906, None)
    await taken(world, 906)  # the same poll has skipped the other
    async with world.context.db.session() as db:
        db.add(User(username="newcomer", display_name="N", role=Role.USER))
        await db.commit()
    async with asyncio.timeout(PATIENCE_S):
        while True:
            async with world.context.db.session() as db:
                if await db.scalar(select(Job.id).where(Job.job_id == 905)):
                    return
            await asyncio.sleep(0.02)
