"""An Idempotency-Key makes a repeated request start one session."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from sqlalchemy.exc import IntegrityError

from portal.errors import LimitReached, PortalError, Unavailable
from portal.models import Session, User
from portal.services import idempotency
from portal.services.idempotency import IdempotentRequest
from portal.services.jobs import jobs
from portal.services.sessions import sessions
from tests.patience import PATIENCE_S, until
from tests.portal import job_portal as stage
from tests.portal.job_portal import World, job_world
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio

KERNEL = 'kernel: {{argv: [python3, "{{connection_file}}"]}}'
SMALL = {"environment": "plain", "resources": {"cpus": 1, "partition": "cpu"}}


@pytest.fixture(scope="module")
async def world(slapd: Slapd, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage, "ENVIRONMENT", stage.ENVIRONMENT + KERNEL)
        async with job_world(slapd, tmp_path_factory.mktemp("keys")) as world:
            yield world


@pytest.fixture(autouse=True)
async def clean(world: World) -> AsyncIterator[None]:
    """No session is left over, and launchers accept submissions."""
    yield
    world.agents.mood = "takes"
    world.agents.hung.clear()
    for who in ("alice", "bob"):
        for session in await live(world, who):
            await world.ask("DELETE", f"/sessions/{session['id']}", who=who)


async def start(world: World, key: str | None = None, who: str = "alice", **more: Any) -> Any:
    return await world.ask("POST", "/sessions", {**SMALL, **more}, who, key)


async def live(world: World, who: str = "alice") -> list[Any]:
    found = (await world.ask("GET", "/sessions?state=live", who=who)).body["items"]
    return [session for session in found if session["state"] != "stopping"]


async def saved(world: World, name: str) -> str:
    """Return the address of a saved setup."""
    made = await world.ask("POST", "/setups", {"name": name, **SMALL})
    assert made.status == 201, made
    return f"/setups/{made.body['id']}"


async def test_repeated_request_returns_the_same_session(world: World) -> None:
    first = await start(world, "k1", name="mine")
    again = await start(world, "k1", name="mine")
    assert (first.status, again.status) == (201, 201)
    assert again.body["id"] == first.body["id"]
    assert [session["id"] for session in await live(world)] == [first.body["id"]]


async def test_without_a_key_each_is_one_of_its_own(world: World) -> None:
    first, again = await start(world), await start(world)
    assert first.body["id"] != again.body["id"]


async def test_two_at_once_are_one(world: World) -> None:
    found = await asyncio.gather(*(start(world, "k2") for _ in range(4)))
    assert {answer.status for answer in found} == {201}
    assert len({answer.body["id"] for answer in found}) == 1
    assert len(await live(world)) == 1


async def test_reused_key_with_other_request_is_refused(world: World) -> None:
    await start(world, "k3")
    for other in ({"name": "other"}, {"resources": {"cpus": 2, "partition": "cpu"}}):
        refused = await start(world, "k3", **other)
        assert (refused.status, refused.slug) == (409, "conflict")
    where = await saved(world, "Usual")
    assert (await world.ask("POST", f"{where}/start", key="k3")).status == 409
    assert len(await live(world)) == 1


async def test_another_user_and_a_job_have_keys_of_their_own(world: World) -> None:
    mine, theirs = await start(world, "k4"), await start(world, "k4", who="bob")
    assert (mine.status, theirs.status) == (201, 201)
    assert mine.body["id"] != theirs.body["id"]
    assert (await world.submit(key="k4")).status == 201


@pytest.mark.parametrize("mood", ["refuses", "silent"])
async def test_after_a_refusal_the_key_is_free(world: World, mood: Any) -> None:
    world.agents.mood = mood
    refused = await start(world, f"k5 {mood}")
    assert refused.status >= 400
    world.agents.mood = "takes"
    taken = await start(world, f"k5 {mood}")
    assert taken.status == 201
    assert [session["id"] for session in await live(world)] == [taken.body["id"]]


@pytest.mark.parametrize("key", ["x" * 201])
async def test_one_that_is_none(world: World, key: str) -> None:
    assert (await start(world, key)).status == 422
    assert await live(world) == []


@pytest.mark.parametrize("then", ["takes", "refuses"])
async def test_who_asks_again_waits_for_a_slow_slurm(world: World, then: Any) -> None:
    world.agents.go_on.clear()
    world.agents.mood = "hangs"
    asked = [asyncio.create_task(start(world, f"slow {then}")) for _ in range(3)]
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not world.agents.hung:
                await asyncio.sleep(0.01)
        assert (await world.ask("GET", "/me")).status == 200, "other requests are answered"
    finally:
        world.agents.mood = then
        world.agents.go_on.set()
    found = await asyncio.gather(*asked)
    if then == "takes":
        assert {answer.status for answer in found} == {201}
        assert len({answer.body["id"] for answer in found}) == 1
    else:
        assert {answer.status for answer in found} == {422}
        assert await live(world) == []


async def test_who_gave_up_has_started_it(world: World) -> None:
    world.agents.go_on.clear()
    world.agents.mood = "hangs"
    given_up = asyncio.create_task(start(world, "k6"))
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not world.agents.hung:
                await asyncio.sleep(0.01)
        given_up.cancel()
        again = asyncio.create_task(start(world, "k6"))
    finally:
        world.agents.go_on.set()
    assert (await again).status == 201
    assert len(await live(world)) == 1


@pytest.mark.parametrize(("path", "service"), [("/sessions", sessions), ("/jobs", jobs)])
async def test_who_asks_again_just_as_it_was_written_hears_of_its_refusal(
    world: World, monkeypatch: pytest.MonkeyPatch, path: str, service: Any
) -> None:
    """The row is visible before the request that wrote it continues."""
    written, found = asyncio.Event(), asyncio.Event()
    insert, earlier = service._insert, IdempotentRequest.earlier

    async def slow_insert(*args: Any) -> Any:
        row = await insert(*args)
        written.set()
        await found.wait()
        return row

    async def seen_earlier(*args: Any) -> Any:
        if (row := await earlier(*args)) is not None:
            found.set()
        return row

    monkeypatch.setattr(service, "_insert", slow_insert)
    monkeypatch.setattr(IdempotentRequest, "earlier", seen_earlier)
    world.agents.mood = "refuses"
    body = {**SMALL, "script": "true"} if service is jobs else SMALL
    key = f"k9 {path}"
    first = asyncio.create_task(world.ask("POST", path, body, key=key))
    async with asyncio.timeout(PATIENCE_S):
        await written.wait()
        again = await world.ask("POST", path, body, key=key)
    assert (again.status, again.slug) == (422, "slurm-rejected")
    assert (await first).status == 422
    assert world.context.submitting == {}


@pytest.mark.parametrize("then", ["takes", "refuses"])
@pytest.mark.parametrize("path", ["/sessions", "/jobs"])
async def test_row_read_just_before_its_refusal_is_not_returned(
    world: World, monkeypatch: pytest.MonkeyPatch, path: str, then: Any
) -> None:
    """The refusal may fall between the check and the wait."""
    earlier = IdempotentRequest.earlier
    held: list[str] = []

    async def read_too_early(*args: Any) -> Any:
        row = await earlier(*args)
        if row is not None and not held:
            held.append(row.id)
            world.agents.mood = "refuses"
            world.agents.go_on.set()
            async with asyncio.timeout(PATIENCE_S):
                while row.id in world.context.submitting:
                    await asyncio.sleep(0.01)
            world.agents.mood = then
        return row

    monkeypatch.setattr(IdempotentRequest, "earlier", read_too_early)
    world.agents.go_on.clear()
    world.agents.mood = "hangs"
    body = {**SMALL, "script": "true"} if path == "/jobs" else SMALL
    key = f"k13 {path} {then}"
    first = asyncio.create_task(world.ask("POST", path, body, key=key))
    async with asyncio.timeout(PATIENCE_S):
        while not world.agents.hung:
            await asyncio.sleep(0.01)
        again = await world.ask("POST", path, body, key=key)
        assert (await first).status == 422
    assert again.status == (201 if then == "takes" else 422)
    assert again.status == 422 or again.body["id"] not in held
    assert world.context.submitting == {}


async def test_a_key_is_free_again_when_the_one_that_had_it_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both wrote at the same time, and only one row was possible: it is gone when the other
    reads it."""
    tries = {"/sessions": 0, "/jobs": 0}
    for service, path in ((sessions, "/sessions"), (jobs, "/jobs")):

        async def clashes(*args: Any, path: str = path, insert: Any = service._insert) -> Any:
            tries[path] += 1
            if tries[path] == 1:
                raise IntegrityError("INSERT", {}, Exception("there is such a key"))
            return await insert(*args)

        monkeypatch.setattr(service, "_insert", clashes)
        body = {**SMALL, "script": "true"} if service is jobs else SMALL
        assert (await world.ask("POST", path, body, key="k14")).status == 201
    assert tries == {"/sessions": 2, "/jobs": 2}


