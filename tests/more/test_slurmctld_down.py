"""A start that is refused while slurmctld is down leaves nothing, and succeeds when it is back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cluster.client import Client, RequestRefused
from tests.cluster.test_bad_input import refused
from tests.live import Live
from tests.polling import PATIENCE_S

pytestmark = pytest.mark.anyio


async def test_slurmctld_down(portal: Live) -> None:
    """Twice, and then the retry that the message suggests: the name is free, no job is left
    over."""
    async with portal.login("bob") as bob:
        portal.stop("slurmctld")
        try:
            for _ in range(2):
                error = await refused(bob, name="retried")
                assert error.status == 503
                assert error.problem["type"] == "urn:portal:slurm-unreachable"
        finally:
            portal.start("slurmctld")
        session = await _once_slurm_answers(bob, "retried")
        assert (await bob.wait_session(session["id"], "running", "ended"))["state"] == "running"
        mine = portal.exec_as("bob", ["squeue", "-h", "-u", "bob", "-t", "PD,R", "-o", "%A"])
        assert mine.split() == [str(session["job_id"])]
        await bob.stop_session(session["id"])


async def _once_slurm_answers(client: Client, name: str) -> Any:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                return await client.start_session(name=name)
            except RequestRefused as refusal:
                assert refusal.status == 503
                await asyncio.sleep(0.5)
