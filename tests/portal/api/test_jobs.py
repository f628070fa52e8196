"""Viewing jobs through the API: detail, cancel, logs, events, ownership."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest

from portal.api import logs
from portal.api.live import NEWEST_JOBS
from portal.background.notifier import EVERYONE
from portal.db import utcnow
from portal.models import BatchJob, JobState
from portal.services.store import change
from spawner.slurm.model import SlurmState
from tests.patience import PATIENCE_S
from tests.portal.job_portal import World, job_world
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio
UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
async def shared(slapd: Slapd, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with job_world(slapd, tmp_path_factory.mktemp("jobs")) as made:
        yield made


@pytest.fixture
def world(shared: World) -> Iterator[World]:
    yield shared
    shared.agents.mood, shared.slurm.away = "takes", False


async def test_a_detail_has_what_lists_leave_out(world: World) -> None:
    job = await world.job(script="echo detail", name="d")
    found = (await world.ask("GET", f"/jobs/{job['id']}")).body
    assert found["script"].startswith("#!/bin/bash\n")
    assert (found["source"], found["workdir"]) == ("echo detail", "/home/alice")
    (listed,) = (await world.ask("GET", f"/jobs?q={job['job_id']}")).body["items"]
    assert not {"script", "source", "workdir"} & listed.keys()
    assert {key: found[key] for key in ("id", "name")} == {
        key: listed[key] for key in ("id", "name")
    }


class TestCancel:
    async def test_cancel_may_repeat_and_ended_job_reports_its_outcome(self, world: World) -> None:
        job = await world.job()
        for _ in range(2):
            asked = await world.ask("POST", f"/jobs/{job['id']}/cancel")
            assert (asked.status, asked.body["state"]) == (202, "stopping")
        async with asyncio.timeout(PATIENCE_S):
            while job["job_id"] not in world.slurm.cancelled:
                await asyncio.sleep(0.02)
        shown = world.slurm.shown[job["job_id"]]
        world.slurm.shown[job["job_id"]] = replace(
            shown, state=SlurmState.ENDED, slurm_state="CANCELLED", exit_code=0
        )
        await world.context.watcher.look()
        ended = await world.settled(job["id"], "ended")
        assert ended["outcome"] == "cancelled"
        again = await world.ask("POST", f"/jobs/{job['id']}/cancel")
        assert (again.status, again.slug) == (409, "conflict")
        assert "was cancelled" in again.body["detail"]
        assert (await world.ask("DELETE", f"/jobs/{job['id']}")).status == 204
        assert (await world.ask("GET", f"/jobs/{job['id']}")).status == 404

    async def test_a_live_job_is_not_taken_off_the_list(self, world: World) -> None:
        job = await world.job()
        assert (await world.ask("DELETE", f"/jobs/{job['id']}")).status == 409


ROUTES = [
    ("GET", ""), ("GET", "/log"), ("GET", "/log/follow"), ("POST", "/cancel"), ("DELETE", ""),
    ("PUT", "/tensorboard"), ("GET", "/tensorboard"), ("DELETE", "/tensorboard"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_job_of_another_user_is_not_found(world: World, method: str, path: str) -> None:
    """For an administrator too: other users' jobs are on the admin routes."""
    job = await world.job()
    for who in ("bob", "carol"):
        body = {} if method == "PUT" else None
        theirs = await world.ask(method, f"/jobs/{job['id']}{path}", body, who)
        none = await world.ask(method, f"/jobs/{UNKNOWN_ID}{path}", body, who)
        assert theirs.status == none.status == 404
        assert theirs.body["detail"] == none.body["detail"]
    assert (await world.ask("GET", f"/jobs/{job['id']}")).body["state"] != "stopping"


# --- logs ---------------------------------------------------------------------------------------


async def with_log(world: World, data: bytes, *, ended: bool = True, stream: str = "stdout") -> str:
    (row_id,) = await world.rows(1, "alice", state=JobState.ENDED if ended else JobState.RUNNING)
    world.agents.files[f"{row_id}/{stream}.log"] = data
    return row_id


@pytest.mark.parametrize(
    ("data", "query", "piece"),
    [
        (b"one\ntwo\n", "offset=0", ("one\ntwo\n", 8, 8, True)),
        (b"one\ntwo\n", "offset=4", ("two\n", 8, 8, True)),
        (b"one\ntwo\n", "offset=-4", ("two\n", 8, 8, True)),
        (b"one\ntwo\n", "offset=8", ("", 8, 8, True)),
        (b"one\ntwo\n", "offset=99", ("", 8, 8, True)),
        (b"one\ntwo\n", "offset=-99999999999", ("one\ntwo\n", 8, 8, True)),
        (b"", "offset=0", ("", 0, 0, True)),
        (b"no end", "offset=0", ("no end", 6, 6, True)),
        (b"\x00\xff\xfe", "offset=0", ("\x00\ufffd\ufffd", 3, 3, True)),
        ("aé".encode(), "offset=-2", ("é", 3, 3, True)),
        (b"err", "offset=0&stream=stderr", ("err", 3, 3, True)),
    ],
)
async def test_a_piece_of_a_log(
    world: World, data: bytes, query: str, piece: tuple[str, int, int, bool]
) -> None:
    stream = "stderr" if "stderr" in query else "stdout"
    row_id = await with_log(world, data, stream=stream)
    answer = await world.ask("GET", f"/jobs/{row_id}/log?{query}")
    assert answer.status == 200
    found = answer.body
    assert (found["text"], found["next_offset"], found["size"], found["end"]) == piece


