"""A hundred submissions at once."""

from __future__ import annotations

import asyncio
import uuid

import pytest

from tests.cluster.job_tools import lines, settled, slurm_jobs, submit
from tests.live import Live

pytestmark = pytest.mark.anyio


async def test_a_hundred_at_once(portal: Live) -> None:
    """Each is one job in Slurm, and each runs once."""
    word = uuid.uuid4().hex
    async with portal.login("alice") as alice:
        before = set(slurm_jobs(portal, "alice"))
        bodies = [
            submit(alice, f"echo {n} >> {word}", name=f"{word} {n}", key=f"{word}-{n}")
            for n in range(100)
        ]
        made = await asyncio.gather(*bodies)
        assert len({job["id"] for job in made}) == 100
        ended = await asyncio.gather(*(settled(alice, job["id"], timeout_s=180) for job in made))
        assert {job["outcome"] for job in ended} == {"completed"}
        assert sorted(lines(portal, "alice", word), key=int) == [str(n) for n in range(100)]
        assert len(set(slurm_jobs(portal, "alice")) - before) == 100
