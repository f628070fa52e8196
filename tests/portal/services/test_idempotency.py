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
from tests.polling import PATIENCE_S, until
from tests.portal import job_portal as stage
from tests.portal.job_portal import JobPortal, run_job_portal
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio

KERNEL = 'kernel: {{argv: [python3, "{{connection_file}}"]}}'
SMALL = {"environment": "plain", "resources": {"cpus": 1, "partition": "cpu"}}


@pytest.fixture(scope="module")
async def job_portal(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[JobPortal]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage, "ENVIRONMENT", stage.ENVIRONMENT + KERNEL)
        async with run_job_portal(slapd, tmp_path_factory.mktemp("keys")) as job_portal:
            yield job_portal


@pytest.fixture(autouse=True)
async def clean(job_portal: JobPortal) -> AsyncIterator[None]:
    """No session is left over, and launchers accept submissions."""
    yield
    job_portal.launchers.mood = "takes"
    job_portal.launchers.hung.clear()
    for who in ("alice", "bob"):
        for session in await live(job_portal, who):
            await job_portal.ask("DELETE", f"/sessions/{session['id']}", who=who)


async def start(
    job_portal: JobPortal, key: str | None = None, who: str = "alice", **more: Any
) -> Any:
    return await job_portal.ask("POST", "/sessions", {**SMALL, **more}, who, key)


async def live(job_portal: JobPortal, who: str = "alice") -> list[Any]:
    found = (await job_portal.ask("GET", "/sessions?state=live", who=who)).body["items"]
    return [session for session in found if session["state"] != "stopping"]


async def saved(job_portal: JobPortal, name: str) -> str:
    """Return the address of a saved setup."""
    made = await job_portal.ask("POST", "/setups", {"name": name, **SMALL})
    assert made.status == 201, made
    return f"/setups/{made.body['id']}"


async def test_repeated_request_returns_the_same_session(job_portal: JobPortal) -> None:
    first = await start(job_portal, "k1", name="mine")
    again = await start(job_portal, "k1", name="mine")
    assert (first.status, again.status) == (201, 201)
    assert again.body["id"] == first.body["id"]
    assert [session["id"] for session in await live(job_portal)] == [first.body["id"]]


async def test_without_a_key_each_is_one_of_its_own(job_portal: JobPortal) -> None:
    first, again = await start(job_portal), await start(job_portal)
    assert first.body["id"] != again.body["id"]


async def test_two_at_once_are_one(job_portal: JobPortal) -> None:
    found = await asyncio.gather(*(start(job_portal, "k2") for _ in range(4)))
    assert {answer.status for answer in found} == {201}
    assert len({answer.body["id"] for answer in found}) == 1
    assert len(await live(job_portal)) == 1


async def test_reused_key_with_other_request_is_refused(job_portal: JobPortal) -> None:
    await start(job_portal, "k3")
    for other in ({"name": "other"}, {"resources": {"cpus": 2, "partition": "cpu"}}):
        refused = await start(job_portal, "k3", **other)
        assert (refused.status, refused.slug) == (409, "conflict")
    where = await saved(job_portal, "Usual")
    assert (await job_portal.ask("POST", f"{where}/start", key="k3")).status == 409
    assert len(await live(job_portal)) == 1


async def test_another_user_and_a_job_have_keys_of_their_own(job_portal: JobPortal) -> None:
    mine, theirs = await start(job_portal, "k4"), await start(job_portal, "k4", who="bob")
    assert (mine.status, theirs.status) == (201, 201)
    assert mine.body["id"] != theirs.body["id"]
    assert (await job_portal.submit(key="k4")).status == 201


@pytest.mark.parametrize(("mood", "status"), [("refuses", 422), ("silent", 503)])
async def test_after_a_refusal_the_key_is_free(
    job_portal: JobPortal, mood: Any, status: int
) -> None:
    job_portal.launchers.mood = mood
    refused = await start(job_portal, f"k5 {mood}")
    assert refused.status == status
    job_portal.launchers.mood = "takes"
    taken = await start(job_portal, f"k5 {mood}")
    assert taken.status == 201
    assert [session["id"] for session in await live(job_portal)] == [taken.body["id"]]


@pytest.mark.parametrize("key", ["x" * 201])
async def test_one_that_is_none(job_portal: JobPortal, key: str) -> None:
    assert (await start(job_portal, key)).status == 422
    assert await live(job_portal) == []


