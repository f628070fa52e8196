"""Curves of the scalars that a job has logged, from event files that may contain anything."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import select

from portal.db import utcnow
from portal.models import BatchJob, Job, JobState, Session, User, new_id
from portal.services.jobs import scalars
from tests.portal.conftest import Answer
from tests.portal.file_portal import FilePortal, run_file_portal
from tests.servers.slapd import Slapd
from tests.unit.spawner.files.jobs.event_files import scalar_event

pytestmark = pytest.mark.anyio


RESOURCES = {
    "partition": None, "nodes": 1, "gpus": 0, "gpu_type": None, "cpus": 1, "memory_gb": 1,
    "time_limit_minutes": 10, "account": None, "qos": None,
}  # fmt: skip


class LoggingJobs:
    """Jobs of alice's that have started, and their event files."""

    def __init__(self, file_portal: FilePortal) -> None:
        self.file_portal = file_portal

    async def create(self, kind: type[Job] = BatchJob, **changed: Any) -> str:
        job = new_id()
        async with self.file_portal.portal.context.db.session() as db:
            alice = (await db.scalars(select(User).where(User.username == "alice"))).one()
            columns = {
                "id": job, "user_id": alice.id, "owner_id": alice.id, "name": "job",
                "resources": RESOURCES, "state": JobState.RUNNING, "started_at": utcnow(),
                "logdir": str(self.file_portal.home / job),
            }  # fmt: skip
            db.add(kind(**{**columns, **changed}))
            await db.commit()
        return job

    def write(self, path: str, *events: bytes) -> None:
        self.file_portal.write(f"{path}/events.out.tfevents.1", b"".join(events))

    async def get(self, path: str, who: str = "alice") -> Answer:
        return await self.file_portal.users[who].send("GET", f"/api/v1/jobs/{path}")


@pytest.fixture(scope="module")
async def file_portal(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[FilePortal]:
    async with run_file_portal(slapd, tmp_path_factory.mktemp("curves")) as made:
        yield made


@pytest.fixture
def jobs(file_portal: FilePortal) -> LoggingJobs:
    file_portal.empty()
    return LoggingJobs(file_portal)


async def test_curves_of_a_job_by_run_and_tag(jobs: LoggingJobs) -> None:
    job = await jobs.create()
    losses = [scalar_event(step, "loss", 1 / (step + 1), 1e9 + step) for step in range(2)]
    jobs.write(f"{job}/train", *losses, scalar_event(2, "loss", math.nan, 1e9 + 2))
    answer = await jobs.get(f"{job}/curves")
    assert answer.status == 200, answer.body
    assert answer.body.pop("refresh_s") >= 15.0  # longer after a slow read
    assert answer.body == {
        "id": job,
        "curves": [
            {
                "run": "train", "tag": "loss", "count": 3, "not_finite": 1, "steps": [0, 1, 2],
                "at": [1e9, 1e9 + 1, 1e9 + 2], "values": [1.0, 0.5, None],
            }
        ],
        "curves_left_out": 0,
        "complete": True,
        "problem": None,
    }  # fmt: skip


async def test_long_curves_are_reduced(jobs: LoggingJobs) -> None:
    job = await jobs.create()
    jobs.write(job, *[scalar_event(step, "loss", step % 100) for step in range(20_000)])
    (curve,) = (await jobs.get(f"{job}/curves")).body["curves"]
    assert curve["count"] == 20_000
    assert 400 < len(curve["values"]) <= 1000
    assert (min(curve["values"]), max(curve["values"])) == (0, 99)


async def test_an_array_has_curves_by_task(jobs: LoggingJobs) -> None:
    tasks = [{"index": 1, "state": "running", "parameters": {}}]
    job = await jobs.create(array_size=2, tasks=tasks)
    jobs.write(f"{job}/task-1", scalar_event(1, "loss", 3))
    assert (await jobs.get(f"{job}/curves")).status == 422
    (curve,) = (await jobs.get(f"{job}/curves?task=1")).body["curves"]
    assert curve["values"] == [3.0]
    assert (await jobs.get(f"{job}/curves?task=7")).status == 422


async def test_a_session_has_curves(jobs: LoggingJobs) -> None:
    session, queued = (
        await jobs.create(Session),
        await jobs.create(Session, name="queued", started_at=None),
    )
    for folder in (session, queued):
        jobs.write(f"{folder}/train", scalar_event(1, "loss", 3))
    alice, bob = (jobs.file_portal.users[name] for name in ("alice", "bob"))
    answer = await alice.send("GET", f"/api/v1/sessions/{session}/curves")
    assert answer.status == 200, answer.body
    assert (answer.body["id"], answer.body["refresh_s"]) == (session, 15)
    assert [curve["values"] for curve in answer.body["curves"]] == [[3.0]]
    answer = await alice.send("GET", f"/api/v1/sessions/{queued}/curves")
    assert answer.body["curves"] == []
    assert (await bob.send("GET", f"/api/v1/sessions/{session}/curves")).status == 404


async def test_hostile_tags_are_text(jobs: LoggingJobs) -> None:
    job = await jobs.create()
    tags = ["<img src=x onerror=alert(1)>", "\u202egnp.exe\0", "長" * 300]
    jobs.write(job, *[scalar_event(1, tag, 1) for tag in tags])
    curves = (await jobs.get(f"{job}/curves")).body["curves"]
    assert [curve["tag"] for curve in curves] == [tags[0], "\u202egnp.exe\ufffd", tags[2]]


async def test_jobs_are_compared_with_a_problem_for_each_unreadable_one(jobs: LoggingJobs) -> None:
    one, waiting = await jobs.create(), await jobs.create(started_at=None)
    jobs.write(one, scalar_event(1, "loss", 1))
    answer = await jobs.get(f"compare/curves?id={waiting}&id={one}&id=unknown&id={one}")
    assert answer.status == 200, answer.body
    items = answer.body["items"]
    assert [(item["id"], len(item["curves"])) for item in items] == [(waiting, 0), (one, 1)]
    assert [item["problem"] for item in items] == [None, None]


async def test_an_ended_job_keeps_a_few_last_values_for_lists(jobs: LoggingJobs) -> None:
    context = jobs.file_portal.portal.context
    job = await jobs.create(state=JobState.ENDED, ended_at=utcnow())
    tags = [f"tag {number}" for number in range(9)]
    jobs.write(job, scalar_event(0, tags[0], 5), *[scalar_event(1, tag, 1) for tag in tags])
    async with context.db.session() as db:
        row = (await db.scalars(select(BatchJob).where(BatchJob.id == job))).one()
    assert scalars.is_unread(row)
    await scalars.store_final_values(context, row)
    answer = await jobs.file_portal.users["alice"].send("GET", "/api/v1/jobs")
    (listed,) = [item for item in answer.body["items"] if item["id"] == job]
    assert listed["metrics"] == dict.fromkeys(tags[:8], 1.0)
    async with context.db.session() as db:
        row = (await db.scalars(select(BatchJob).where(BatchJob.id == job))).one()
    assert not scalars.is_unread(row)


async def test_other_users_see_no_curves(jobs: LoggingJobs) -> None:
    job = await jobs.create()
    jobs.write(job, scalar_event(1, "loss", 1))
    assert (await jobs.get(f"{job}/curves", who="bob")).status == 404
    assert (await jobs.get(f"compare/curves?id={job}", who="bob")).body == {"items": []}
