"""The list of jobs: filters, sort orders, pages; reads do not grow with the length of the
history."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import event, select

from portal.models import BatchJob, JobState, User
from portal.services.jobs import listing
from portal.services.limits.live_counts import count_live
from portal.services.store import update_row
from spawner.slurm.model import Outcome, Resources
from tests.portal.job_portal import JobPortal, run_job_portal
from tests.servers import databases
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def job_portal(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[JobPortal]:
    async with run_job_portal(slapd, tmp_path_factory.mktemp("jobs")) as made:
        yield made


async def listed(job_portal: JobPortal, query: str = "", who: str = "alice") -> list[Any]:
    answer = await job_portal.ask("GET", f"/jobs?{query}", who=who)
    assert answer.status == 200, answer
    return list(answer.body["items"])


async def test_filters(job_portal: JobPortal) -> None:
    live = await job_portal.job(name="One 100%")
    made = await job_portal.job(template="every-kind", name="two_")
    (ended,) = await job_portal.rows(1, "alice", name="three", job_id=77, outcome=Outcome.FAILED)
    (outside,) = await job_portal.rows(1, "alice", name="four", external=True)
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
        ("state=waiting", {live["id"], made["id"]}),
        ("state=running", set()),
        ("template=", every - {made["id"]}),
        ("outcome=failed", {ended}),
        ("outcome=timeout&outcome=failed", {ended}),
        ("outcome=timeout", set()),
        ("outcome=failed&state=live", set()),
        ("since=2020-01-01T00:00:00Z", {live["id"], made["id"]}),
        ("until=2020-01-01T00:00:00%2B02:00", {ended, outside}),
    ):
        assert {job["id"] for job in await listed(job_portal, query)} == found, query
        counted = await job_portal.ask("GET", f"/jobs/count?{query}")
        assert counted.body["count"] == len(found), query
        if "state" not in query and "outcome" not in query:
            assert sum(counted.body["by_state"].values()) == len(found), query
    for query in ("", "state=live", "outcome=failed"):  # the tabs stay while one is chosen
        counted = await job_portal.ask("GET", f"/jobs/count?{query}")
        states = {"submitting": 2, "failed": 1, "ended": 1}
        assert _waiting_as_one(counted.body["by_state"]) == states, query


def _waiting_as_one(by_state: dict[str, int]) -> dict[str, int]:
    """Count queued jobs as submitting: when Slurm has them depends on the loop."""
    counts = dict(by_state)
    waiting = counts.pop("submitting", 0) + counts.pop("queued", 0)
    return counts | {"submitting": waiting}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("state=gone", "state"), ("external=perhaps", "external"), ("cursor=nonsense", "cursor"),
        ("cursor=2026-01-01T00:00:00~x", "cursor"), ("cursor=~", "cursor"),
        ("order=name&cursor=nothing", "cursor"), ("order=random", "order"),
        ("outcome=lost", "outcome.0"), ("since=yesterday", "since"),
        ("until=2026-01-01T00:00:00", "until"), ("from=2026-01-01", "from"),
        ("order=value", "by"), ("order=name&by=param:a", "by"), ("by=metric:a", "by"),
        ("order=value&by=node", "by"), ("order=value&by=metric:a&cursor=x~number~nan", "cursor"),
        ("id=" + "x" * 37, "id.0"), ("q=" + "x" * 201, "q"),
        ("limit=0", "limit"), ("limit=201", "limit"),
    ],
)  # fmt: skip
async def test_what_can_not_be_asked(job_portal: JobPortal, query: str, field: str) -> None:
    answer = await job_portal.ask("GET", f"/jobs?{query}")
    assert answer.status == 422
    assert [error["field"] for error in answer.body["errors"]] == [field]


async def test_pages_hold_each_job_once_newest_first(job_portal: JobPortal) -> None:
    """Also with equal creation times, and while jobs are added."""
    made = await job_portal.rows(2 * listing.PAGE + 3, "carol")
    seen: list[Any] = []
    cursor: str | None = ""
    while cursor is not None:
        query = f"/jobs?q=old&cursor={cursor.replace('+', '%2B')}" if cursor else "/jobs?q=old"
        answer = (await job_portal.ask("GET", query, who="carol")).body
        assert len(answer["items"]) <= listing.PAGE
        seen += answer["items"]
        cursor = answer["next_cursor"]
        await job_portal.job(who="carol", name="newer")
    assert sorted(job["id"] for job in seen) == sorted(made)
    times = [job["submitted_at"] for job in seen]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize(
    ("order", "key", "down"),
    [
        ("newest", "submitted_at", True), ("oldest", "submitted_at", False),
        ("name", "name", False), ("name_down", "name", True),
        ("ended", "ended_at", True), ("ended_up", "ended_at", False),
        ("started", "started_at", True), ("started_up", "started_at", False),
        ("duration", "duration_s", True), ("duration_up", "duration_s", False),
    ],
)  # fmt: skip
async def test_every_order_holds_each_job_once(
    job_portal: JobPortal, order: str, key: str, down: bool
) -> None:
    """Also with many equal values."""
    if not await listed(job_portal, "q=sorted", who="carol"):
        for name in ("sorted b", "sorted ä", "sorted a", "sorted ~b"):
            for minute in (1, 2):
                ended = datetime(2026, 1, 1, 0, minute, tzinfo=UTC)
                ran = timedelta(minutes=3 * minute)
                seconds = int(ran.total_seconds())
                times = {"started_at": ended - ran, "ended_at": ended, "duration_s": seconds}
                await job_portal.rows(listing.PAGE // 4, "carol", name=name, **times)
    seen: list[Any] = []
    query: str | None = f"/jobs?q=sorted&order={order}"
    while query is not None:
        answer = (await job_portal.ask("GET", query, who="carol")).body
        seen += answer["items"]
        cursor = answer["next_cursor"]
        query = f"/jobs?q=sorted&order={order}&cursor={quote(cursor)}" if cursor else None
    assert len(seen) == len({job["id"] for job in seen}) == 8 * (listing.PAGE // 4)
    values = [duration_s(job) if key == "duration_s" else job[key] for job in seen]
    assert values == sorted(values, reverse=down)
    assert len(set(values)) > 1 or key == "submitted_at"


def duration_s(job: dict[str, Any]) -> float:
    started, ended = (datetime.fromisoformat(job[key]) for key in ("started_at", "ended_at"))
    return (ended - started).total_seconds()


async def test_by_duration_jobs_are_listed_once_they_have_ended(job_portal: JobPortal) -> None:
    names = ("timed short", "timed long", "timed live")
    jobs = [await job_portal.job(who="carol", name=name) for name in names]
    started = datetime(2026, 1, 1, tzinfo=UTC)
    minutes = (1, 2, None)
    async with job_portal.context.db.session() as db:
        for job, ran in zip(jobs, minutes, strict=True):
            row = await db.get_one(BatchJob, job["id"])
            row.started_at = started
            row.ended_at = None if ran is None else started + timedelta(minutes=ran)
        await db.commit()
    found = await listed(job_portal, "q=timed&order=duration", "carol")
    assert [job["name"] for job in found] == ["timed long", "timed short"]


@pytest.mark.parametrize("cursor", ["x", "id~", "id~-1", "id~1.5", "id~99999999999"])
async def test_a_cursor_of_another_order_is_refused(job_portal: JobPortal, cursor: str) -> None:
    query = f"/jobs?order=duration&cursor={quote(cursor)}"
    answer = await job_portal.ask("GET", query)
    assert answer.status == 422


async def test_certain_jobs_are_listed_if_they_are_still_there(job_portal: JobPortal) -> None:
    mine = [(await job_portal.job(name=f"certain {n}"))["id"] for n in range(3)]
    other = await job_portal.job(who="carol")
    asked = "&".join(f"id={id_}" for id_ in (*mine[:2], other["id"], "none"))
    assert {job["id"] for job in await listed(job_portal, asked)} == set(mine[:2])
    assert await listed(job_portal, f"{asked}&state=ended") == []


COLUMN_VALUES: tuple[Any, ...] = (
    -1, 2, 0.5, 10, 10**400, 1e-5, True, [1],
    "text", "Text", "中文", "x" * 60 + "b", "x" * 60 + "a",
)  # fmt: skip
HOSTILE_NAMES = ("loss", "val/acc", 'a"b', "a\\b", "中文", "$.x", "a'b; --", "0")


@pytest.mark.parametrize("name", HOSTILE_NAMES)
async def test_by_a_parameter_jobs_that_have_it_are_listed_once(
    job_portal: JobPortal, name: str
) -> None:
    """Numbers before texts, in pages, in both directions, whatever the name."""
    label = f"by {HOSTILE_NAMES.index(name)}"
    parameters: list[dict[str, Any]] = [{name: value} for value in COLUMN_VALUES * 2]
    for given in (*parameters, {}, {name: None}, {"other": 1}):
        await job_portal.rows(1, "carol", name=label, parameters=given)
    up = await column_values(job_portal, label, f"param:{name}", "value_up")
    numbers = [value for value in up if type(value) in (int, float)]
    assert numbers == sorted(numbers) == up[: len(numbers)]
    assert sorted(map(str, up)) == sorted(map(str, COLUMN_VALUES * 2))
    assert up[len(numbers) :].count("text") == 2
    down = await column_values(job_portal, label, f"param:{name}", "value")
    assert [value for value in down if type(value) in (int, float)] == numbers[::-1]
    assert sorted(map(str, down)) == sorted(map(str, up))


async def column_values(job_portal: JobPortal, name: str, column: str, order: str) -> list[Any]:
    """Return the values of a column in pages of three."""
    query = f"/jobs?q={quote(name)}&order={order}&by={quote(column)}&limit=3"
    key = column.partition(":")[2]
    values: list[Any] = []
    cursor: str | None = ""
    while cursor is not None:
        following = f"&cursor={quote(cursor)}" if cursor else ""
        answer = await job_portal.ask("GET", query + following, who="carol")
        assert answer.status == 200, answer
        values += [
            job["parameters" if column.startswith("param") else "metrics"][key]
            for job in answer.body["items"]
        ]
        cursor = answer.body["next_cursor"]
    return values


async def test_by_a_metric_jobs_without_a_number_are_not_listed(job_portal: JobPortal) -> None:
    for metrics in ({"loss": 0.3}, {"loss": None}, {"acc": 1}, None, {"loss": 1e-300}, {"loss": 2}):
        await job_portal.rows(1, "carol", name="measured", metrics=metrics)
    assert await column_values(job_portal, "measured", "metric:loss", "value") == [2, 0.3, 1e-300]
    assert await column_values(job_portal, "measured", "metric:none", "value") == []


async def test_by_the_end_only_what_has_ended_is_listed(job_portal: JobPortal) -> None:
    live = await job_portal.job(who="carol", name="has not ended")
    for order in ("ended", "ended_up"):
        query = f"q=has not&order={order}".replace(" ", "%20")
        assert live["id"] not in {job["id"] for job in await listed(job_portal, query, "carol")}


async def test_a_page_is_as_long_as_asked(job_portal: JobPortal) -> None:
    ids = await job_portal.rows(5, "carol", name="counted off")
    seen: list[str] = []
    cursor = ""
    while True:
        query = f"q=counted&limit=2{cursor}"
        answer = (await job_portal.ask("GET", f"/jobs?{query}", who="carol")).body
        assert len(answer["items"]) <= 2
        seen += [job["id"] for job in answer["items"]]
        if answer["next_cursor"] is None:
            break
        cursor = f"&cursor={quote(answer['next_cursor'])}"
    assert sorted(seen) == sorted(ids)


@pytest.mark.skipif(databases.kind() != "sqlite", reason="reads SQLite's plans")
async def test_every_order_of_a_long_history_follows_an_index(job_portal: JobPortal) -> None:
    """In SQLite's query plan, only equal rows are sorted, and no other user's rows are read."""
    user = await user_of(job_portal, "bob")
    for order in set(listing.JobOrder) - listing.BY_VALUE:
        for wanted in (listing.JobSelection(), listing.JobSelection(template="none")):
            steps = await plan(
                job_portal, listing.add_order(listing.build_query(user, wanted), order)
            )
            assert not [step for step in steps if "SCAN" in step], (order, steps)
            sorts = [step for step in steps if "TEMP B-TREE" in step]
            assert all("RIGHT PART" in step or "LAST TERM" in step for step in sorts), steps


async def user_of(job_portal: JobPortal, name: str) -> User:
    async with job_portal.context.db.session() as db:
        found: User = (await db.scalars(select(User).where(User.username == name))).one()
    return found


async def plan(job_portal: JobPortal, query: Any) -> list[str]:
    engine = job_portal.context.db.engine
    statement = query.limit(51).compile(
        dialect=engine.dialect, compile_kwargs={"literal_binds": True}
    )
    async with engine.connect() as connection:
        rows = await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}")
        return [row[3] for row in rows]


async def test_of_a_long_history_a_page_is_read(job_portal: JobPortal) -> None:
    """Of many pages of jobs: neither loaded rows nor queries grow with them."""
    await job_portal.rows(20 * listing.PAGE)
    loaded: list[Any] = []
    asked: list[str] = []
    engine = job_portal.context.db.engine.sync_engine

    def load(target: Any, _context: Any) -> None:
        loaded.append(target.id)

    def ask(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        asked.append(statement)

    event.listen(BatchJob, "load", load)
    event.listen(engine, "before_cursor_execute", ask)
    try:
        found = await listed(job_portal, who="bob")
    finally:
        event.remove(BatchJob, "load", load)
        event.remove(engine, "before_cursor_execute", ask)
    assert len(found) == listing.PAGE
    assert len(loaded) <= listing.PAGE + 1
    assert len([statement for statement in asked if "batch_jobs.id" in statement]) <= 3
    assert {job["state"] for job in found} == {JobState.ENDED}


async def test_lists_do_not_read_the_tasks_of_arrays(job_portal: JobPortal) -> None:
    """1,000 tasks are 150 kB; their numbers by state or outcome are stored beside them."""
    states = [("running", None), ("queued", None), ("queued", None), ("ended", "failed")]
    tasks = [
        {"index": index, "state": state, "outcome": outcome}
        for index, (state, outcome) in enumerate(states)
    ]
    context = job_portal.context
    async with context.db.session() as db:
        before = await count_live(db, ["carol"])
        owner = await db.scalar(select(User.id).where(User.username == "carol"))
        array = BatchJob(
            user_id=owner, owner_id=owner, name="array", state=JobState.RUNNING, array_size=4,
            resources=asdict(Resources()), tasks=tasks,
        )  # fmt: skip
        db.add(array)
        await db.commit()
    query = str(listing.build_query(User(id=owner), listing.JobSelection()))
    assert "batch_jobs.task_counts" in query
    assert "batch_jobs.tasks" not in query
    (shown,) = await listed(job_portal, "q=array", who="carol")
    async with context.db.session() as db:
        live = await count_live(db, ["carol"])
    assert shown["array"]["counts"] == {"running": 1, "queued": 2, "failed": 1}
    assert live.jobs == before.jobs + 3
    detail = await job_portal.ask("GET", f"/jobs/{shown['id']}", who="carol")
    assert [task["state"] for task in detail.body["array"]["tasks"]] == [
        state for state, _ in states
    ]

    def end(row: Any) -> None:
        row.tasks = [{**task, "state": "ended", "outcome": "completed"} for task in row.tasks]

    await update_row(context.db, BatchJob, shown["id"], end)
    (shown,) = await listed(job_portal, "q=array", who="carol")
    assert shown["array"]["counts"] == {"completed": 4}


async def test_recent_templates_are_the_users_own_last_ones(job_portal: JobPortal) -> None:
    """Own scripts, former templates and other users' jobs don't count."""
    used = [("carol", "every-kind"), ("carol", "gone"), ("carol", None), ("bob", "array")]
    for number, (who, template) in enumerate(used):
        created_at = datetime(2026, 1, 1 + number, tzinfo=UTC)
        await job_portal.rows(1, who, template=template, created_at=created_at)
    answer = await job_portal.ask("GET", "/templates", who="carol")
    assert answer.body["recent"] == ["every-kind"]
