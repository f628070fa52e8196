"""Many concurrent submissions, some of them repeated: each key is one job, and other users are
served.

PORTAL_TEST_SUBMISSIONS is the number of keys.
"""

from __future__ import annotations

import asyncio
import json
import os
import uuid
from pathlib import Path
from typing import Any

import pytest

from cluster.client import Client
from tests.cluster.job_tools import SMALL, submit
from tests.live import Live, command

pytestmark = pytest.mark.anyio

# 1,000 passed, once in 97 s on two cores at a load of 11, most of it sbatch
KEYS = int(os.environ.get("PORTAL_TEST_SUBMISSIONS", "80"))
CONNECTIONS = 40
MAX_MB = 150  # growth above the initial value: keeping all jobs in memory would need far more


async def test_many_submissions_at_once(portal: Live) -> None:
    """To a closed partition, so that nothing runs; every fourth key is sent twice."""
    word = uuid.uuid4().hex
    before = memory_mb(portal)
    body: dict[str, Any] = {"resources": {**SMALL, "partition": "debug"}, "name": word}
    keys = [f"{word}-{n}" for n in range(KEYS)]
    slots = asyncio.Semaphore(CONNECTIONS)

    async def one(client: Client, key: str) -> Any:
        async with slots:
            return await submit(client, key=key, **body)

    portal.exec_as("root", ["scontrol", "update", "PartitionName=debug", "State=DOWN"])
    try:
        async with portal.login("carol") as carol, portal.login("bob") as bob:
            bodies = asyncio.gather(*(one(carol, key) for key in [*keys, *keys[::4]]))
            answered = 0
            while not bodies.done():
                await bob.api("GET", "/jobs")
                answered += 1
            made = await bodies
            assert answered > 0
        by_id = {job["id"]: job for job in made}
        assert len(by_id) == KEYS
        assert [made[KEYS + n]["id"] for n in range(len(keys[::4]))] == [
            made[n]["id"] for n in range(0, KEYS, 4)
        ]
        comments = portal.exec_as("root", ["squeue", "-h", "-u", "carol", "-n", word, "-o", "%k"])
        assert sorted(comments.split()) == sorted(
            f"portal:{batch_job_id}" for batch_job_id in by_id
        )
        assert memory_mb(portal) - before < MAX_MB
    finally:
        portal.exec_as("root", ["scancel", "-u", "carol", "-n", word])
        portal.exec_as("root", ["scontrol", "update", "PartitionName=debug", "State=UP"])


def memory_mb(live: Live) -> int:
    """Return the resident memory of the portal's process."""
    status = json.loads(command(live.state, "status", "--json").stdout)
    (pid,) = [part["pid"] for part in status["services"] if part["name"] == "portal"]
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS:"))
