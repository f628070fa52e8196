"""Event streams and followed logs: their limits, and the cost of many of them."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import event, select

from portal.api import live
from portal.background.notifier import ALL_ROWS, EVERYONE
from portal.context import AppContext
from portal.errors import TooManyRequests
from portal.models import User
from portal.services.concurrency import STREAMS_PER_LOGIN, ConcurrencyLimit
from tests.polling import PATIENCE_S, until
from tests.portal.conftest import Browser
from tests.portal.job_portal import JobPortal, run_job_portal
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio
EVENTS = "/api/v1/events"


@pytest.fixture(scope="module")
async def job_portal(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[JobPortal]:
    async with run_job_portal(slapd, tmp_path_factory.mktemp("streams")) as made:
        yield made


@asynccontextmanager
async def opened(browser: Browser, path: str, count: int) -> AsyncIterator[list[Any]]:
    """Open this many streams and yield their responses, each with its status."""
    async with AsyncExitStack() as stack, asyncio.timeout(PATIENCE_S):
        yield [await stack.enter_async_context(browser.http.get(path)) for _ in range(count)]


async def free_again(browser: Browser, path: str) -> None:
    """Wait until another stream is accepted."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            async with browser.http.get(path) as answer:
                if answer.status == 200:
                    return


async def test_streams_of_a_login_are_bounded(job_portal: JobPortal) -> None:
    alice, bob = job_portal.users["alice"], job_portal.users["bob"]
    async with opened(alice, EVENTS, STREAMS_PER_LOGIN + 3) as answers:
        statuses = [answer.status for answer in answers]
        assert statuses == [200] * STREAMS_PER_LOGIN + [429] * 3
        refused = await answers[-1].json(content_type=None)
        assert refused["type"] == "urn:portal:too-many-requests"
        assert "Close tabs" in refused["detail"]
        assert answers[-1].headers["Retry-After"]
        async with opened(bob, EVENTS, 1) as others:
            assert others[0].status == 200
    await free_again(alice, EVENTS)


async def test_followed_logs_of_a_login_are_bounded(job_portal: JobPortal) -> None:
    alice, bob = job_portal.users["alice"], job_portal.users["bob"]
    path = f"/api/v1/jobs/{(await job_portal.job())['id']}/log/follow"
    async with opened(alice, path, STREAMS_PER_LOGIN + 1) as answers:
        assert [answer.status for answer in answers][-2:] == [200, 429]
        assert (await alice.get("/api/v1/me")).status == 200
        for _ in range(20):
            assert (await bob.get("/api/v1/me")).status == 200
            assert (await bob.get("/api/v1/jobs")).status == 200
    await free_again(alice, path)


async def test_snapshot_is_the_first_event_of_a_stream(job_portal: JobPortal) -> None:
    alice = job_portal.users["alice"]
    await job_portal.rows(1, who="alice")
    async with opened(alice, EVENTS, 1) as (stream,):
        await stream.content.readline()
        event = json.loads((await stream.content.readline()).removeprefix(b"data: "))
        answer = await alice.get(f"{EVENTS}/snapshot")
    assert event["jobs"]
    assert answer.body.keys() == event.keys()
    assert (answer.body["sessions"], answer.body["jobs"]) == (event["sessions"], event["jobs"])


async def test_snapshot_needs_no_stream(job_portal: JobPortal) -> None:
    (job_id,) = await job_portal.rows(1, who="bob")
    answer = await job_portal.users["bob"].get(f"{EVENTS}/snapshot")
    assert [job["id"] for job in answer.body["jobs"]] == [job_id]


async def test_snapshot_has_no_more_than_the_newest_jobs(
    job_portal: JobPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "NEWEST_JOBS", 2)
    await job_portal.rows(4, who="bob")
    answer = await job_portal.users["bob"].get(f"{EVENTS}/snapshot")
    assert len(answer.body["jobs"]) == 2


def test_a_user_with_many_logins_is_bounded_too() -> None:
    limit = ConcurrencyLimit(per_key=2, per_user=3, detail="Too many.")
    with limit.hold("alice", "a"), limit.hold("alice", "a"):
        with pytest.raises(TooManyRequests), limit.hold("alice", "a"):
            pass
        with limit.hold("alice", "b"):
            with pytest.raises(TooManyRequests), limit.hold("alice", "c"):
                pass
            with limit.hold("bob", "a"):
                pass
        with limit.hold("alice", "c"):
            pass


