"""Each part of a real cluster fails in each way while users are in all moments at once.

Nothing is lost, doubled or orphaned; what users see is true again within 30 seconds; a refusal is a
sentence.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from tests.faults.cells import CELLS, Cell
from tests.faults.invariants import check, wait_for_truth
from tests.faults.moments import Round
from tests.faults.results import Result, read_commit, save_result
from tests.faults.world import World, create_world
from tests.live import Live
from tests.polling import until

pytestmark = pytest.mark.anyio

RESULTS_S = 180.0


@pytest.fixture(scope="module")
async def world(portal: Live) -> AsyncIterator[World]:
    async with create_world(portal) as world:
        yield world


@pytest.mark.parametrize("cell", CELLS, ids=str)
async def test_part_fails_and_nothing_is_lost(world: World, cell: Cell) -> None:
    await world.repair()
    await until(
        lambda: check(world, frozenset()), "the world is whole", done=lambda found: not found
    )
    moments = Round(world, cell.loses)
    try:
        await moments.begin()
        began = time.monotonic()
        await cell.strike(moments)
        lasted_s = round(time.monotonic() - began, 1)
        truth_s, problems = await wait_for_truth(world, cell.loses)
        problems += await moments.finish(RESULTS_S)
    finally:
        await moments.cancel()
    problems += world.journal.problems
    date = datetime.now(UTC).date().isoformat()
    refused = world.journal.refused
    result = Result(str(cell), date, lasted_s, round(truth_s, 1), refused, problems, read_commit())
    save_result(world.live.state, result)
    assert not problems
