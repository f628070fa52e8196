"""slurmctld loses its state and reuses a job id: no other job is affected by mistake."""

from __future__ import annotations

import shutil
import subprocess
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cluster.client import Client
from cluster.config.paths import Paths
from tests.cluster.job_tools import SMALL, settled, submit
from tests.cluster.slurm_tools import home_of, until
from tests.live import Live, command

pytestmark = pytest.mark.anyio

HELD = {**SMALL, "partition": "debug"}


@contextmanager
def partition_down(live: Live, name: str) -> Iterator[None]:
    """Close a partition, so that jobs wait there for as long as the test needs."""
    change = ["scontrol", "update", f"PartitionName={name}"]
    live.exec_as("root", [*change, "State=DOWN"])
    try:
        yield
    finally:
        live.exec_as("root", [*change, "State=UP"])


def state_of_slurmctld(live: Live) -> Path:
    return Paths(live.state).data / "slurmctld"


def put_back(copy: Path, state: Path) -> None:
    """Restore the copy with owners and modes; the folder itself stays."""
    for path in state.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    copy_all(copy, state)


def copy_all(source: Path, target: Path) -> None:
    subprocess.run(["cp", "--archive", f"{source}/.", str(target)], check=True, timeout=60)


async def start_slurmctld(live: Live) -> None:
    """Start it without the probing jobs of `Live.start`, which would use the job ids."""

    async def answers() -> bool:
        try:
            return "UP" in live.exec_as("alice", ["scontrol", "ping"])
        except RuntimeError:
            return False

    command(live.state, "start", "slurmctld")
    await until(answers)


@pytest.fixture
async def users(portal: Live) -> AsyncIterator[tuple[Client, Client]]:
    async with portal.login("alice") as alice, portal.login("bob") as bob:
        yield alice, bob


async def test_a_cancel_spares_the_next_job_of_that_number(
    portal: Live, users: tuple[Client, Client], tmp_path: Path
) -> None:
    alice, bob = users
    state, go_on = state_of_slurmctld(portal), uuid.uuid4().hex
    with partition_down(portal, "debug"):
        portal.stop("slurmctld")
        copy_all(state, tmp_path)
        await start_slurmctld(portal)
        lost = await submit(bob, "sleep 900", resources=HELD)
        portal.stop("slurmctld")
        put_back(tmp_path, state)
        await start_slurmctld(portal)
        made = await submit(alice, f"until test -e {go_on}; do sleep 0.2; done")
        assert made["job_id"] == lost["job_id"], "the number was not given out again"
        await settled(alice, made["id"], "running")
        await bob.api("POST", f"/jobs/{lost['id']}/cancel")
        ended = await settled(bob, lost["id"], timeout_s=300)
        assert ended["outcome"] == "cancelled"
    portal.exec_as("alice", ["touch", str(home_of(portal, "alice") / go_on)])
    finished = await settled(alice, made["id"])
    assert (finished["outcome"], finished["job_id"]) == ("completed", made["job_id"])
