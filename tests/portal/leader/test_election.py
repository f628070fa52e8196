"""Two portals, of which one leads: either accepts requests, and a crash of one loses nothing."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import psycopg
import pytest
from sqlalchemy.engine import make_url

from portal.leader.lock import AT_WORK, CLASS, LEADS, OBJECT, LeaderLock
from tests.portal.conftest import settings_in
from tests.servers import databases
from tests.servers.postgresql import PostgreSql
from tests.servers.slapd import Slapd, free_port
from tests.servers.two_portals import PATIENCE_S, PortalProcess, TwoPortals, two_portals

pytestmark = pytest.mark.anyio
ATTEMPTS = 3
LEADS_NOW = "this portal leads"


@pytest.fixture(scope="module")
async def running(
    slapd: Slapd, postgres: PostgreSql, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[TwoPortals]:
    """Two portals for all tests: each start takes seconds."""
    folder, name = tmp_path_factory.mktemp("two"), f"portal_{free_port()}"
    url = databases.make_migrated(name)
    settings = settings_in(folder, slapd, database_url=url, login_attempts=ATTEMPTS)
    async with two_portals(settings, folder) as running:
        assert (await running.login(running.a)).status == 200
        yield running
    postgres.sql("postgres", f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
async def two(running: TwoPortals) -> TwoPortals:
    """Both portals, of which a leads, whatever the test before did to them."""
    for one in (running.a, running.b):
        if one.process is None:
            one.start()
    await running.wait_for_roles()
    return running


class Stream:
    """An open event stream and its received events."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._answer = answer

    async def until(self, event: str, holds: str) -> None:
        """Read until such an event arrives."""
        name = ""
        async with asyncio.timeout(PATIENCE_S):
            async for line in self._answer.content:
                text = line.decode().strip()
                if text.startswith("event:"):
                    name = text.removeprefix("event:").strip()
                elif text.startswith("data:") and name == event and holds in text:
                    return
        raise AssertionError(f"the stream ended before {event} {holds}")


@asynccontextmanager
async def events(two: TwoPortals, one: PortalProcess) -> AsyncIterator[Stream]:
    async with two.http.get(f"{one.url}/api/v1/events") as answer:
        assert answer.status == 200
        stream = Stream(answer)
        await stream.until("snapshot", "")
        yield stream


async def metrics(two: TwoPortals, one: PortalProcess) -> str:
    return str((await two.browser.get(f"{one.url}/metrics")).body)


async def test_each_portal_reports_whether_it_leads(two: TwoPortals) -> None:
    for one, leads in ((two.a, 1), (two.b, 0)):
        assert (await two.browser.get(f"{one.url}/healthz")).body == {"status": "ok"}
        assert f"portal_leads {leads}.0" in await metrics(two, one)
    assert (await two.browser.get(f"{two.b.url}/readyz")).body == {
        "status": "standby",
        "checks": {},
    }


async def test_whichever_is_asked_it_is_the_same_portal(two: TwoPortals) -> None:
    before = two.in_slurm()
    first = await two.submit(two.b, "k1")
    assert first.status == 201, first
    again = await two.submit(two.a, "k1")
    assert (again.status, again.body["id"]) == (201, first.body["id"])
    other = await two.browser.post(
        f"{two.b.url}/api/v1/jobs", {"script": "false"}, headers={"Idempotency-Key": "k1"}
    )
    assert other.status == 409
    assert two.in_slurm() - before == {first.body["id"]: 1}
    at_a, at_b = [
        # its state may change between the two requests
        [(job["id"], job["job_id"], job["submitted_at"]) for job in await two.jobs(portal)]
        for portal in (two.a, two.b)
    ]
    assert at_a == at_b
    assert len(at_a) == before.total() + 1


async def test_at_the_same_moment_at_both_it_is_one_job(two: TwoPortals) -> None:
    before = two.in_slurm()
    with two.held("hold-before"):
        both = [asyncio.create_task(two.submit(one, "k2")) for one in (two.a, two.b)]
        await two.until(len(two.asked()) + 1)
    first, second = await asyncio.gather(*both)
    assert first.body["id"] == second.body["id"]
    assert two.in_slurm() - before == {first.body["id"]: 1}


async def test_events_reach_both(two: TwoPortals) -> None:
    async with events(two, two.a) as at_a, events(two, two.b) as at_b:
        for one in (two.a, two.b):
            job = (await two.submit(one, f"at {one.name}")).body
            await asyncio.gather(at_a.until("job", job["id"]), at_b.until("job", job["id"]))


async def test_tries_at_a_password_count_at_both(two: TwoPortals) -> None:
    tried = [(await two.login(one, "bob", "wrong")).status for one in (two.a, two.b, two.a)]
    assert tried == [401] * ATTEMPTS
    assert [(await two.login(one, "bob")).status for one in (two.b, two.a)] == [429, 429]


@pytest.mark.parametrize("where", ["hold-before", "hold-after"])
async def test_the_leader_is_killed_in_the_middle_of_submissions(
    two: TwoPortals, where: str
) -> None:
    """Slurm has not received the jobs yet, or has them without the portal's knowledge: none is
    lost, none is duplicated, and every client gets a response."""
    before, asked = two.in_slurm(), len(two.asked())
    with two.held(where):
        asking = [asyncio.create_task(two.keep_submitting(f"{where} {n}", n)) for n in range(8)]
        await two.until(asked + 8)
        two.a.end(signal.SIGKILL)
        await two.leads(two.b)
    answers = await asyncio.gather(*asking)
    assert {answer.status for answer in answers} == {201}
    ids = {answer.body["id"] for answer in answers}
    assert len(ids) == 8
    await two.all_submitted(two.b, ids)
    assert two.in_slurm() - before == dict.fromkeys(ids, 1)
    assert not (two.slurm / "cancelled").exists()
    if where == "hold-after":
        assert len(two.asked()) == asked + 8  # jobs that Slurm has are not submitted again


