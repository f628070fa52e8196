"""SSH into a batch job with OpenSSH's own programs: the first connection starts what it needs."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from typing import Any

import pytest

from cluster.client import Client
from tests.cluster.job_tools import settled, submit
from tests.cluster.ssh_tools import Laptop, access_token, set_up
from tests.live import Live
from tests.polling import PATIENCE_S, until

pytestmark = pytest.mark.anyio

# a step of the job's own, which has all of its resources
SCRIPT = "nproc; srun sleep 1200"
GPU = {"gpus": 1, "cpus": 2, "memory_gb": 1, "time_limit_minutes": 20}


@pytest.fixture(scope="module")
async def alice(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("alice") as client:
        yield client


@pytest.fixture
async def job(alice: Client) -> AsyncIterator[Any]:
    made = await submit(alice, SCRIPT, resources=GPU)
    yield await settled(alice, made["id"], "running", "ended")
    if (await settled(alice, made["id"], "running", "ended"))["state"] == "running":
        await alice.api("POST", f"/jobs/{made['id']}/cancel")


@pytest.fixture
async def laptop(alice: Client, job: Any) -> AsyncIterator[Laptop]:
    made = await set_up(alice, job, "jobs")
    async with access_token(alice, "ssh") as token:
        made.write_token(token["token"])
        yield made
    shutil.rmtree(made.folder)


def list_steps(portal: Live, job: Any) -> list[str]:
    """Return the names of the job's steps."""
    steps = ["squeue", "--noheader", "--steps", f"--jobs={job['job_id']}", "--format=%j"]
    return portal.exec_as("alice", steps).split()


async def test_commands_run_in_the_jobs_allocation(
    portal: Live, alice: Client, laptop: Laptop, job: Any
) -> None:
    command = "id -un; hostname; echo $SLURM_JOB_ID; nproc; echo $CUDA_VISIBLE_DEVICES"
    results = await asyncio.gather(*(laptop.ssh(laptop.host, command) for _ in range(3)))
    log = await alice.api("GET", f"/jobs/{job['id']}/log?offset=0")
    cpus = log["text"].split()[0]
    for shown in results:
        user, node, number, nproc, gpu = shown.split()
        assert (user, node, number) == ("alice", job["node"], str(job["job_id"]))
        assert (nproc, gpu in {"0", "1", "2", "3"}) == (cpus, True)
    await laptop.ssh(laptop.host, "exit 7", status=7)
    (step,) = (name for name in list_steps(portal, job) if name.startswith("portal-"))
    assert step != "portal-usage"
    lines = (laptop.folder / "known_hosts").read_text().splitlines()
    stated = await alice.api("GET", f"/jobs/{job['id']}/ssh")
    assert lines == [f"{laptop.host} {stated['host_key']}"]
    secrets = (await laptop.ssh(laptop.host, "env")).splitlines()
    assert not [line for line in secrets if line.startswith(("PYTHON", "SLURM_JWT"))]


async def test_other_users_and_tokens_are_refused(
    portal: Live, alice: Client, laptop: Laptop, job: Any
) -> None:
    async with access_token(alice, "read", "jobs", "sessions", "files") as token:
        laptop.write_token(token["token"])
        assert "scope ssh" in await laptop.ssh(laptop.host, "true", status=255)
    async with portal.login("bob") as bob, access_token(bob, "ssh") as token:
        laptop.write_token(token["token"])
        assert "another user" in await laptop.ssh(laptop.host, "true", status=255)
    assert not [name for name in list_steps(portal, job) if name.startswith("portal-")]


async def test_connections_outlive_the_portal_and_end_with_the_job(
    portal: Live, alice: Client, laptop: Laptop, job: Any
) -> None:
    process = await laptop.start("ssh", *laptop.options, laptop.host, "cat")
    assert process.stdin
    assert process.stdout
    process.stdin.write(b"before\n")
    assert await asyncio.wait_for(process.stdout.readline(), PATIENCE_S) == b"before\n"
    portal.kill("portal")
    portal.wait_until_served()
    process.stdin.write(b"after\n")
    assert await asyncio.wait_for(process.stdout.readline(), PATIENCE_S) == b"after\n"
    await until(lambda: laptop.ssh(laptop.host, "true"), "another connection", done=_is_empty)
    await alice.api("POST", f"/jobs/{job['id']}/cancel")
    await asyncio.wait_for(process.communicate(), PATIENCE_S)
    assert process.returncode == 255
    await settled(alice, job["id"])
    assert "isn't running" in await laptop.ssh(laptop.host, "true", status=255)


def _is_empty(shown: str) -> bool:
    return not shown