@pytest.mark.parametrize("then", ["takes", "refuses"])
async def test_who_asks_again_waits_for_a_slow_slurm(job_portal: JobPortal, then: Any) -> None:
    job_portal.launchers.go_on.clear()
    job_portal.launchers.mood = "hangs"
    asked = [asyncio.create_task(start(job_portal, f"slow {then}")) for _ in range(3)]
    try:
        await until(lambda: job_portal.launchers.hung, "a launcher hangs")
        assert (await job_portal.ask("GET", "/me")).status == 200, "other requests are answered"
    finally:
        job_portal.launchers.mood = then
        job_portal.launchers.go_on.set()
    found = await asyncio.gather(*asked)
    if then == "takes":
        assert {answer.status for answer in found} == {201}
        assert len({answer.body["id"] for answer in found}) == 1
    else:
        assert {answer.status for answer in found} == {422}
        assert await live(job_portal) == []


async def test_who_gave_up_has_started_it(job_portal: JobPortal) -> None:
    job_portal.launchers.go_on.clear()
    job_portal.launchers.mood = "hangs"
    given_up = asyncio.create_task(start(job_portal, "k6"))
    try:
        await until(lambda: job_portal.launchers.hung, "a launcher hangs")
        given_up.cancel()
        again = asyncio.create_task(start(job_portal, "k6"))
    finally:
        job_portal.launchers.go_on.set()
    assert (await again).status == 201
    assert len(await live(job_portal)) == 1


@pytest.mark.parametrize(("path", "service"), [("/sessions", sessions), ("/jobs", jobs)])
async def test_who_asks_again_just_as_it_was_written_hears_of_its_refusal(
    job_portal: JobPortal, monkeypatch: pytest.MonkeyPatch, path: str, service: Any
) -> None:
    """The row is visible before the request that wrote it continues."""
    written, found = asyncio.Event(), asyncio.Event()
    insert, earlier = service._insert, IdempotentRequest.find_earlier

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
    monkeypatch.setattr(IdempotentRequest, "find_earlier", seen_earlier)
    job_portal.launchers.mood = "refuses"
    body = {**SMALL, "script": "true"} if service is jobs else SMALL
    key = f"k9 {path}"
    first = asyncio.create_task(job_portal.ask("POST", path, body, key=key))
    async with asyncio.timeout(PATIENCE_S):
        await written.wait()
        again = await job_portal.ask("POST", path, body, key=key)
    assert (again.status, again.slug) == (422, "slurm-rejected")
    assert (await first).status == 422
    assert job_portal.context.submitting == {}


@pytest.mark.parametrize("then", ["takes", "refuses"])
@pytest.mark.parametrize("path", ["/sessions", "/jobs"])
async def test_row_read_just_before_its_refusal_is_not_returned(
    job_portal: JobPortal, monkeypatch: pytest.MonkeyPatch, path: str, then: Any
) -> None:
    """The refusal may fall between the check and the wait."""
    earlier = IdempotentRequest.find_earlier
    held: list[str] = []

    async def read_too_early(*args: Any) -> Any:
        row = await earlier(*args)
        if row is not None and not held:
            held.append(row.id)
            job_portal.launchers.mood = "refuses"
            job_portal.launchers.go_on.set()
            await until(lambda: row.id not in job_portal.context.submitting, "the submission ends")
            job_portal.launchers.mood = then
        return row

    monkeypatch.setattr(IdempotentRequest, "find_earlier", read_too_early)
    job_portal.launchers.go_on.clear()
    job_portal.launchers.mood = "hangs"
    body = {**SMALL, "script": "true"} if path == "/jobs" else SMALL
    key = f"k13 {path} {then}"
    first = asyncio.create_task(job_portal.ask("POST", path, body, key=key))
    async with asyncio.timeout(PATIENCE_S):
        while not job_portal.launchers.hung:
            await asyncio.sleep(0.01)
        again = await job_portal.ask("POST", path, body, key=key)
        assert (await first).status == 422
    assert again.status == (201 if then == "takes" else 422)
    assert again.status == 422 or again.body["id"] not in held
    assert job_portal.context.submitting == {}