async def test_a_portal_that_ends_hands_over(two: TwoPortals) -> None:
    led = two.b.log.read_text().count(LEADS_NOW)
    async with events(two, two.b) as before:
        two.a.end()
        await two.leads(two.b)
        with pytest.raises((AssertionError, aiohttp.ClientError)):
            await before.until("job", "never")  # it ended with the portal that sent it
    job = (await two.submit(two.b, "handed over")).body
    two.a.start()
    await two.wait_for_status(two.a, "standby")
    assert (await two.submit(two.a, "handed over")).body["id"] == job["id"]
    assert two.b.log.read_text().count(LEADS_NOW) == led + 1


async def test_one_that_loses_its_connection_leads_no_longer(
    two: TwoPortals, postgres: PostgreSql
) -> None:
    """It continues as the standby; the other one completes its submissions."""
    before, asked = two.in_slurm(), len(two.asked())
    with two.held("hold-before"):
        asking = [asyncio.create_task(two.keep_submitting(f"lost {n}", n)) for n in range(4)]
        await two.until(asked + 4)
        ended = postgres.sql(
            two.database,
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE starts_with(application_name, 'portal leads at ')"
            " AND datname = current_database()"
            " AND pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted)",
        )
        assert ended == "1"
        await two.leads(two.b)
        await two.wait_for_status(two.a, "standby")
    ids = {answer.body["id"] for answer in await asyncio.gather(*asking)}
    await two.all_submitted(two.b, ids)
    assert two.in_slurm() - before == dict.fromkeys(ids, 1)
    assert "portal_leads 0.0" in await metrics(two, two.a)


async def test_the_database_goes_and_comes_back(two: TwoPortals, postgres: PostgreSql) -> None:
    """Every connection is cut at once: one of the two leads again, and only one."""
    before = two.in_slurm()
    # All are terminated at once, then awaited: until each is gone the leader may not have noticed.
    postgres.sql(
        two.database,
        "WITH ended AS (SELECT array_agg(pid) AS pids, count(pg_terminate_backend(pid))"
        " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid())"
        " SELECT count(pg_terminate_backend(pid, 120000)) FROM ended, unnest(pids) AS pid",
    )
    job = (await two.keep_submitting("came back", 0)).body
    await two.wait_for_roles()
    await two.all_submitted(two.a, {job["id"]})
    assert two.in_slurm() - before == {job["id"]: 1}


class TestLock:
    """The lock itself."""

    async def test_one_holds_it_and_the_next_one_waits(self, migrated_url: str) -> None:
        async with (
            LeaderLock(migrated_url, "a:1") as first,
            LeaderLock(migrated_url, "b:1") as second,
        ):
            assert await first.acquire(wait=False)
            assert not await second.acquire(wait=False)
            assert await second.find_leader() == "a:1"
            assert (await first.is_held(), await second.is_held()) == (True, False)
            waiting = asyncio.create_task(second.acquire(wait=True))
            await first.release()
            assert await waiting
            assert await first.find_leader() == "b:1"
            assert not await first.is_held()

    async def test_a_successor_ends_what_the_one_before_has_open(
        self, migrated_url: str, postgres: PostgreSql
    ) -> None:
        url = migrated_url.replace("+psycopg", "")
        async with (
            LeaderLock(migrated_url, "a:1") as first,
            LeaderLock(migrated_url, "b:1") as second,
        ):
            assert await first.acquire(wait=False)
            left = await psycopg.AsyncConnection.connect(
                url, application_name=first.connection_name
            )
            own = await psycopg.AsyncConnection.connect(
                url, application_name=second.connection_name
            )
            other = await psycopg.AsyncConnection.connect(url, application_name="psql")
            await left.execute("CREATE TABLE half_done (id int)")
            await first.release()
            assert await second.acquire(wait=True)
            with pytest.raises(psycopg.OperationalError):
                await left.commit()
            for stays in (own, other):
                await stays.execute("SELECT 1")
                await stays.close()
            assert first.connection_name.startswith(AT_WORK)

    async def test_giving_up_waiting_leaves_no_one_in_the_queue(self, migrated_url: str) -> None:
        async with LeaderLock(migrated_url, "a:1") as first:
            assert await first.acquire(wait=False)
            async with LeaderLock(migrated_url, "b:1") as second:
                waiting = asyncio.create_task(second.acquire(wait=True))
                await asyncio.sleep(0)
                waiting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiting
            await first.release()
            async with LeaderLock(migrated_url, "c:1") as third:
                assert await third.acquire(wait=False)
                assert await third.find_leader() == "c:1"

    async def test_leader_address_of_another_database_role_is_ignored(
        self, migrated_url: str, postgres: PostgreSql
    ) -> None:
        """Any account that may connect to the database may take the lock, under any name."""
        postgres.sql("postgres", "CREATE ROLE stranger LOGIN PASSWORD 'their-own'")
        url = make_url(migrated_url).set(
            drivername="postgresql", username="stranger", password="their-own"
        )
        stranger = await psycopg.AsyncConnection.connect(
            url.render_as_string(hide_password=False),
            application_name=f"{LEADS}elsewhere.example:80",
            autocommit=True,
        )
        await stranger.execute("SELECT pg_advisory_lock(%s, %s)", (CLASS, OBJECT))
        async with LeaderLock(migrated_url, "a:1") as first:
            assert not await first.acquire(wait=False)
            assert await first.find_leader() is None
            await stranger.close()
            assert await first.acquire(wait=True)
            assert await first.find_leader() == "a:1"