async def test_what_could_not_be_written_is_not_waited_for(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: Any) -> Any:
        raise LimitReached("sessions", "Limit reached.")

    for service, path in ((sessions, "/sessions"), (jobs, "/jobs")):
        monkeypatch.setattr(service, "_insert", full)
        body = {**SMALL, "script": "true"} if service is jobs else SMALL
        assert (await world.ask("POST", path, body, key="k10")).slug == "limit-reached"
    assert world.context.submitting == {}


async def test_refused_row_of_an_abandoned_request_is_not_reported_as_a_bug(world: World) -> None:
    async def refused() -> PortalError | None:
        await go_on.wait()
        raise LimitReached("sessions", "Limit reached.")

    go_on, reports = asyncio.Event(), list[Any]()
    loop, user = asyncio.get_running_loop(), cast("User", SimpleNamespace(id="u"))
    loop.set_exception_handler(lambda _, report: reports.append(report))
    try:
        request = asyncio.create_task(
            idempotency.submit(world.context, Session, "row", user, refused())
        )
        await until(lambda: "row" in world.context.submitting)
        submissions = [world.context.submitting["row"]]
        request.cancel()
        await asyncio.wait({request})
        del request  # its error refers to the submission, which is reported when it is collected
        go_on.set()
        await asyncio.wait(submissions)
        submissions.clear()
        gc.collect()
    finally:
        loop.set_exception_handler(None)
    assert reports == []