async def queries_of_a_change(job_portal: JobPortal, count: int) -> int:
    """Count the queries until this many streams of alice have shown a change."""
    alice, seen = job_portal.users["alice"], 0

    def counted(*_: Any) -> None:
        nonlocal seen
        seen += 1

    async with opened(alice, EVENTS, count) as answers:
        for answer in answers:
            assert (await answer.content.readline()).startswith(b"event: snapshot")
        engine = job_portal.context.db.engine.sync_engine
        event.listen(engine, "before_cursor_execute", counted)
        try:
            (job_id,) = await job_portal.rows(1, who="alice")
            job_portal.context.notifier.notify(ALL_ROWS)
            for answer in answers:
                while job_id.encode() not in await answer.content.readline():
                    pass
        finally:
            event.remove(engine, "before_cursor_execute", counted)
    return seen


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the users whose jobs are read from now on, in order."""
    names: list[str] = []
    load_jobs = live._load_jobs

    async def counted(context: AppContext, user: User, *rest: Any) -> Any:
        names.append(user.username)
        return await load_jobs(context, user, *rest)

    monkeypatch.setattr(live, "_load_jobs", counted)
    return names


async def test_change_of_the_cluster_reads_no_users_sessions_and_jobs(
    job_portal: JobPortal, read: list[str]
) -> None:
    alice, bob = job_portal.users["alice"], job_portal.users["bob"]
    async with opened(alice, EVENTS, 1) as (first,), opened(bob, EVENTS, 1) as (second,):
        for stream in (first, second):
            assert (await stream.content.readline()).startswith(b"event: snapshot")
        before = len(read)
        text = {"title": "Maintenance tonight", "text": ""}
        assert (await job_portal.ask("POST", "/admin/announcements", text, "carol")).status == 201
        for stream in (first, second):
            while b"Maintenance tonight" not in await stream.content.readline():
                pass
        assert len(read) == before
        (job_id,) = await job_portal.rows(1, who="bob")
        async with job_portal.context.db.session() as db:
            bob_id = await db.scalar(select(User.id).where(User.username == "bob"))
        job_portal.context.notifier.notify(bob_id)
        while job_id.encode() not in await second.content.readline():
            pass
        job_portal.context.notifier.notify(ALL_ROWS)
        await until(lambda: read[before:].count("alice"))
        assert read[before:].count("alice") == 1


async def test_old_rows_are_read_at_a_change_of_the_cluster_ended_ones_later(
    job_portal: JobPortal, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """alice has a live job; carol has none, so that nothing about her rows can change."""
    await job_portal.job()
    alice, carol = job_portal.users["alice"], job_portal.users["carol"]
    async with opened(alice, EVENTS, 1) as (first,), opened(carol, EVENTS, 1) as (second,):
        for stream in (first, second):
            assert (await stream.content.readline()).startswith(b"event: snapshot")
        monkeypatch.setattr(live, "OLDEST_ROWS_S", 0.0)
        before = len(read)

        async def change_until_read(username: str, count: int) -> None:
            while read[before:].count(username) < count:
                job_portal.context.notifier.notify(EVERYONE)
                await asyncio.sleep(0.01)

        async with asyncio.timeout(PATIENCE_S):
            await change_until_read("alice", 3)
            assert "carol" not in read[before:]
            monkeypatch.setattr(live, "OLDEST_ENDED_ROWS_S", 0.0)
            await change_until_read("carol", 1)


async def test_feeds_of_streams_that_close_together_are_dropped(job_portal: JobPortal) -> None:
    """Also those that end after the last of the streams has left, which hold their users' rows."""
    feeds = job_portal.portal.app.state.live_feeds._feeds
    async with AsyncExitStack() as stack:
        for browser in job_portal.users.values():
            await stack.enter_async_context(opened(browser, EVENTS, 2))
        await until(lambda: len(feeds) == len(job_portal.users))
    await until(lambda: not feeds)


async def test_many_streams_cost_what_one_does(job_portal: JobPortal) -> None:
    """The user's state is read once for all of their streams. Other concurrent queries are in
    both counts."""
    one = await queries_of_a_change(job_portal, 1)
    many = await queries_of_a_change(job_portal, STREAMS_PER_LOGIN)
    assert many < 3 * one


async def test_others_are_answered_while_streams_are_hammered(job_portal: JobPortal) -> None:
    """One user opens streams repeatedly while the cluster changes constantly."""
    alice, bob = job_portal.users["alice"], job_portal.users["bob"]
    over = asyncio.Event()

    async def hammer() -> None:
        while not over.is_set():
            async with alice.http.get(EVENTS) as answer:
                await answer.content.readline()

    async def change() -> None:
        while not over.is_set():
            job_portal.context.notifier.notify(EVERYONE, ALL_ROWS)
            await asyncio.sleep(0.01)

    async with opened(alice, EVENTS, STREAMS_PER_LOGIN), asyncio.TaskGroup() as tasks:
        attack = [tasks.create_task(hammer()) for _ in range(50)]
        attack.append(tasks.create_task(change()))
        for _ in range(20):
            async with asyncio.timeout(PATIENCE_S):
                assert (await bob.get("/api/v1/me")).status == 200
                assert not any(task.done() for task in attack)
        over.set()
