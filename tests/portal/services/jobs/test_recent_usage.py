"""The recent usage of all running sessions and jobs of a user, in one answer."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete, select

from portal.db import utcnow
from portal.models import BatchJob, JobState, Session, SessionMeasurements, User, new_id
from portal.services.jobs import recent_usage
from tests.portal.file_portal import FilePortal, run_file_portal
from tests.portal.services.jobs.test_measurements import Measured
from tests.servers.slapd import Slapd
from tests.unit.spawner.files.jobs.event_files import scalar_event

pytestmark = pytest.mark.anyio

GPU = {"name": "V100", "memory_total_mb": None}


@pytest.fixture(scope="module")
async def shared(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[FilePortal]:
    async with run_file_portal(slapd, tmp_path_factory.mktemp("recent")) as made:
        yield made


@pytest.fixture
async def file_portal(shared: FilePortal) -> FilePortal:
    """A portal without files, sessions and jobs."""
    shared.empty()
    async with shared.portal.context.db.session() as db:
        for table in (SessionMeasurements, Session, BatchJob):
            await db.execute(delete(table))
        await db.commit()
    return shared


async def add_session(file_portal: FilePortal, series: dict[str, Any], **changed: Any) -> str:
    session_id = new_id()
    async with file_portal.portal.context.db.session() as db:
        alice = (await db.scalars(select(User).where(User.username == "alice"))).one()
        columns = {"state": JobState.RUNNING, "name": session_id, "resources": {"cpus": 2}}
        owner = {"id": session_id, "user_id": alice.id, "owner_id": alice.id}
        db.add(Session(**{**columns, **owner, **changed}))
        await db.flush()
        db.add(SessionMeasurements(session_id=session_id, series=series, reported_at=utcnow()))
        await db.commit()
    return session_id


def series(gpus: list[dict[str, Any]] | None, cpus: float = 0.5) -> dict[str, Any]:
    return {
        "ages_s": [1500, 30], "step_s": 1470, "memory_mb": [1, 1], "cpus": [cpus, cpus],
        "gpus": gpus,
    }  # fmt: skip


async def recent(file_portal: FilePortal, who: str = "alice") -> dict[str, Any]:
    answer = await file_portal.users[who].send("GET", "/api/v1/me/recent-usage")
    assert answer.status == 200, answer.body
    return {item.pop("id"): item for item in answer.body["items"]}


async def running_job(file_portal: FilePortal, *rows: list[Any], **changed: Any) -> Measured:
    job = Measured(file_portal)
    await job.create(**changed)
    task = f"{2 if changed.get('array_size') else 0}-0-n1.jsonl"
    job.write(task, {"step_s": 60, "gpus": [GPU]}, *rows)
    return job


async def test_sessions_and_jobs_are_answered_together(file_portal: FilePortal) -> None:
    idle = [{"name": "V100", "use_percent": [0, 0], "memory_mb": [1, 1]}]
    with_gpu = await add_session(file_portal, series(idle))
    without = await add_session(file_portal, series(None))
    now = utcnow().timestamp()
    job = await running_job(file_portal, [now - 60, 1, 1, 1, 80, 1])
    found = await recent(file_portal)
    assert set(found) == {with_gpu, without, job.id}
    assert found[with_gpu]["gpu_idle_since"] is not None
    assert found[without]["resource"] == "cpu"
    assert found[without]["percent"][-1] == 25
    assert (found[job.id]["resource"], found[job.id]["percent"][-1]) == ("gpu", 80)
    assert await recent(file_portal, who="bob") == {}


async def test_the_last_metric_of_a_job_is_its_loss(file_portal: FilePortal) -> None:
    now = utcnow().timestamp()
    point = [now - 60, 1, 1, 1, 80, 1]
    logs = str(file_portal.home / "logs")
    losing = await running_job(file_portal, point, logdir=logs)
    other = await running_job(file_portal, point, logdir=f"{logs}/other")
    silent = await running_job(file_portal, point, logdir=f"{logs}/none")
    values = (("accuracy", 0.5), ("train/Loss", math.nan), ("val/Loss", 0.25))
    events = [scalar_event(1, tag, value) for tag, value in values]
    file_portal.write("logs/events.out.tfevents.1", b"".join(events))
    file_portal.write("logs/other/events.out.tfevents.1", scalar_event(1, "reward", 3))
    found = await recent(file_portal)
    assert found[losing.id]["metric"] == {"tag": "val/Loss", "value": 0.25}
    assert found[other.id]["metric"] == {"tag": "reward", "value": 3}
    assert found[silent.id]["metric"] is None


async def test_the_last_metric_of_a_session_is_what_its_notebooks_have_logged(
    file_portal: FilePortal,
) -> None:
    logs = str(file_portal.home / "tensorboard")
    logging = await add_session(file_portal, series(None), logdir=logs)
    silent = await add_session(file_portal, series(None), logdir=f"{logs}/none")
    file_portal.write("tensorboard/run/events.out.tfevents.1", scalar_event(1, "loss", 0.5))
    found = await recent(file_portal)
    assert found[logging]["metric"] == {"tag": "loss", "value": 0.5}
    assert found[silent]["metric"] is None


async def test_only_what_runs_is_answered(
    file_portal: FilePortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = utcnow()
    await add_session(file_portal, series(None), state=JobState.ENDED)
    await add_session(file_portal, series(None), removed_at=now)
    await running_job(file_portal, [now.timestamp() - 5, 1, 1, 1], state=JobState.ENDED)
    await running_job(file_portal, [now.timestamp() - 5, 1, 1, 1], external=True)
    monkeypatch.setattr(file_portal.portal.context.file_pool, "call", None)  # nothing is started
    assert await recent(file_portal) == {}


async def test_array_is_shown_by_its_first_running_task(file_portal: FilePortal) -> None:
    tasks = [{"index": 1, "state": "ended"}, {"index": 2, "state": "running"}]
    at = (utcnow() - timedelta(seconds=5)).timestamp()
    job = await running_job(file_portal, [at, 1, 1, 1, 40, 1], array_size=3, tasks=tasks)
    waiting = await running_job(file_portal, array_size=3, tasks=[])
    found = await recent(file_portal)
    assert found[job.id]["percent"][-1] == 40
    assert waiting.id not in found


async def test_number_and_time_are_limited(
    file_portal: FilePortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = (utcnow() - timedelta(seconds=5)).timestamp()
    for _ in range(recent_usage.MAX_JOBS + 2):
        await running_job(file_portal, [at, 1, 1, 1, 40, 1])
    assert len(await recent(file_portal)) == recent_usage.MAX_JOBS
    monkeypatch.setattr(recent_usage, "READ_WITHIN_S", 0.0)
    assert await recent(file_portal) == {}


async def test_old_points_are_not_read(file_portal: FilePortal) -> None:
    old = (utcnow() - timedelta(hours=3)).timestamp()
    job = await running_job(file_portal, [old, 1, 1, 1, 40, 1])
    assert job.id not in await recent(file_portal)
