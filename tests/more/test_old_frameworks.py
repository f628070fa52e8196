"""Each framework that is no longer developed still trains as a job of the portal's. Horovod's, and
its image's Open MPI, use two nodes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.cluster.trainings import (
    TWO_NODES,
    YIELD,
    Trainings,
    cases,
    check_loss,
    check_two_nodes,
    expected,
    submit_training,
)
from tests.live import Live

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def trainings(portal: Live) -> AsyncIterator[Trainings]:
    """All jobs, ended and checked; each test reads its own, and reports only its own failure."""
    portal.exec_as("alice", ["/bin/sh", "-c", YIELD])
    async with portal.login("alice") as alice:
        running = Trainings(alice)
        for name in expected(old=True):
            await submit_training(running, name)
        if "horovod" in expected(old=True):
            await running.submit(
                "mpi", template="mpi-hello", parameters={"ranks": 2}, resources=TWO_NODES
            )
        await running.watch()
        yield running


@pytest.mark.parametrize("environment", cases(old=True))
async def test_it_trains_and_its_tensorboard_shows_it(
    trainings: Trainings, environment: str
) -> None:
    check_loss(await trainings.found[environment], environment)


@pytest.mark.parametrize(("name", "ranks_per_node"), [("horovod", 1), ("mpi", 2)])
async def test_a_job_of_two_nodes(
    portal: Live, trainings: Trainings, name: str, ranks_per_node: int
) -> None:
    if name not in trainings.found:
        pytest.skip("PORTAL_IMAGES leaves its image out")
    done = await trainings.found[name]
    output = check_two_nodes(portal, done, ranks_per_node)
    if name == "mpi":
        assert "the all-reduce of 4 ranks is right" in output
