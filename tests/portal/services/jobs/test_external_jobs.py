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
from spawner.slurm.model import JobInfo, JobPhase
from tests.polling import PATIENCE_S, until
from tests.portal.job_portal import JobPortal, run_job_portal
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def job_portal(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[JobPortal]:
    async with run_job_portal(slapd, tmp_path_factory.mktemp("jobs")) as made:
        yield made


def show(job_portal: JobPortal, number: int, uuid: str | None, **changes: Any) -> None:
    submitted = datetime.now(UTC).replace(microsecond=0)
    waiting = JobInfo(
        number, "alice", f"number {number}", JobPhase.QUEUED, "PENDING", uuid=uuid,
        submit_time=submitted, reason="Priority",
    )  # fmt: skip
    job_portal.slurm.shown[number] = replace(waiting, **changes)


async def taken(job_portal: JobPortal, number: int) -> Any:
    """Return the job with this Slurm id, once it is in alice's list."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            items = (await job_portal.ask("GET", f"/jobs?q={number}")).body["items"]
            if found := [job for job in items if job["job_id"] == number]:
                (job,) = found
                return job
            await asyncio.sleep(0.02)


async def test_a_comment_like_ours_hides_no_job(job_portal: JobPortal) -> None:
    """A comment with an unknown UUID, or with that of another user's job; the job is listed
    normally."""
    (theirs,) = await job_portal.rows(1, "bob")
    comments = {901: None, 902: new_id(), 903: theirs}
    for number, uuid in comments.items():
        show(job_portal, number, uuid)
    jobs = {number: await taken(job_portal, number) for number in comments}
    assert [job["external"] for job in jobs.values()] == [True] * 3
    for number, uuid in comments.items():
        now = datetime.now(UTC)
        show(job_portal, number, uuid, phase=JobPhase.RUNNING, nodes=("node03",), start_time=now)
    for job in jobs.values():
        assert (await job_portal.settled(job["id"], "running"))["nodes"] == ["node03"]
    assert (await job_portal.ask("POST", f"/jobs/{jobs[902]['id']}/cancel")).status == 202
    await until(lambda: 902 in job_portal.slurm.cancelled, "the cancellation reaches Slurm")


async def test_ones_own_job_is_no_other(job_portal: JobPortal) -> None:
    made = await job_portal.job(name="mine")
    found = await job_portal.settled(made["id"], "queued")
    show(job_portal, 904, None)  # listed by the same round, or a later one
    await taken(job_portal, 904)
    assert (await taken(job_portal, found["job_id"]))["id"] == made["id"]


async def test_jobs_from_before_the_first_login_are_added_at_login(
    job_portal: JobPortal,
) -> None:
    show(job_portal, 905, None, user="newcomer")
    show(job_portal, 906, None)
    await taken(job_portal, 906)  # the same poll has skipped the other
    async with job_portal.context.db.session() as db:
        db.add(User(username="newcomer", display_name="N", role=Role.USER))
        await db.commit()
    async with asyncio.timeout(PATIENCE_S):
        while True:
            async with job_portal.context.db.session() as db:
                if await db.scalar(select(Job.id).where(Job.job_id == 905)):
                    return
            await asyncio.sleep(0.02)
