"""The cluster's history: recorded from the watcher's data, thinned with age, shown to all users."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import delete, func, insert, select, update

from portal.context import AppContext
from portal.models import ClusterSample, Job, JobState, Session, SessionMeasurements, User
from portal.services.cluster import history
from portal.services.cluster.history import LEVELS, RANGES, Level
from portal.services.cluster.samples import floor_time
from spawner.slurm.model import JobInfo, JobPhase
from tests.portal.job_portal import JobPortal, run_job_portal
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio

CLUSTER = "elsewhere"  # not the cluster of the portal's own loop, which records, too
NOON = (datetime.now(UTC) - timedelta(days=500)).replace(hour=12, minute=0, second=0, microsecond=0)
MINUTE = timedelta(minutes=1)
SERIES = (
    "gpus", "gpus_allocated", "gpus_used", "cpus", "cpus_allocated", "cpus_used", "pending_jobs",
    "median_wait_s",
)  # fmt: skip


@pytest.fixture(scope="module")
async def shared(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[JobPortal]:
    async with run_job_portal(slapd, tmp_path_factory.mktemp("history")) as made:
        yield made


@pytest.fixture
async def job_portal(shared: JobPortal) -> AsyncIterator[JobPortal]:
    yield shared
    shared.slurm.shown.clear()
    shared.slurm.away = False
    await shared.context.watcher.refresh()
    async with shared.context.db.session() as db:
        await db.execute(delete(ClusterSample))
        for name in ("batch_jobs", "jobs"):
            await db.execute(delete(Job.metadata.tables[name]))
        await db.commit()


@pytest.fixture
def context(job_portal: JobPortal) -> AppContext:
    """The portal's context, with another cluster."""
    settings = job_portal.context.settings.model_copy(update={"cluster_name": CLUSTER})
    changed: AppContext = replace(job_portal.context, settings=settings)
    return changed


async def load_rows(context: AppContext, level: Level) -> list[ClusterSample]:
    query = select(ClusterSample).where(
        ClusterSample.cluster == CLUSTER, ClusterSample.step_s == level.step_s
    )
    async with context.db.session() as db:
        return [*await db.scalars(query.order_by(ClusterSample.at))]


async def add_started(job_portal: JobPortal, waits_s: dict[int, datetime]) -> None:
    """Add jobs with these waits in seconds, by their start."""
    for wait_s, started_at in waits_s.items():
        submitted = started_at - timedelta(seconds=wait_s)
        columns: dict[str, Any] = {
            "started_at": started_at,
            "submit_time": submitted,
            "cluster": CLUSTER,
        }
        await job_portal.rows(1, **columns)


async def test_a_sample_appears_in_every_level_with_the_median_wait(
    job_portal: JobPortal, context: AppContext
) -> None:
    job_portal.slurm.shown = {
        1: JobInfo(1, "bob", "a", JobPhase.QUEUED, "PENDING", tasks=(1, 2, 3)),
        2: JobInfo(2, "bob", "b", JobPhase.RUNNING, "RUNNING", nodes=("node01",)),
    }
    await context.watcher.refresh()
    await add_started(
        job_portal,
        {
            10: NOON + MINUTE,
            60: NOON + 2 * MINUTE,
            40: NOON + 2 * MINUTE,
            3600: NOON + 6 * MINUTE,  # in the next five minutes
        },
    )
    for minute in (0, 1, 1):
        await history.record(context, NOON + minute * MINUTE + timedelta(seconds=30))
    assert [row.at for row in await load_rows(context, LEVELS[0])] == [NOON, NOON + MINUTE]
    for level in LEVELS[1:]:
        (row,) = await load_rows(context, level)
        assert row.at == floor_time(NOON, level.step)
        assert (row.gpus, row.gpus_allocated, row.cpus, row.pending_jobs) == (4, 0, 40, 3)
        assert (row.gpus_used, row.cpus_used) == (0, 0)
        assert row.median_wait_s == (40 if level is LEVELS[1] else 50)


async def test_slurm_without_answer_leaves_a_gap(
    job_portal: JobPortal, context: AppContext
) -> None:
    await history.record(context, NOON)
    job_portal.slurm.away = True
    await context.watcher.refresh()
    await history.record(context, NOON + 20 * MINUTE)
    job_portal.slurm.away = False
    await context.watcher.refresh()
    await history.record(context, NOON + 40 * MINUTE)
    assert [row.at for row in await load_rows(context, LEVELS[1])] == [NOON, NOON + 40 * MINUTE]


