"""The list of jobs: filters, order, pages; and long histories, of which no more is read than is
shown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import event

from portal.models import BatchJob, JobState
from portal.services.jobs import listing
from tests.portal.job_world import World, job_world
from tests.portal.slapd import Slapd

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def world(slapd: Slapd, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with job_world(slapd, tmp_path_factory.mktemp("jobs")) as made:
        yield made


async def listed(world: World, query: str = "", who: str = "alice") -> list[Any]:
    answer = await world.ask("GET", f"/jobs?{query}", who=who)
    assert answer.status == 200, answer
    return list(answer.body["items"])


async def test_filters(world: World) -> None:
    live = await world.job(name="One 100%")
    made = await world.job(template="every-kind", name="two_")
    (ended,) = await world.rows(1, "alice", name="three", job_id=77)
    (outside,) = await world.rows(1, "alice", name="four", external=True)
    every = {live["id"], made["id"], ended, outside}
    for query, found in (
        ("", every),
        ("state=live", {live["id"], made["id"]}),
        ("state=ended", {ended, outside}),
        ("template=every-kind", {made["id"]}),
        ("template=none", set()),
        ("external=true", {outside}),
        ("external=false", every - {outside}),
        ("q=ONE", {live["id"]}),
        ("q=100%25", {live["id"]}),
        ("q=%25", {live["id"]}),
        ("q=_", {made["id"]}),
        ("q=77", {ended}),
        ("q=7", set()),
        ("q='%20OR%201=1", set()),
        ("state=ended&external=true&q=four", {outside}),
    ):
        assert {job["id"] for job in await listed(world, query)} == found, query


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("state=gone", "state"), ("external=perhaps", "external"), ("cursor=nonsense", "cursor"),
        ("cursor=2026-01-01T00:00:00~x", "cursor"), ("cursor=~", "cursor"),
        ("q=" + "x" * 201, "q"),
    ],
)  # fmt: skip
async def test_what_can_not_be_asked(world: World, query: str, field: str) -> None:
    answer = await world.ask("GET", f"/jobs?{query}")
    assert answer.status == 422
    assert [error["field"] for error in answer.body["errors"]] == [field]


async def test_pages_hold_each_job_once_newest_first(world: World) -> None:
    """Also where two were made at the same time, and while new ones come."""
    made = await world.rows(2 * listing.PAGE + 3, "carol")
    seen: list[Any] = []
    cursor: str | None = ""
    while cursor is not None:
        query = f"/jobs?q=old&cursor={cursor.replace('+', '%2B')}" if cursor else "/jobs?q=old"
        answer = (await world.ask("GET", query, who="carol")).body
        assert len(answer["items"]) <= listing.PAGE
        seen += answer["items"]
        cursor = answer["next_cursor"]
        await world.job(who="carol", name="newer")
    assert sorted(job["id"] for job in seen) == sorted(made)
    times = [job["submitted_at"] for job in seen]
    assert times == sorted(times, reverse=True)


async def test_of_a_long_history_a_page_is_read(world: World) -> None:
    """20,000 jobs: what is loaded, and asked of the database, does not grow with them."""
    await world.rows(20_000)
    loaded: list[Any] = []
    asked: list[str] = []
    engine = world.portal.app.state.db.engine.sync_engine

    def load(target: Any, _context: Any) -> None:
        loaded.append(target.id)

    def ask(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        asked.append(statement)

    event.listen(BatchJob, "load", load)
    event.listen(engine, "before_cursor_execute", ask)
    try:
        found = await listed(world, who="bob")
    finally:
        event.remove(BatchJob, "load", load)
        event.remove(engine, "before_cursor_execute", ask)
    assert len(found) == listing.PAGE
    assert len(loaded) <= listing.PAGE + 1
    assert len([statement for statement in asked if "batch_jobs.id" in statement]) <= 3
    assert {job["state"] for job in found} == {JobState.ENDED}
