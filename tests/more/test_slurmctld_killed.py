"""slurmctld killed during submissions: no job is lost, and none runs twice."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cluster.client import Client
from portal.services.slurm.lifecycle import TWICE
from spawner.launcher.folders import JOBS_FOLDER
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
    made: dict[str, Any] = {}
    for number in range(KILLS):
        names = [f"{number}-{n}" for n in range(AT_ONCE)]
        tries = [
            begin_submitting(alice, f"echo {name} >> {word}", f"{word}-{name}") for name in names
        ]
        await asyncio.sleep(SUBMISSION_S * number / KILLS)  # only the point in time varies
        await asyncio.to_thread(portal.kill, "slurmctld")
        made |= dict(zip(names, await asyncio.gather(*tries), strict=True))
        await until(lambda: _answers(portal))
    async with _resumed(portal):
        jobs = {name: await settled(alice, job["id"], timeout_s=420) for name, job in made.items()}

    confused = {job["id"] for job in jobs.values() if _ended_by_slurm(portal, job)}
    ran = lines(portal, "alice", word)
    assert len(ran) == len(set(ran))
    assert set(ran) <= jobs.keys()
    # A script that never ran is submitted again. One that Slurm ended has at least begun.
    never_ran = [job for name, job in jobs.items() if name not in ran]
    assert all(job["id"] in confused and _has_begun(portal, job) for job in never_ran), never_ran
    # A killed slurmctld may have forgotten a job that it had just started. The portal then keeps
    # Slurm from running it again, and says so: its script has still run once, as seen above.
    others = [job for job in jobs.values() if job["id"] not in confused]
    ends = {(job["outcome"], job["reason"]) for job in others}
    assert ends <= {("completed", None), ("failed", TWICE)}


def _has_begun(portal: Live, job: Any) -> bool:
    claim: Path = portal.state / "home/alice" / JOBS_FOLDER / job["id"] / "claimed"
    return claim.is_symlink()


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