async def test_gpus_of_running_sessions_are_measured_up_to_what_they_were_given(
    job_portal: JobPortal,
) -> None:
    db_session = job_portal.context.db.session
    now = datetime.now(UTC)
    async with db_session() as db:
        owner = await db.scalar(select(User.id).where(User.username == "bob"))
        for name, given, state, reported_at in (
            ("both", 2, JobState.RUNNING, now),
            ("claims-more", 1, JobState.RUNNING, now),
            ("silent", 4, JobState.RUNNING, now - 2 * history.MAX_DATA_AGE),
            ("ended", 4, JobState.ENDED, now),
        ):
            session = Session(
                user_id=owner, owner_id=owner, name=name, state=state, resources={"gpus": given}
            )
            db.add(session)
            await db.flush()
            gpus = [{"use_percent": [None, use]} for use in (50, None if given == 4 else 25)]
            series = {"gpus": gpus}
            db.add(
                SessionMeasurements(session_id=session.id, series=series, reported_at=reported_at)
            )
        await db.commit()
        assert await history.load_gpu_use(db, now) == (3, 1.25)
        await db.execute(delete(SessionMeasurements))
        await db.execute(delete(Job.metadata.tables["sessions"]))
        await db.commit()


async def test_coarser_levels_are_means_of_the_finer(context: AppContext) -> None:
    for minute in range(0, 50, 5):
        await history.record(context, NOON + minute * MINUTE)
    async with context.db.session() as db:
        fives = ClusterSample.step_s == LEVELS[1].step_s
        later = ClusterSample.at >= NOON + 30 * MINUTE
        changed = update(ClusterSample).where(ClusterSample.cluster == CLUSTER, fives, later)
        await db.execute(changed.values(gpus_allocated=3.0))
        await db.commit()
    await history.record(context, NOON + 50 * MINUTE)
    halves = await load_rows(context, LEVELS[2])
    assert [(row.at, row.gpus_allocated) for row in halves] == [
        (NOON, 0),
        (NOON + 30 * MINUTE, 9 / 5),  # the newest and the current step are computed again
    ]


async def test_each_level_keeps_its_time_and_nothing_older(context: AppContext) -> None:
    values = dict.fromkeys(SERIES, 1.0)
    rows = [
        {"cluster": CLUSTER, "step_s": level.step_s, "at": at, **values}
        for level in LEVELS
        for at in (
            NOON - level.retention - level.step,
            NOON - level.retention,
            NOON + timedelta(days=1),
        )
    ]
    async with context.db.session() as db:
        await db.execute(insert(ClusterSample), rows)
        await db.commit()
    await history.record(context, NOON)
    for level in LEVELS:
        times = [row.at for row in await load_rows(context, level)]
        assert (times[0], times[-1]) == (NOON - level.retention, floor_time(NOON, level.step))


async def test_a_year_of_minutes_stays_a_few_thousand_rows(context: AppContext) -> None:
    longest = sum(level.retention / level.step for level in LEVELS)
    assert longest < 6000
    for finer, level in pairwise(LEVELS):
        assert level.step % finer.step == timedelta(0)
        assert finer.retention >= level.step  # else a step would be computed from a part of it


@pytest.mark.parametrize("requested", RANGES)
async def test_history_of_a_new_site_is_empty(job_portal: JobPortal, requested: Any) -> None:
    async with job_portal.context.db.session() as db:
        await db.execute(delete(ClusterSample))
        await db.commit()
    answer = await job_portal.ask("GET", f"/cluster/history?range={requested}")
    assert answer.status == 200
    for name in SERIES:
        assert len(answer.body[name]) <= 400
        assert set(answer.body[name][:-1]) == {None}  # the loop may have recorded the current step


@pytest.mark.parametrize("requested", RANGES)
async def test_history_is_shown_in_steps_with_gaps(job_portal: JobPortal, requested: Any) -> None:
    length, level = RANGES[requested]
    last = floor_time(datetime.now(UTC), level.step)
    times = [last - n * level.step for n in range(length // level.step + 3) if n not in {0, 2}]
    name = job_portal.context.settings.cluster_name
    values = dict.fromkeys(SERIES, 99999.123)
    rows = [{"cluster": name, "step_s": level.step_s, "at": at, **values} for at in times]
    async with job_portal.context.db.session() as db:
        await db.execute(delete(ClusterSample))
        await db.execute(insert(ClusterSample), rows)
        await db.commit()
    answer = await job_portal.users["bob"].send("GET", f"/api/v1/cluster/history?range={requested}")
    shown = answer.body
    assert len(str(shown).replace(" ", "")) < 30_000
    assert shown["step_s"] == level.step_s
    start = datetime.fromisoformat(shown["start"])
    assert start + level.step * (len(shown["gpus"]) - 1) == last
    assert [value is None for value in shown["gpus"][-4:-1]] == [False, True, False]
    assert shown["gpus"][0] == 99999.1
    assert shown["median_wait_s"][0] == 99999


async def test_a_bad_range_is_refused_with_its_field(job_portal: JobPortal) -> None:
    answer = await job_portal.ask("GET", "/cluster/history?range=2d")
    assert answer.status == 422
    assert [error["field"] for error in answer.body["errors"]] == ["range"]
    async with job_portal.portal.browser() as stranger:
        assert (await stranger.send("GET", "/api/v1/cluster/history")).status == 401


async def test_the_loop_records_by_itself(job_portal: JobPortal) -> None:
    pause = await history.step(job_portal.context)
    assert timedelta(0) < pause <= MINUTE
    async with job_portal.context.db.session() as db:
        count = await db.scalar(select(func.count()).select_from(ClusterSample))
    assert count is not None
    assert count >= len(LEVELS)
