"""Each framework that is no longer developed still trains as a job of the portal's."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.cluster.trainings import (
    Trainings,
    cases,
    check_loss,
    expected,
    submit_training,
)
from tests.live import Live

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def trainings(portal: Live) -> AsyncIterator[Trainings]:
    """All jobs, ended and checked; each test reads its own, and reports only its own failure."""
    async with portal.login("alice") as alice:
        running = Trainings(alice)
        for name in expected(old=True):
            await submit_training(running, name)
        await running.watch()
        yield running


@pytest.mark.parametrize("environment", cases(old=True))
async def test_it_trains_and_its_tensorboard_shows_it(
    trainings: Trainings, environment: str
) -> None:
    check_loss(await trainings.found[environment], environment)
