"""slurmctld killed during submissions: no job is lost, and none runs twice."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from cluster.client import Client
from portal.services.slurm.lifecycle import TWICE
from tests.cluster.job_tools import begin_submitting, lines, settled
from tests.cluster.slurm_tools import until
from tests.live import Live

pytestmark = pytest.mark.anyio

KILLS = 20
SUBMISSION_S = 0.3  # what a submission takes at most on an idle machine
AT_ONCE = 3


@pytest.fixture
async def alice(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("alice") as client:
        yield client


async def test_slurmctld_killed_while_jobs_are_submitted(portal: Live, alice: Client) -> None:
    """Each time at another point of a submission."""
    word = uuid.uuid4().hex
    made: list[Any] = []
    for number in range(KILLS):
        names = [f"{number}-{n}" for n in range(AT_ONCE)]
        tries = [
            begin_submitting(alice, f"echo {name} >> {word}", f"{word}-{name}") for name in names
        ]
        await asyncio.sleep(SUBMISSION_S * number / KILLS)  # only the point in time varies
        await asyncio.to_thread(portal.kill, "slurmctld")
        made += await asyncio.gather(*tries)
        await until(lambda: _answers(portal))
    async with _resumed(portal):
        jobs = [await settled(alice, job["id"], timeout_s=420) for job in made]
    confused = {job["id"] for job in jobs if _ended_by_slurm(portal, job)}
    wanted = {f"{number}-{n}" for number in range(KILLS) for n in range(AT_ONCE)}
    ran = lines(portal, "alice", word)
    assert len(ran) == len(set(ran))
    assert set(ran) <= wanted
    assert len(ran) >= len(wanted) - len(confused)
    # A killed slurmctld may have forgotten a job that it had just started. The portal then keeps
    # Slurm from running it again, and says so: its script has still run once, as seen above.
    others = [job for job in jobs if job["outcome"] != "completed" and job["id"] not in confused]
    assert {(job["outcome"], job["reason"]) for job in others} <= {("failed", TWICE)}


def _ended_by_slurm(portal: Live, job: Any) -> bool:
    """Return whether Slurm has ended a job because of a kill of slurmctld.

    A killed slurmctld gives the number of a job that it has forgotten to a later one. It takes the
    end of the first, which a node reports, for that of the second; or the node, which still has the
    first, has the second killed. Or it was killed before a node got the job's script, and takes the
    node for failed. The portal cancels as the user, and here it cancels no job.
    """
    log = (portal.state / "log/slurmctld.log").read_text()
    number = rf"JobId={job['job_id']}\b"
    ends = (
        f"_job_complete: {number} cancelled by interactive user",
        f"KILL_JOB {number} uid 0",
        f"Batch {number} missing from batch node",
    )
    return any(re.search(end, log) for end in ends)


@asynccontextmanager
async def _resumed(portal: Live) -> AsyncIterator[None]:
    """Resume nodes that Slurm drains, as an operator does.

    After a kill slurmctld may send a node the same job twice, and then drains that node; jobs that
    wait for it would wait forever.
    """

    async def resume() -> None:
        while True:
            await asyncio.to_thread(_resume_drained, portal)
            await asyncio.sleep(2)

    task = asyncio.create_task(resume())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


def _resume_drained(portal: Live) -> None:
    reasons = portal.exec_as("root", ["sinfo", "-h", "-R", "-o", "%N|%E"])
    for line in reasons.splitlines():
        nodes, _, reason = line.partition("|")
        if reason == "Duplicate jobid":
            portal.exec_as("root", ["scontrol", "update", f"nodename={nodes}", "state=resume"])


async def _answers(portal: Live) -> bool:
    try:
        return "UP" in portal.exec_as("alice", ["scontrol", "ping"])
    except RuntimeError:
        return False