async def test_a_setup_started_twice_is_started_once(world: World) -> None:
    where = await saved(world, "Twice")
    first = await world.ask("POST", f"{where}/start", key="k7")
    await world.ask("PATCH", where, {"resources": {"cpus": 2}})
    again = await world.ask("POST", f"{where}/start", key="k7")
    await world.ask("DELETE", where)
    gone = await world.ask("POST", f"{where}/start", key="k7")
    assert [answer.status for answer in (first, again, gone)] == [201, 201, 201]
    assert len({answer.body["id"] for answer in (first, again, gone)}) == 1
    assert (await world.ask("POST", f"{where}/start", key="k8")).status == 404


async def test_a_portal_that_ends_leaves_no_submission_behind(world: World) -> None:
    """Its row stays unchanged, for the next portal's loop."""
    world.agents.go_on.clear()
    world.agents.mood = "hangs"
    asked = asyncio.create_task(start(world, "k11"))
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not world.agents.hung:
                await asyncio.sleep(0.01)
        (task,) = world.context.submitting.values()
        await idempotency.close(world.context)
        assert task.done()
        assert world.context.submitting == {}
    finally:
        world.agents.go_on.set()
    assert (await asked).body["state"] == "submitting"


async def test_a_portal_that_ends_while_a_row_is_written_submits_nothing(world: World) -> None:
    writes = asyncio.Event()

    async def submission() -> None:
        writes.set()
        await asyncio.Event().wait()
        raise AssertionError("it was ended before")

    owner = cast("User", SimpleNamespace(id="alice's"))
    submitting = idempotency.submit(world.context, Session, "k12", owner, submission())
    asked = asyncio.create_task(submitting)
    await writes.wait()
    await idempotency.close(world.context)
    with pytest.raises(Unavailable):
        await asked
    assert world.context.submitting == {}


async def test_a_slow_database_does_not_use_up_the_time_for_an_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row is in the answer, however long it took to write it."""
    insert = jobs._insert

    async def slow_insert(*args: Any) -> Any:
        await asyncio.sleep(0.3)
        return await insert(*args)

    monkeypatch.setattr(jobs, "_insert", slow_insert)
    monkeypatch.setattr(jobs, "ANSWER_WITHIN_S", 0.05)
    world.agents.go_on.clear()
    world.agents.mood = "hangs"
    try:
        answer = await world.submit(key="k15")
        assert (answer.status, answer.body["state"]) == (201, "submitting")
        (submission,) = world.context.submitting.values()
    finally:
        world.agents.mood = "takes"
        world.agents.go_on.set()
    assert await submission is None
    again = await world.submit(key="k15")
    assert (again.body["id"], again.body["state"]) == (answer.body["id"], "queued")