async def test_without_an_offset_it_is_the_end(world: World) -> None:
    row_id = await with_log(world, b"x" * 300_000 + b"the end")
    found = (await world.ask("GET", f"/jobs/{row_id}/log")).body
    assert len(found["text"]) == 65536
    assert found["text"].endswith("the end")
    whole = (await world.ask("GET", f"/jobs/{row_id}/log?offset=-300007")).body
    assert len(whole["text"]) == 128 * 1024, "one answer is bounded"


@pytest.mark.parametrize("query", ["offset=x", "stream=both", "task=-1", "task=0", "task=x"])
async def test_a_log_that_can_not_be(world: World, query: str) -> None:
    row_id = await with_log(world, b"x")
    answer = await world.ask("GET", f"/jobs/{row_id}/log?{query}")
    assert answer.status == 422
    assert answer.body["errors"][0]["field"] == query.partition("=")[0]


async def test_a_log_is_followed_to_its_end(world: World) -> None:
    row_id = await with_log(world, b"one\n", ended=False)
    read: list[Any] = []
    async for name, piece in events(world, f"/jobs/{row_id}/log/follow?offset=0"):
        assert name == "log"
        read.append(piece)
        if len(read) == 1:
            world.agents.files[f"{row_id}/stdout.log"] += b"two"
            await change(world.context.db, BatchJob, row_id, end)
            world.context.notifier.notify(row_id)
    assert "".join(piece["text"] for piece in read) == "one\ntwo"
    assert (read[0]["end"], read[-1]["end"]) == (False, True)


async def test_a_log_that_is_followed_ends_with_the_login(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "RECHECK_S", 0.0)
    row_id = await with_log(world, b"one\n", ended=False)
    async with world.portal.browser() as elsewhere:
        assert (await elsewhere.login("alice")).status == 200
        path = f"/api/v1/jobs/{row_id}/log/follow?offset=0"
        async with asyncio.timeout(PATIENCE_S), elsewhere.http.get(path) as answer:
            assert await answer.content.readline() == b"event: log\n"
            assert (await elsewhere.post("/api/v1/logout")).status == 204
            assert b"event: log" not in (await answer.content.read())


def end(row: BatchJob) -> None:
    row.state = JobState.ENDED


async def events(world: World, path: str) -> AsyncIterator[tuple[str, Any]]:
    """Yield alice's server-sent events until the stream ends."""
    http = world.users["alice"].http
    async with asyncio.timeout(PATIENCE_S), http.get(f"/api/v1{path}") as answer:
        assert answer.status == 200
        name = ""
        async for line in answer.content:
            if line.startswith(b"event: "):
                name = line[7:].strip().decode()
            elif line.startswith(b"data: "):
                yield name, json.loads(line[6:])


async def test_end_of_an_old_job_is_sent(world: World) -> None:
    """It is neither live nor among the newest: its end is sent once, then it is dropped."""
    old = await world.job(name="old")
    heard: list[tuple[str, str]] = []
    async for name, data in events(world, "/events"):
        if name == "snapshot":
            newer = {"state": JobState.ENDED, "created_at": utcnow()}
            await world.rows(2 * NEWEST_JOBS, who="alice", **newer)
            await change(world.context.db, BatchJob, old["id"], end)
            world.context.notifier.notify(EVERYONE)
        elif name in {"job", "job_removed"} and data["id"] == old["id"]:
            heard.append((name, data.get("state", "")))
            if name == "job_removed":
                break
            world.context.notifier.notify(EVERYONE)
    assert heard[-2:] == [("job", "ended"), ("job_removed", "")]


async def test_events_tell_of_ones_own_jobs_alone(world: World) -> None:
    """A snapshot, then a new job, and one that is removed from the list."""
    heard: list[str] = []
    made: dict[str, Any] = {}
    async for name, data in events(world, "/events"):
        if name == "snapshot":
            await world.job(who="bob", name="not mine")
            made = await world.job(name="mine")
        elif name == "job" and data["id"] == made["id"]:
            if not heard:
                await change(world.context.db, BatchJob, made["id"], end)
                await world.ask("DELETE", f"/jobs/{made['id']}")
            heard.append(data["state"])
        elif name == "job_removed" and data["id"] == made["id"]:
            break
        assert data.get("owner", "alice") == "alice"
    assert heard
