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
from portal.background.notifier import ALL_ROWS
from portal.db import utcnow
from portal.models import BatchJob, JobState
from portal.services.store import update_row
from spawner.slurm.model import JobPhase
from tests.polling import PATIENCE_S, until
from tests.portal.job_portal import JobPortal, run_job_portal
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio
UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
async def shared(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[JobPortal]:
    async with run_job_portal(slapd, tmp_path_factory.mktemp("jobs")) as made:
        yield made


@pytest.fixture
def job_portal(shared: JobPortal) -> Iterator[JobPortal]:
    yield shared
    shared.launchers.mood, shared.slurm.away = "takes", False


async def test_a_detail_has_what_lists_leave_out(job_portal: JobPortal) -> None:
    job = await job_portal.job(script="echo detail", name="d")
    found = (await job_portal.ask("GET", f"/jobs/{job['id']}")).body
    assert found["script"].startswith("#!/bin/bash\n")
    assert (found["source"], found["workdir"]) == ("echo detail", "/home/alice")
    (listed,) = (await job_portal.ask("GET", f"/jobs?q={job['job_id']}")).body["items"]
    assert not {"script", "source", "workdir"} & listed.keys()
    assert {key: found[key] for key in ("id", "name")} == {
        key: listed[key] for key in ("id", "name")
    }


class TestCancel:
    async def test_cancel_may_repeat_and_ended_job_reports_its_outcome(
        self, job_portal: JobPortal
    ) -> None:
        job = await job_portal.job()
        for _ in range(2):
            asked = await job_portal.ask("POST", f"/jobs/{job['id']}/cancel")
            assert (asked.status, asked.body["state"]) == (202, "stopping")
        await until(
            lambda: job["job_id"] in job_portal.slurm.cancelled, "the cancellation reaches Slurm"
        )
        shown = job_portal.slurm.shown[job["job_id"]]
        job_portal.slurm.shown[job["job_id"]] = replace(
            shown, phase=JobPhase.ENDED, slurm_state="CANCELLED", exit_code=0
        )
        await job_portal.context.watcher.refresh()
        ended = await job_portal.settled(job["id"], "ended")
        assert ended["outcome"] == "cancelled"
        again = await job_portal.ask("POST", f"/jobs/{job['id']}/cancel")
        assert (again.status, again.slug) == (409, "conflict")
        assert "was cancelled" in again.body["detail"]
        assert (await job_portal.ask("DELETE", f"/jobs/{job['id']}")).status == 204
        assert (await job_portal.ask("GET", f"/jobs/{job['id']}")).status == 404

    async def test_a_live_job_is_not_taken_off_the_list(self, job_portal: JobPortal) -> None:
        job = await job_portal.job()
        assert (await job_portal.ask("DELETE", f"/jobs/{job['id']}")).status == 409


ROUTES = [
    ("GET", ""), ("GET", "/log"), ("GET", "/log/follow"), ("POST", "/cancel"), ("DELETE", ""),
    ("PUT", "/tensorboard"), ("GET", "/tensorboard"), ("DELETE", "/tensorboard"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_job_of_another_user_is_not_found(
    job_portal: JobPortal, method: str, path: str
) -> None:
    """For an administrator too: other users' jobs are on the admin routes."""
    job = await job_portal.job()
    for who in ("bob", "carol"):
        body: dict[str, Any] | None = {} if method == "PUT" else None
        theirs = await job_portal.ask(method, f"/jobs/{job['id']}{path}", body, who)
        none = await job_portal.ask(method, f"/jobs/{UNKNOWN_ID}{path}", body, who)
        assert theirs.status == none.status == 404
        assert theirs.body["detail"] == none.body["detail"]
    assert (await job_portal.ask("GET", f"/jobs/{job['id']}")).body["state"] != "stopping"


# --- logs ---------------------------------------------------------------------------------------


async def with_log(
    job_portal: JobPortal, data: bytes, *, ended: bool = True, stream: str = "stdout"
) -> str:
    (row_id,) = await job_portal.rows(
        1, "alice", state=JobState.ENDED if ended else JobState.RUNNING
    )
    job_portal.launchers.files[f"{row_id}/{stream}.log"] = data
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
    job_portal: JobPortal, data: bytes, query: str, piece: tuple[str, int, int, bool]
) -> None:
    stream = "stderr" if "stderr" in query else "stdout"
    row_id = await with_log(job_portal, data, stream=stream)
    answer = await job_portal.ask("GET", f"/jobs/{row_id}/log?{query}")
    assert answer.status == 200
    found = answer.body
    assert (found["text"], found["next_offset"], found["size"], found["end"]) == piece


async def test_without_an_offset_it_is_the_end(job_portal: JobPortal) -> None:
    row_id = await with_log(job_portal, b"x" * 300_000 + b"the end")
    found = (await job_portal.ask("GET", f"/jobs/{row_id}/log")).body
    assert len(found["text"]) == 65536
    assert found["text"].endswith("the end")
    whole = (await job_portal.ask("GET", f"/jobs/{row_id}/log?offset=-300007")).body
    assert len(whole["text"]) == 128 * 1024, "one answer is bounded"


@pytest.mark.parametrize("query", ["offset=x", "stream=both", "task=-1", "task=0", "task=x"])
async def test_a_log_that_can_not_be(job_portal: JobPortal, query: str) -> None:
    row_id = await with_log(job_portal, b"x")
    answer = await job_portal.ask("GET", f"/jobs/{row_id}/log?{query}")
    assert answer.status == 422
    assert answer.body["errors"][0]["field"] == query.partition("=")[0]


async def test_a_log_is_followed_to_its_end(job_portal: JobPortal) -> None:
    row_id = await with_log(job_portal, b"one\n", ended=False)
    read: list[Any] = []
    async for name, piece in events(job_portal, f"/jobs/{row_id}/log/follow?offset=0"):
        assert name == "log"
        read.append(piece)
        if len(read) == 1:
            job_portal.launchers.files[f"{row_id}/stdout.log"] += b"two"
            await update_row(job_portal.context.db, BatchJob, row_id, end)
            job_portal.context.notifier.notify(row_id)
    assert "".join(piece["text"] for piece in read) == "one\ntwo"
    assert (read[0]["end"], read[-1]["end"]) == (False, True)


async def test_quiet_log_sends_events_that_a_page_notices(
    job_portal: JobPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Browsers don't report comments: without events a page takes the connection for broken."""
    monkeypatch.setattr(logs, "POLL_S", 0.01)
    row_id = await with_log(job_portal, b"one\n", ended=False)
    names = []
    async for name, _ in events(job_portal, f"/jobs/{row_id}/log/follow?offset=0"):
        names.append(name)
        if len(names) == 2:
            break
    assert names == ["log", "ping"]


async def test_a_log_that_is_followed_ends_with_the_login(
    job_portal: JobPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "RECHECK_S", 0.0)
    row_id = await with_log(job_portal, b"one\n", ended=False)
    async with job_portal.portal.browser() as elsewhere:
        assert (await elsewhere.login("alice")).status == 200
        path = f"/api/v1/jobs/{row_id}/log/follow?offset=0"
        async with asyncio.timeout(PATIENCE_S), elsewhere.http.get(path) as answer:
            assert await answer.content.readline() == b"event: log\n"
            assert (await elsewhere.post("/api/v1/logout")).status == 204
            assert b"event: log" not in (await answer.content.read())


def end(row: BatchJob) -> None:
    row.state = JobState.ENDED


async def events(job_portal: JobPortal, path: str) -> AsyncIterator[tuple[str, Any]]:
    """Yield alice's server-sent events until the stream ends."""
    http = job_portal.users["alice"].http
    async with asyncio.timeout(PATIENCE_S), http.get(f"/api/v1{path}") as answer:
        assert answer.status == 200
        name = ""
        async for line in answer.content:
            if line.startswith(b"event: "):
                name = line[7:].strip().decode()
            elif line.startswith(b"data: "):
                yield name, json.loads(line[6:])


async def test_end_of_an_old_job_is_sent(job_portal: JobPortal) -> None:
    """It is neither live nor among the newest: its end is sent once, then it is dropped."""
    old = await job_portal.job(name="old")
    heard: list[tuple[str, str]] = []
    async for name, data in events(job_portal, "/events"):
        if name == "snapshot":
            newer = {"state": JobState.ENDED, "created_at": utcnow()}
            await job_portal.rows(2 * NEWEST_JOBS, who="alice", **newer)
            await update_row(job_portal.context.db, BatchJob, old["id"], end)
            job_portal.context.notifier.notify(ALL_ROWS)
        elif name in {"job", "job_removed"} and data["id"] == old["id"]:
            heard.append((name, data.get("state", "")))
            if name == "job_removed":
                break
            job_portal.context.notifier.notify(ALL_ROWS)
    assert heard[-2:] == [("job", "ended"), ("job_removed", "")]


async def test_events_tell_of_ones_own_jobs_alone(job_portal: JobPortal) -> None:
    """A snapshot, then a new job, and one that is removed from the list."""
    heard: list[str] = []
    made: dict[str, Any] = {}
    async for name, data in events(job_portal, "/events"):
        if name == "snapshot":
            await job_portal.job(who="bob", name="not mine")
            made = await job_portal.job(name="mine")
        elif name == "job" and data["id"] == made["id"]:
            if not heard:
                await update_row(job_portal.context.db, BatchJob, made["id"], end)
                await job_portal.ask("DELETE", f"/jobs/{made['id']}")
            heard.append(data["state"])
        elif name == "job_removed" and data["id"] == made["id"]:
            break
        assert data.get("owner", "alice") == "alice"
    assert heard
