"""Services killed or away during submissions: no job is lost, and none runs twice.

slurmctld is killed in tests/more/test_slurmctld_killed.py.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from cluster.client import Client
from tests.cluster.job_tools import begin_submitting, lines, settled, submit
from tests.live import Live

pytestmark = pytest.mark.anyio

AT_ONCE = 3


@pytest.fixture
async def alice(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("alice") as client:
        yield client


async def test_the_portal_killed_while_jobs_are_submitted(portal: Live, alice: Client) -> None:
    word = uuid.uuid4().hex
    made: list[Any] = []
    for number in range(4):
        names = [f"{number}-{n}" for n in range(AT_ONCE)]
        tries = [
            begin_submitting(alice, f"echo {name} >> {word}", f"{word}-{name}") for name in names
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
        assert "Slurm doesn't answer" in made["reason"]
        unwanted = await submit(alice, f"echo never >> {word}")
        await alice.api("POST", f"/jobs/{unwanted['id']}/cancel")
    finally:
        portal.start("slurmctld")
    assert (await settled(alice, made["id"], timeout_s=180))["outcome"] == "completed"
    assert lines(portal, "alice", word) == ["once"]
    ended = await settled(alice, unwanted["id"], timeout_s=300)
    assert ended["outcome"] == "cancelled"
    assert lines(portal, "alice", word) == ["once"]
