"""A start that is refused while slurmctld is down leaves nothing, and succeeds when it is back."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.client import Client, RequestRefused
from tests.cluster.test_bad_input import refused
from tests.live import Live
from tests.polling import until

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
        session = await until(
            lambda: _start_if_slurm_answers(bob, "retried"), "Slurm answers", pause_s=0.5
        )
        assert (await bob.wait_session(session["id"], "running", "ended"))["state"] == "running"
        mine = portal.exec_as("bob", ["squeue", "-h", "-u", "bob", "-t", "PD,R", "-o", "%A"])
        assert mine.split() == [str(session["job_id"])]
        await bob.stop_session(session["id"])


async def _start_if_slurm_answers(client: Client, name: str) -> Any:
    """Return a new session, or None while Slurm doesn't answer."""
    try:
        return await client.start_session(name=name)
    except RequestRefused as refusal:
        assert refusal.status == 503
        return None
