"""slurmctld loses its state and reuses a job id: no other job is affected by mistake."""

from __future__ import annotations

import shutil
import subprocess
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from cluster.client import Client, RequestRefused
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


@asynccontextmanager
async def lost_number(live: Live, copy: Path) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Yield a function after which slurmctld gives out the numbers again that it has given out
    since.
    """
    state = state_of_slurmctld(live)
    live.stop("slurmctld")
    copy_all(state, copy)
    await start_slurmctld(live)

    async def forget() -> None:
        live.stop("slurmctld")
        put_back(copy, state)
        await start_slurmctld(live)

    yield forget


async def test_a_cancel_spares_the_next_job_of_that_number(
    portal: Live, users: tuple[Client, Client], tmp_path: Path
) -> None:
    alice, bob = users
    go_on = uuid.uuid4().hex
    with partition_down(portal, "debug"):
        async with lost_number(portal, tmp_path) as forget:
            lost = await submit(bob, "sleep 900", resources=HELD)
            await forget()
        made = await submit(alice, wait_for(go_on))
        assert made["job_id"] == lost["job_id"], "the number was not given out again"
        await settled(alice, made["id"], "running")
        await bob.api("POST", f"/jobs/{lost['id']}/cancel")
        ended = await settled(bob, lost["id"], timeout_s=300)
        assert ended["outcome"] == "cancelled"
    await completes(portal, alice, made, go_on)


def wait_for(name: str) -> str:
    return f"until test -e {name}; do sleep 0.2; done"


async def completes(portal: Live, alice: Client, made: Any, go_on: str) -> None:
    portal.exec_as("alice", ["touch", str(home_of(portal, "alice") / go_on)])
    finished = await settled(alice, made["id"])
    assert (finished["outcome"], finished["job_id"]) == ("completed", made["job_id"])


async def test_extending_and_tensorboard_spare_the_next_job_of_that_number(
    portal: Live, users: tuple[Client, Client], tmp_path: Path
) -> None:
    """Both jobs are of one user, so that Slurm itself would permit everything."""
    alice, _ = users
    go_on = uuid.uuid4().hex
    async with lost_number(portal, tmp_path) as forget:
        started = await alice.start_session(name="lost", resources={**SMALL, "memory_gb": 1})
        lost = await alice.wait_session(started["id"], "running")
        await forget()
    made = await submit(alice, wait_for(go_on))
    assert made["job_id"] == lost["job_id"], "the number was not given out again"
    await settled(alice, made["id"], "running")
    limit = slurm_line(portal, made["job_id"], "%l")
    path = f"/sessions/{lost['id']}"
    for method, action, body in (
        ("POST", f"{path}/extend", {"minutes": 30}), ("PUT", f"{path}/tensorboard", None),
    ):  # fmt: skip
        with suppress(RequestRefused):  # it may have been seen to end already
            await alice.api(method, action, body)
    ended = await alice.stop_session(lost["id"], timeout_s=300)
    assert ended["job_id"] == lost["job_id"]
    assert slurm_line(portal, made["job_id"], "%l") == limit
    steps = portal.exec_as("root", ["squeue", "-h", "-s", "-j", str(made["job_id"]), "-o", "%i"])
    assert set(steps.split()) <= {f"{made['job_id']}.{name}" for name in ("batch", "extern")}
    await completes(portal, alice, made, go_on)


def slurm_line(live: Live, job_id: int, field: str) -> str:
    return live.exec_as("root", ["squeue", "-h", "-j", str(job_id), "-o", field]).strip()