async def test_a_key_is_free_again_when_the_one_that_had_it_is_refused(
    job_portal: JobPortal, monkeypatch: pytest.MonkeyPatch
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
        assert (await job_portal.ask("POST", path, body, key="k14")).status == 201
    assert tries == {"/sessions": 2, "/jobs": 2}


async def test_what_could_not_be_written_is_not_waited_for(
    job_portal: JobPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: Any) -> Any:
        raise LimitReached("sessions", "Limit reached.")

    for service, path in ((sessions, "/sessions"), (jobs, "/jobs")):
        monkeypatch.setattr(service, "_insert", full)
        body = {**SMALL, "script": "true"} if service is jobs else SMALL
        assert (await job_portal.ask("POST", path, body, key="k10")).slug == "limit-reached"
    assert job_portal.context.submitting == {}


async def test_refused_row_of_an_abandoned_request_is_not_reported_as_a_bug(
    job_portal: JobPortal,
) -> None:
    async def refused() -> PortalError | None:
        await go_on.wait()
        raise LimitReached("sessions", "Limit reached.")

    go_on, reports = asyncio.Event(), list[Any]()
    loop, user = asyncio.get_running_loop(), cast("User", SimpleNamespace(id="u"))
    loop.set_exception_handler(lambda _, report: reports.append(report))
    try:
        request = asyncio.create_task(
            idempotency.submit(job_portal.context, Session, "row", user, refused())
        )
        await until(lambda: "row" in job_portal.context.submitting)
        submissions = [job_portal.context.submitting["row"]]
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


async def test_a_setup_started_twice_is_started_once(job_portal: JobPortal) -> None:
    where = await saved(job_portal, "Twice")
    first = await job_portal.ask("POST", f"{where}/start", key="k7")
    await job_portal.ask("PATCH", where, {"resources": {"cpus": 2}})
    again = await job_portal.ask("POST", f"{where}/start", key="k7")
    await job_portal.ask("DELETE", where)
    gone = await job_portal.ask("POST", f"{where}/start", key="k7")
    assert [answer.status for answer in (first, again, gone)] == [201, 201, 201]
    assert len({answer.body["id"] for answer in (first, again, gone)}) == 1
    assert (await job_portal.ask("POST", f"{where}/start", key="k8")).status == 404


async def test_a_portal_that_ends_leaves_no_submission_behind(job_portal: JobPortal) -> None:
    """Its row stays unchanged, for the next portal's loop."""
    job_portal.launchers.go_on.clear()
    job_portal.launchers.mood = "hangs"
    asked = asyncio.create_task(start(job_portal, "k11"))
    try:
        await until(lambda: job_portal.launchers.hung, "a launcher hangs")
        (task,) = job_portal.context.submitting.values()
        await idempotency.close(job_portal.context)
        assert task.done()
        assert job_portal.context.submitting == {}
    finally:
        job_portal.launchers.go_on.set()
    assert (await asked).body["state"] == "submitting"


async def test_a_portal_that_ends_while_a_row_is_written_submits_nothing(
    job_portal: JobPortal,
) -> None:
    writes = asyncio.Event()

    async def submission() -> None:
        writes.set()
        await asyncio.Event().wait()
        raise AssertionError("it was ended before")

    owner = cast("User", SimpleNamespace(id="alice's"))
    submitting = idempotency.submit(job_portal.context, Session, "k12", owner, submission())
    asked = asyncio.create_task(submitting)
    await writes.wait()
    await idempotency.close(job_portal.context)
    with pytest.raises(Unavailable):
        await asked
    assert job_portal.context.submitting == {}


async def test_a_slow_database_does_not_use_up_the_time_for_an_answer(
    job_portal: JobPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row is in the answer, however long it took to write it."""
    insert = jobs._insert

    async def slow_insert(*args: Any) -> Any:
        await asyncio.sleep(0.3)
        return await insert(*args)

    monkeypatch.setattr(jobs, "_insert", slow_insert)
    monkeypatch.setattr(jobs, "ANSWER_WITHIN_S", 0.05)
    job_portal.launchers.go_on.clear()
    job_portal.launchers.mood = "hangs"
    try:
        answer = await job_portal.submit(key="k15")
        assert (answer.status, answer.body["state"]) == (201, "submitting")
        (submission,) = job_portal.context.submitting.values()
    finally:
        job_portal.launchers.mood = "takes"
        job_portal.launchers.go_on.set()
    assert await submission is None
    again = await job_portal.submit(key="k15")
    assert (again.body["id"], again.body["state"]) == (answer.body["id"], "queued")
