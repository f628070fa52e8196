"""An idle session: reported by its node program, shown to its owner, never ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import delete, update

from portal.db import utcnow
from portal.models import JobState, SessionMeasurements, Wanted
from portal.services.sessions import measurements
from tests.portal.services.sessions.test_extending import Extending, extending
from tests.portal.services.sessions.test_measurements import REPORT
from tests.servers.slapd import Slapd

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
HOUR_S = 3600
AN_HOUR_AGO = NOW - timedelta(hours=1)


@pytest.mark.parametrize(
    ("before", "idle_s", "minutes", "expected"),
    [
        (None, None, 60, None),
        (None, HOUR_S - 1, 60, None),
        (None, HOUR_S, 60, AN_HOUR_AGO),
        (None, HOUR_S, 0, None),
        (NOW - timedelta(hours=2), None, 60, None),
        # repeated reports of one idle period, each a little later, do not change its start
        (AN_HOUR_AGO - timedelta(seconds=7), HOUR_S, 60, AN_HOUR_AGO - timedelta(seconds=7)),
        # another idle period, whose first report was lost
        (NOW - timedelta(hours=3), 2 * HOUR_S, 60, NOW - timedelta(hours=2)),
    ],
)
def test_when_a_rest_is_worth_a_word(
    before: datetime | None, idle_s: int | None, minutes: int, expected: datetime | None
) -> None:
    assert measurements.idle_warning_since(before, idle_s, NOW, minutes) == expected


@pytest.fixture(scope="module")
async def kept(slapd: Slapd, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Extending]:
    async with extending(slapd, tmp_path_factory.mktemp("idle")) as made:
        yield made


@pytest.fixture
async def session(kept: Extending) -> Extending:
    """A running session without reports."""
    await kept.change(state=JobState.RUNNING, wanted=Wanted.RUN)
    async with kept.job_portal.context.db.session() as db:
        await db.execute(delete(SessionMeasurements))
        await db.commit()
    return kept


async def report_idle(session: Extending, idle_s: int | None) -> None:
    """Report as the node program does, a minute after the previous report."""
    await shift(session, timedelta(minutes=1))
    assert (await session.node("POST", "use", {**REPORT, "idle_s": idle_s})).status == 200


async def shift(session: Extending, by: timedelta) -> None:
    """Move the previous report into the past."""
    async with session.job_portal.context.db.session() as db:
        await db.execute(update(SessionMeasurements).values(reported_at=utcnow() - by))
        await db.commit()


async def idle_since(session: Extending) -> Any:
    """Return the API's value, which is the same wherever a session is shown."""
    one = (await session.job_portal.ask("GET", f"/sessions/{session.session_id}")).body
    (listed,) = (await session.job_portal.ask("GET", "/sessions")).body["items"]
    in_jupyterlab = await session.node("GET", "facts")
    if in_jupyterlab.status == 200:
        assert in_jupyterlab.body["session"]["idle_since"] == one["idle_since"]
    assert listed["idle_since"] == one["idle_since"]
    return one["idle_since"]


@pytest.mark.anyio
async def test_owner_sees_idle_time_until_something_runs(session: Extending) -> None:
    assert await idle_since(session) is None
    await report_idle(session, HOUR_S - 60)
    assert await idle_since(session) is None
    await report_idle(session, HOUR_S)
    first = await idle_since(session)
    assert abs(datetime.fromisoformat(first) - utcnow() + timedelta(hours=1)) < timedelta(minutes=1)
    await report_idle(session, HOUR_S + 5)
    assert await idle_since(session) == first
    await report_idle(session, None)
    assert await idle_since(session) is None


@pytest.mark.anyio
async def test_open_pages_hear_of_it_when_it_begins_and_when_it_ends(session: Extending) -> None:
    context = session.job_portal.context
    me = (await session.job_portal.ask("GET", "/me")).body["id"]
    async with context.notifier.listen(me) as listener:
        for idle_s, news in ((5, False), (HOUR_S, True), (HOUR_S + 30, False), (None, True)):
            await report_idle(session, idle_s)
            await asyncio.sleep(0)
            assert await listener.wait(0.01) is news, idle_s


@pytest.mark.anyio
async def test_silent_program_is_not_reported_idle(session: Extending) -> None:
    await report_idle(session, HOUR_S)
    await shift(session, measurements.SILENT)
    assert await idle_since(session) is None


@pytest.mark.anyio
async def test_idle_session_keeps_running_and_stopping_one_is_not_idle(session: Extending) -> None:
    await report_idle(session, 100 * HOUR_S)
    shown = (await session.job_portal.ask("GET", f"/sessions/{session.session_id}")).body
    assert (shown["state"], shown["idle_since"] is None) == ("running", False)
    await session.change(state=JobState.STOPPING)
    assert await idle_since(session) is None


@pytest.mark.anyio
@pytest.mark.parametrize("wrong", [-1, 1.5, "long", 10**12])
async def test_what_is_no_time_is_not_taken(session: Extending, wrong: Any) -> None:
    assert (await session.node("POST", "use", {**REPORT, "idle_s": wrong})).status == 422
    assert await idle_since(session) is None
