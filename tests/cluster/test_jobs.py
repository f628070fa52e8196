"""Batch jobs against everything real: submitted once, followed, cancelled, inspected afterwards."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator

import pytest

from cluster.client import Client, RequestRefused
from tests.cluster.job_tools import (
    board_of,
    found,
    lines,
    log_of,
    settled,
    submit,
)
from tests.live import Live
from tests.polling import PATIENCE_S, until

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def alice(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("alice") as client:
        yield client


async def test_a_job_from_submission_to_its_end(alice: Client) -> None:
    made = await submit(alice, "echo $SLURM_JOB_ID; echo two >&2", name="A first job")
    assert made["state"] in {"queued", "starting", "running"}
    job = await settled(alice, made["id"])
    assert (job["outcome"], job["exit_code"], job["reason"]) == ("completed", 0, None)
    assert (job["name"], job["owner"], job["external"]) == ("A first job", "alice", False)
    assert await log_of(alice, job) == f"{job['job_id']}\n"
    assert await log_of(alice, job, stream="stderr") == "two\n"
    assert job["usage"]["elapsed_s"] >= 0
    assert job["usage"]["restarts"] == 0
    assert job["nodes"] == [job["node"]]
    assert job["source"].startswith("echo $SLURM_JOB_ID")


async def test_failed_job_shows_exit_code_and_reason(alice: Client) -> None:
    job = await settled(alice, (await submit(alice, "echo no; exit 3"))["id"])
    assert (job["outcome"], job["exit_code"]) == ("failed", 3)
    assert "exit code 3" in job["reason"]
    assert job["suggestion"]


async def test_job_killed_for_memory_is_reported_as_out_of_memory(alice: Client) -> None:
    script = 'python3 -c "b = bytearray(400 << 20)\nfor at in range(0, len(b), 4096): b[at] = 1"'
    job = await settled(alice, (await submit(alice, script))["id"])
    assert (job["outcome"], "memory" in job["reason"]) == ("out_of_memory", True)


async def test_a_job_is_followed_while_it_prints(alice: Client) -> None:
    script = "for i in 1 2 3 4; do echo line $i; sleep 0.3; done; printf end"
    made = await submit(alice, script)
    url = f"{alice.base_url}/api/v1/jobs/{made['id']}/log/follow?offset=0"
    text, pieces = "", 0
    async with asyncio.timeout(PATIENCE_S), alice.http.get(url) as answer:
        async for line in answer.content:
            if line.startswith(b"data: "):
                piece = json.loads(line[6:])
                text, pieces = text + piece["text"], pieces + bool(piece["text"])
                if piece["end"]:
                    break
    assert text == "line 1\nline 2\nline 3\nline 4\nend"
    assert pieces > 1


async def test_a_running_job_is_cancelled(alice: Client) -> None:
    made = await submit(alice, "sleep 300")
    await settled(alice, made["id"], "running")
    asked = await alice.api("POST", f"/jobs/{made['id']}/cancel")
    assert asked["state"] == "stopping"
    job = await settled(alice, made["id"])
    assert job["outcome"] == "cancelled"
    with pytest.raises(RequestRefused) as again:
        await alice.api("POST", f"/jobs/{made['id']}/cancel")
    assert (again.value.status, "cancelled" in again.value.problem["detail"]) == (409, True)
    await alice.api("DELETE", f"/jobs/{made['id']}")
    with pytest.raises(RequestRefused) as gone:
        await alice.api("GET", f"/jobs/{made['id']}")
    assert gone.value.status == 404


async def test_a_live_job_is_not_taken_off_the_list(alice: Client) -> None:
    made = await submit(alice, "sleep 300")
    with pytest.raises(RequestRefused) as refused:
        await alice.api("DELETE", f"/jobs/{made['id']}")
    assert refused.value.status == 409
    await alice.api("POST", f"/jobs/{made['id']}/cancel")
    await settled(alice, made["id"])


async def test_the_same_key_is_the_same_job(portal: Live, alice: Client) -> None:
    key = str(uuid.uuid4())
    both = [submit(alice, f"echo x >> {key}", key=key) for _ in range(5)]
    jobs = await asyncio.gather(*both)
    assert len({job["id"] for job in jobs}) == 1
    assert (await submit(alice, f"echo x >> {key}", key=key))["id"] == jobs[0]["id"]
    with pytest.raises(RequestRefused) as refused:
        await submit(alice, "another", key=key)
    assert refused.value.status == 409
    await settled(alice, jobs[0]["id"])
    assert lines(portal, "alice", key) == ["x"]
    async with portal.login("bob") as bob:  # keys are per user
        other = await submit(bob, "true", key=key)
        assert other["id"] != jobs[0]["id"]
        await settled(bob, other["id"])


async def test_a_list_is_filtered_and_paged(alice: Client) -> None:
    word = uuid.uuid4().hex
    made = [await submit(alice, name=f"{word} {number}") for number in range(3)]
    found = (await alice.api("GET", f"/jobs?q={word}"))["items"]
    assert [job["id"] for job in found] == [job["id"] for job in reversed(made)]
    for job in made:
        await settled(alice, job["id"])
    assert len((await alice.api("GET", f"/jobs?q={word}&state=ended"))["items"]) == 3
    assert (await alice.api("GET", f"/jobs?q={word}&state=live"))["items"] == []
    assert (await alice.api("GET", f"/jobs?q={word}&template=none"))["items"] == []
    number = (await settled(alice, made[0]["id"]))["job_id"]
    assert made[0]["id"] in {
        j["id"] for j in (await alice.api("GET", f"/jobs?q={number}"))["items"]
    }


async def test_others_see_nothing_of_it(portal: Live, alice: Client) -> None:
    job = await settled(alice, (await submit(alice, "echo mine"))["id"])
    async with portal.login("bob") as bob:
        for method, path in (
            ("GET", ""), ("GET", "/log"), ("GET", "/log/follow"), ("POST", "/cancel"),
            ("DELETE", ""), ("PUT", "/tensorboard"), ("GET", "/tensorboard"),
            ("PUT", "/shares/carol"),
        ):  # fmt: skip
            with pytest.raises(RequestRefused) as refused:
                await bob.api(method, f"/jobs/{job['id']}{path}")
            assert refused.value.status == 404, (method, path)


async def test_an_array_is_cancelled_as_one(portal: Live, alice: Client) -> None:
    debug = {"partition": "debug", "gpus": 0, "time_limit_minutes": 20}
    body = {"template": "hyperparameter-array", "resources": debug}
    portal.exec_as("root", ["scontrol", "update", "PartitionName=debug", "State=DOWN"])
    try:
        made = await alice.api("POST", "/jobs", body)
        job = await settled(alice, made["id"], "queued")
        job = await until(
            lambda: alice.api("GET", f"/jobs/{made['id']}"),
            "the job's reason",
            done=lambda answer: answer["reason"],
            pause_s=0.2,
        )
        assert job["array"]["counts"] == {"queued": job["array"]["size"]}
        await alice.api("POST", f"/jobs/{made['id']}/cancel")
        assert (await settled(alice, made["id"]))["outcome"] == "cancelled"
    finally:
        portal.exec_as("root", ["scontrol", "update", "PartitionName=debug", "State=UP"])


# --- jobs from outside ----------------------------------------------------------------------------


async def test_a_job_from_outside_stands_in_its_owners_list(portal: Live, alice: Client) -> None:
    """With its log, a TensorBoard of a given folder, and its end."""
    home = portal.state / "home/alice"
    word = f"outside-{uuid.uuid4().hex[:8]}"
    script = f"#!/bin/sh\necho from outside $SLURM_JOB_ID\nmkdir -p {home}/runs/{word}\nsleep 300\n"
    path = home / f"{word}.sh"
    path.write_text(script)
    sbatch = ["sbatch", "--parsable", "--mem=200M", "--time=10", f"--job-name={word}"]
    where = [f"--chdir={home}", str(path)]
    number = portal.exec_as("alice", [*sbatch, *where]).strip()
    job = await found(alice, word)
    assert (job["external"], job["job_id"]) == (True, int(number))
    job = await settled(alice, job["id"], "running")
    await until(
        lambda: log_of(alice, job),
        "the job's output",
        done=lambda answer: "from outside" in answer,
        pause_s=0.2,
    )
    with pytest.raises(RequestRefused) as refused:
        await alice.api("PUT", f"/jobs/{job['id']}/tensorboard")
    assert refused.value.fields.keys() == {"logdir"}
    board = await board_of(alice, job["id"], {"logdir": f"{home}/runs/{word}"})
    assert board["state"] == "running", board["reason"]
    await alice.api("POST", f"/jobs/{job['id']}/cancel")
    ended = await settled(alice, job["id"])
    assert (ended["outcome"], ended["script"]) == ("cancelled", None)
    async with portal.login("bob") as bob:
        assert (await bob.api("GET", f"/jobs?q={word}"))["items"] == []


async def test_what_began_and_ended_while_the_portal_was_down(portal: Live, alice: Client) -> None:
    """One of the portal's own, and one from outside. A job that still runs stays one job."""
    running = await submit(alice, "sleep 600")
    await settled(alice, running["id"], "running")
    ours = await submit(alice, "sleep 2; echo done; exit 4")
    word = f"downtime-{uuid.uuid4().hex[:8]}"
    portal.stop("portal")
    try:
        wrap = ["--wrap", "exit 5"]
        portal.exec_as(
            "alice",
            ["sbatch", "--mem=100M", f"--job-name={word}", "--output=/dev/null", *wrap],
        )
        async with asyncio.timeout(PATIENCE_S):
            # by name: an earlier job's TensorBoard may still run
            left = ["squeue", "-h", "-u", "alice", "-o", "%A", f"--name={running['name']},{word}"]
            while portal.exec_as("alice", left).split() != [str(running["job_id"])]:
                await asyncio.sleep(0.5)
    finally:
        portal.start("portal")
    job = await settled(alice, ours["id"])
    assert (job["outcome"], job["exit_code"]) == ("failed", 4)
    outside = await found(alice, word)
    ended = await settled(alice, outside["id"])
    assert (ended["outcome"], ended["exit_code"], ended["external"]) == ("failed", 5, True)
    listed = (await alice.api("GET", "/jobs"))["items"]
    assert [j["id"] for j in listed if j["job_id"] == running["job_id"]] == [running["id"]]
    await alice.api("POST", f"/jobs/{running['id']}/cancel")
    await settled(alice, running["id"])
