"""slurmctld loses its state: its jobs are recognized as forgotten, and those whose ids it uses
again are not affected by mistake.
"""

from __future__ import annotations

import shutil
import subprocess
import time
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

DEBUG = {"partition": "debug"}
HELD = {**SMALL, **DEBUG}
SESSION = {"cpus": 1, "memory_gb": 2, "time_limit_minutes": 30}
FORGOTTEN = "Slurm no longer knows this job."


@contextmanager
def partition_down(live: Live, name: str) -> Iterator[None]:
    """Close a partition, so that jobs wait there for as long as the test needs."""
    close_partition(live, name)
    try:
        yield
    finally:
        live.exec_as("root", ["scontrol", "update", f"PartitionName={name}", "State=UP"])


def close_partition(live: Live, name: str) -> None:
    """Close a partition; slurmctld opens it when it starts with an older state."""
    live.exec_as("root", ["scontrol", "update", f"PartitionName={name}", "State=DOWN"])


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


async def test_forgotten_jobs_are_recognized_within_30_s(
    portal: Live, users: tuple[Client, Client], tmp_path: Path
) -> None:
    """As after a kill of slurmctld before it saved them: a session ends, a job is submitted again,
    and a cancelled one ends."""
    alice, _ = users
    state = state_of_slurmctld(portal)
    with partition_down(portal, "debug"):
        portal.stop("slurmctld")
        copy_all(state, tmp_path)
        await start_slurmctld(portal)
        close_partition(portal, "debug")
        session = await alice.start_session(name="forgotten", resources={**SESSION, **DEBUG})
        await alice.wait_session(session["id"], "queued")
        job = await submit(alice, "sleep 900", resources=HELD)
        stopped = await submit(alice, "sleep 900", resources=HELD)
        portal.stop("slurmctld")
        put_back(tmp_path, state)
        await start_slurmctld(portal)
        close_partition(portal, "debug")
        began_s = time.monotonic()
        await alice.api("POST", f"/jobs/{stopped['id']}/cancel")

        async def ended() -> bool:
            answer = await alice.api("GET", f"/sessions/{session['id']}")
            return bool(answer["state"] == "ended" and answer["reason"] == FORGOTTEN)

        async def submitted_again() -> bool:
            shown = portal.exec_as("root", ["squeue", "--noheader", "--format=%k"])
            return f"portal:{job['id']}" in shown.split()

        await until(ended, timeout_s=30)
        await until(submitted_again, timeout_s=30)
        assert (await settled(alice, stopped["id"], timeout_s=30))["outcome"] == "cancelled"
        assert time.monotonic() - began_s < 30
        await alice.api("POST", f"/jobs/{job['id']}/cancel")
        await settled(alice, job["id"])
