"""Requests from node programs of sessions that no longer run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from portal.models import JobState, Session, Wanted
from portal.services.sessions import nodes
from portal.services.slurm import placement
from tests.portal.services.sessions.test_extending import Extending, extending
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def session(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Extending]:
    async with extending(slapd, tmp_path_factory.mktemp("nodes")) as made:
        yield made


@pytest.mark.parametrize(
    "end", [{"state": JobState.ENDED}, {"state": JobState.RUNNING, "wanted": Wanted.STOP}]
)
async def test_a_session_that_ends_during_its_hello_stays_ended(
    session: Extending, monkeypatch: pytest.MonkeyPatch, end: dict[str, Any]
) -> None:
    await session.change(state=JobState.STARTING, wanted=Wanted.RUN, target_port=None)
    find = placement.find_running_job

    async def end_first(*arguments: Any) -> Any:
        info = await find(*arguments)
        await session.change(**end)
        return info

    monkeypatch.setattr(nodes, "find_running_job", end_first)
    answer = await session.node("POST", "hello", {"port": 4000, "timings": {}})
    assert answer.status == 410
    async with session.job_portal.context.db.session() as db:
        row = await db.get_one(Session, session.session_id)
    assert row.target_port is None
    assert row.state is not JobState.STARTING
