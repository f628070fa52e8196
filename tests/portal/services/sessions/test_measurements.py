"""A session's usage: reported by its node program, shown to its owner.

After its end, Slurm's own values are shown beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import delete, select, update

from portal.db import utcnow
from portal.models import JobState, Session, SessionMeasurements
from portal.services.sessions import measurements
from portal.services.slurm import accounting_totals
from spawner.slurm.model import JobInfo, JobPhase, JobUsage, Outcome
from tests.portal.services.sessions.test_extending import JOB_ID, Extending, extending
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio

GPU = {"name": "V100", "use_percent": [None, 40], "memory_mb": [0, 512], "memory_total_mb": 32768}
REPORT = {
    "ages_s": [30, 20], "step_s": 10, "memory_mb": [100, 150.5], "cpus": [None, 1.25],
    "memory_limit_mb": 2048, "gpus": [GPU],
}  # fmt: skip
NOTHING_YET: dict[str, Any] = {
    "reported_at": None, "step_s": None, "at": [], "memory_mb": [], "cpus": [],
    "memory_limit_mb": None, "gpus": None, "memory_killed_at": None, "total": None,
}  # fmt: skip


@pytest.fixture(scope="module")
async def kept(slapd: Slapd, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Extending]:
    async with extending(slapd, tmp_path_factory.mktemp("use")) as made:
        yield made


@pytest.fixture
async def session(kept: Extending) -> Extending:
    """A running session without reports or requests."""
    await kept.change(state=JobState.RUNNING, usage=None, usage_due=None, removed_at=None)
    kept.job_portal.context.usage_requested_at.clear()
    async with kept.job_portal.context.db.session() as db:
        await db.execute(delete(SessionMeasurements))
        await db.commit()
    return kept


async def shown(session: Extending) -> Any:
    return (await session.job_portal.ask("GET", f"/sessions/{session.session_id}/use")).body


async def age_last_report(session: Extending) -> None:
    """Move the previous report into the past."""
    async with session.job_portal.context.db.session() as db:
        await db.execute(
            update(SessionMeasurements).values(reported_at=utcnow() - timedelta(minutes=1))
        )
        await db.commit()


async def test_owner_sees_usage_reported_by_the_node(session: Extending) -> None:
    assert await shown(session) == NOTHING_YET
    before = utcnow().timestamp()
    assert (await session.node("POST", "use", REPORT)).status == 200
    found = await shown(session)
    assert found["at"][1] - found["at"][0] == 10
    assert before - 32 <= found["at"][0] <= utcnow().timestamp() - 29
    assert (found["memory_mb"], found["cpus"]) == ([100, 150.5], [None, 1.25])
    assert (found["memory_limit_mb"], found["gpus"]) == (2048, [GPU])


async def test_two_first_reports_at_once_are_both_accepted(session: Extending) -> None:
    answers = await asyncio.gather(*(session.node("POST", "use", REPORT) for _ in range(4)))
    assert [answer.status for answer in answers] == [200] * 4
    assert (await shown(session))["memory_mb"] == [100, 150.5]


async def test_kill_for_lack_of_memory_is_shown_with_its_time(session: Extending) -> None:
    assert (await session.node("POST", "use", {**REPORT, "killed_s": 40})).status == 200
    found = await shown(session)
    reported_at, killed_at = (
        datetime.fromisoformat(found[key]).replace(microsecond=0)
        for key in ("reported_at", "memory_killed_at")
    )
    assert reported_at - killed_at == timedelta(seconds=40)


async def test_other_users_cannot_see_or_report_usage(session: Extending) -> None:
    await session.node("POST", "use", REPORT)
    path = f"/sessions/{session.session_id}/use"
    assert (await session.job_portal.ask("GET", path, who="bob")).status == 404
    assert (await session.job_portal.ask("GET", path, who="carol")).status == 404
    assert (await session.node("POST", "use", REPORT, secret="another")).status == 401
    assert (await session.node("POST", "use", REPORT, secret=None)).status == 401


async def test_usage_is_reported_more_often_while_viewed(session: Extending) -> None:
    assert (await session.node("POST", "use", REPORT)).body == {"again_s": 30.0}
    await shown(session)
    assert (await session.node("POST", "use", REPORT)).body == {"again_s": 10.0}
    session.job_portal.context.usage_requested_at[session.session_id] = (
        utcnow() - measurements.VIEWED_WITHIN
    )
    assert (await session.node("POST", "use", REPORT)).body == {"again_s": 30.0}


async def test_the_newest_counts_but_not_every_second(session: Extending) -> None:
    await session.node("POST", "use", REPORT)
    await session.node("POST", "use", {**REPORT, "memory_mb": [1, 2]})
    assert (await shown(session))["memory_mb"] == [100, 150.5]
    await age_last_report(session)
    await session.node("POST", "use", {**REPORT, "memory_mb": [1, 2]})
    assert (await shown(session))["memory_mb"] == [1, 2]


@pytest.mark.parametrize(
    "wrong",
    [
        {"memory_mb": [1]},
        {"ages_s": [20, 30]},
        {"ages_s": [-1, 0]},
        {"memory_mb": [-1, 1]},
        {"memory_mb": ["1 GB", 1]},
        {"cpus": [1e12, 1]},
        {"step_s": 0},
        {"gpus": [{**GPU, "use_percent": [101, 1]}]},
        {"gpus": [{**GPU, "name": "x" * 101}]},
        {"gpus": [{**GPU, "use_percent": [1]}]},
        {"gpus": [GPU] * 17},
        {"ages_s": [0] * 257, "memory_mb": [0] * 257, "cpus": [0] * 257, "gpus": None},
        {"more": 1},
    ],
    ids=",".join,
)
async def test_what_makes_no_sense_is_not_taken(session: Extending, wrong: dict[str, Any]) -> None:
    assert (await session.node("POST", "use", {**REPORT, **wrong})).status == 422
    assert await shown(session) == NOTHING_YET


async def test_ended_session_reports_no_usage_but_shows_it(session: Extending) -> None:
    await session.node("POST", "use", REPORT)
    await session.change(state=JobState.ENDED)
    assert (await session.node("POST", "use", REPORT)).status == 410
    assert (await shown(session))["memory_mb"] == [100, 150.5]


async def test_after_the_end_accounting_has_its_say(
    session: Extending, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = utcnow()
    await session.change(state=JobState.ENDED, ended_at=now, usage_due=now)
    context = session.job_portal.context

    async def sacct(job_ids: Collection[int]) -> list[JobUsage]:
        assert set(job_ids) == {JOB_ID}
        info = JobInfo(
            JOB_ID, "alice", "portal-s1", JobPhase.ENDED, "CANCELLED", uuid=session.session_id,
            outcome=Outcome.CANCELLED, submit_time=session.started,
        )  # fmt: skip
        return [JobUsage(info, 600, 300.0, 2, 3 << 30, 0, complete=True)]

    monkeypatch.setattr(context.watcher, "fetch_usage", sacct)
    (row,) = await accounting_totals.load_due(context, utcnow())
    await accounting_totals.collect(context, [row], utcnow())
    total = (await shown(session))["total"]
    assert (total["elapsed_s"], total["cpu_s"], total["cpu_efficiency"]) == (600, 300.0, 0.25)
    assert total["max_rss_gb"] == 3.0
    assert await accounting_totals.load_due(context, utcnow()) == []


async def test_what_is_old_or_was_removed_is_forgotten(session: Extending) -> None:
    context = session.job_portal.context

    async def kept_ones() -> list[str]:
        async with context.db.session() as db:
            return list((await db.scalars(select(SessionMeasurements.session_id))).all())

    await session.node("POST", "use", REPORT)
    await measurements.delete_old_reports(context)
    assert await kept_ones() == [session.session_id]
    await session.change(state=JobState.ENDED, removed_at=utcnow())
    await measurements.delete_old_reports(context)
    assert await kept_ones() == []
    await session.change(state=JobState.RUNNING, removed_at=None)
    await session.node("POST", "use", REPORT)
    async with context.db.session() as db:
        await db.execute(
            update(SessionMeasurements).values(reported_at=utcnow() - measurements.KEPT * 2)
        )
        await db.commit()
    await measurements.delete_old_reports(context)
    assert await kept_ones() == []


async def test_who_looked_is_remembered_for_so_many_only(session: Extending) -> None:
    context = session.job_portal.context
    async with context.db.session() as db:
        row = await db.get_one(Session, session.session_id)
    long_ago = utcnow() - measurements.VIEWED_WITHIN * 2
    context.usage_requested_at.update(
        dict.fromkeys(map(str, range(measurements.MAX_VIEWED)), long_ago)
    )
    await measurements.load_measurements(context, row)
    assert set(context.usage_requested_at) == {row.id}
