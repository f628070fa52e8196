"""The start estimate against a real queue: now, later, with cheaper ways, and only so often."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cluster.client import Client, Refused
from tests.cluster.job_tools import SMALL, settled, submit
from tests.live import Live

pytestmark = pytest.mark.anyio

ALL_GPUS = {"partition": "gpu", "nodes": 2, "gpus": 4, "cpus": 1, "memory_gb": 0.5}


@pytest.fixture
async def carol(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("carol") as client:
        yield client


async def estimate(client: Client, **resources: Any) -> Any:
    return await client.api("POST", "/estimates", {"resources": {**SMALL, **resources}})


async def test_with_room_it_starts_now(carol: Client) -> None:
    found = await estimate(carol, partition="cpu")
    assert (found["seconds"] < 60, found["certain"]) == (True, True)
    assert found["alternatives"] == []


async def test_behind_a_full_partition_it_waits_and_says_what_would_not(carol: Client) -> None:
    """All GPUs are taken for 20 minutes; a partition without GPUs would be free."""
    body = {"resources": {**ALL_GPUS, "time_limit_minutes": 20}}
    full = await submit(carol, "sleep 600", **body)
    try:
        await settled(carol, full["id"], "running")
        found = await estimate(carol, partition="gpu", gpus=4, time_limit_minutes=60)
        assert 600 < found["seconds"] <= 1260
        start = datetime.fromisoformat(found["start_at"])
        assert abs(start - datetime.now(UTC) - timedelta(seconds=found["seconds"])) < timedelta(
            seconds=30
        )
        assert "forecast" in found["note"]
        free = await estimate(carol, partition="gpu", cpus=40, nodes=1, gpus=0)
        assert free["seconds"] is None or free["seconds"] >= 0
    except Refused as error:
        assert error.fields.keys() == {"resources.cpus"}  # no node has forty
    finally:
        await carol.api("POST", f"/jobs/{full['id']}/cancel")
        await settled(carol, full["id"])


async def test_slurm_is_asked_only_so_often_and_the_same_not_twice(carol: Client) -> None:
    answers = [await estimate(carol, memory_gb=0.5) for _ in range(20)]
    assert len({answer["start_at"] for answer in answers}) <= 2
    with pytest.raises(Refused) as refused:
        for number in range(40):
            await estimate(carol, memory_gb=1 + number / 8)
    assert refused.value.status == 429
    assert refused.value.problem["type"] == "urn:portal:too-many-questions"
