"""Services killed during submissions: no job is lost, and none runs twice."""

from __future__ import annotations

import asyncio
import os
import re
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from cluster.client import Client
from portal.services.slurm.lifecycle import TWICE
from tests.cluster.job_tools import AWAY, is_away, lines, settled, submit
from tests.cluster.slurm_tools import until
from tests.live import Live

pytestmark = pytest.mark.anyio

KILLS = int(os.environ.get("PORTAL_TEST_KILLS", "3"))  # `make test-more` has more of them
SUBMISSION_S = 0.3  # what a submission takes at most on an idle machine
AT_ONCE = 3


@pytest.fixture
async def alice(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("alice") as client:
        yield client


async def stubbornly(client: Client, script: str, key: str, **body: Any) -> Any:
    """Submit with one key until there is a response, as a careful client does."""
    deadline = time.monotonic() + 120
    while True:
        try:
            return await submit(client, script, key=key, **body)
        except AWAY as error:
            if not is_away(error) or time.monotonic() > deadline:
                raise
        await asyncio.sleep(0.2)


async def test_slurmctld_killed_while_jobs_are_submitted(portal: Live, alice: Client) -> None:
    """Each time at another point of a submission."""
    word = uuid.uuid4().hex
    made: list[Any] = []
    for number in range(KILLS):
        names = [f"{number}-{n}" for n in range(AT_ONCE)]
        tries = [
            asyncio.create_task(stubbornly(alice, f"echo {name} >> {word}", key=f"{word}-{name}"))
            for name in names
        ]
        await asyncio.sleep(SUBMISSION_S * number / KILLS)  # only the point in time varies
        await asyncio.to_thread(portal.kill, "slurmctld")
        made += await asyncio.gather(*tries)
        await until(lambda: _answers(portal))
    async with _resumed(portal):
        jobs = [await settled(alice, job["id"], timeout_s=420) for job in made]
    confused = {job["id"] for job in jobs if _ended_by_another(portal, job)}
    wanted = {f"{number}-{n}" for number in range(KILLS) for n in range(AT_ONCE)}
    ran = lines(portal, "alice", word)
    assert len(ran) == len(set(ran))
    assert set(ran) <= wanted
    assert len(ran) >= len(wanted) - len(confused)
    # A killed slurmctld may have forgotten a job that it had just started. The portal then keeps
    # Slurm from running it again, and says so: its script has still run once, as seen above.
    others = [job for job in jobs if job["outcome"] != "completed" and job["id"] not in confused]
    assert {(job["outcome"], job["reason"]) for job in others} <= {("failed", TWICE)}


def _ended_by_another(portal: Live, job: Any) -> bool:
    """Return whether Slurm has ended a job because of another one of the same number.

    A killed slurmctld gives the number of a job that it has forgotten to a later one. It takes the
    end of the first, which a node reports, for that of the second; or the node, which still has the
    first, has the second killed. The portal cancels as the user, and here it cancels no job.
    """
    log = (portal.state / "log/slurmctld.log").read_text()
    number = rf"JobId={job['job_id']}\b"
    ends = (f"_job_complete: {number} cancelled by interactive user", f"KILL_JOB {number} uid 0")
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


async def test_the_portal_killed_while_jobs_are_submitted(portal: Live, alice: Client) -> None:
    word = uuid.uuid4().hex
    made: list[Any] = []
    for number in range(4):
        names = [f"{number}-{n}" for n in range(AT_ONCE)]
        tries = [
            asyncio.create_task(stubbornly(alice, f"echo {name} >> {word}", key=f"{word}-{name}"))
            for name in names
        ]
        await asyncio.sleep(0.03 * number)  # only the point in time varies
        await asyncio.to_thread(portal.kill, "portal")
        await asyncio.to_thread(portal.wait_until_served)
        made += await asyncio.gather(*tries)
    jobs = [await settled(alice, job["id"], timeout_s=180) for job in made]
    assert {job["outcome"] for job in jobs} == {"completed"}
    wanted = sorted(f"{number}-{n}" for number in range(4) for n in range(AT_ONCE))
    assert sorted(lines(portal, "alice", word)) == wanted


async def test_what_is_submitted_while_slurm_is_away_is_kept(portal: Live, alice: Client) -> None:
    word = uuid.uuid4().hex
    portal.stop("slurmctld")
    try:
        made = await submit(alice, f"echo once >> {word}")
        assert made["state"] == "submitting"
        assert "Slurm is not responding" in made["reason"]
        unwanted = await submit(alice, f"echo never >> {word}")
        await alice.api("POST", f"/jobs/{unwanted['id']}/cancel")
    finally:
        portal.start("slurmctld")
    assert (await settled(alice, made["id"], timeout_s=180))["outcome"] == "completed"
    assert lines(portal, "alice", word) == ["once"]
    ended = await settled(alice, unwanted["id"], timeout_s=300)
    assert ended["outcome"] == "cancelled"
    assert lines(portal, "alice", word) == ["once"]
