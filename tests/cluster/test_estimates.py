"""Start estimates against a real queue: now, later, cheaper alternatives, and the rate limit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cluster.client import Client, RequestRefused
from tests.cluster.job_tools import SMALL, settled, submit
from tests.live import Live
from tests.polling import until

pytestmark = pytest.mark.anyio

LIMITED = "teaching"  # GrpTRES=gres/gpu=2


@pytest.fixture
async def alice(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("alice") as client:
        yield client


@pytest.fixture
async def carol(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("carol") as client:
        yield client


@pytest.fixture
async def bob(portal: Live) -> AsyncIterator[Client]:
    """No other test requests estimates as bob: the rate limit is per user."""
    async with portal.login("bob") as client:
        yield client


async def estimate(client: Client, **resources: Any) -> Any:
    return await client.api("POST", "/estimates", {"resources": {**SMALL, **resources}})


async def test_with_room_it_starts_now(portal: Live, carol: Client) -> None:
    await until(
        lambda: not portal.exec_as("root", ["squeue", "-h", "-p", "cpu", "-o", "%i"]).strip(),
        "the partition is empty",
        pause_s=0.5,
    )
    found = await estimate(carol, partition="cpu")
    assert (found["seconds"] < 60, found["certain"]) == (True, True)
    assert found["alternatives"] == []


async def test_behind_a_full_partition_fewer_gpus_would_start(carol: Client) -> None:
    """Two nodes have four GPUs each: one is occupied for 20 minutes, and half of the other."""
    taken = [{"gpus": 4}, {"gpus": 2}]
    body = {"partition": "gpu", "cpus": 1, "memory_gb": 0.5, "time_limit_minutes": 20}
    jobs = [await submit(carol, "sleep 600", resources={**body, **gpus}) for gpus in taken]
    try:
        for job in jobs:
            await settled(carol, job["id"], "running")
        found = await estimate(carol, partition="gpu", gpus=4, time_limit_minutes=60)
        assert 600 < found["seconds"] <= 1260
        assert not found["certain"]
        start = datetime.fromisoformat(found["start_at"])
        assert abs(start - datetime.now(UTC) - timedelta(seconds=found["seconds"])) < timedelta(
            seconds=30
        )
        assert "forecast" in found["note"]
        (fewer,) = [o for o in found["alternatives"] if o["resources"]["gpus"] == 2]
        assert fewer["title"] == "2 GPUs instead of 4"
        assert datetime.fromisoformat(fewer["start_at"]) < start
        again = await submit(carol, resources={**SMALL, **fewer["resources"]})
        await settled(carol, again["id"])
    finally:
        for job in jobs:
            await carol.api("POST", f"/jobs/{job['id']}/cancel")
        for job in jobs:
            await settled(carol, job["id"])


async def test_before_a_reservation_a_shorter_time_or_another_partition(
    portal: Live, alice: Client
) -> None:
    """The only node of a partition is reserved in 90 minutes."""
    name = "portal-test-estimates"
    reserve = ["ReservationName=" + name, "StartTime=now+90minutes", "Duration=60", "Users=root"]
    reserve.append("Flags=MAINT")  # without it, Slurm's forecast reports that no such node exists
    portal.exec_as("root", ["scontrol", "create", *reserve, "Nodes=node03"])
    try:
        found = await estimate(alice, partition="cpu", time_limit_minutes=240)
        assert found["seconds"] > 3600
        others = {other["title"]: other for other in found["alternatives"]}
        assert "At most 1 hour" in others
        assert any(other["resources"]["partition"] != "cpu" for other in others.values())
        for other in others.values():
            assert other["start_at"] < found["start_at"], other
    finally:
        portal.exec_as("root", ["scontrol", "delete", "ReservationName=" + name])


async def test_limit_unknown_to_the_forecast_is_reported(portal: Live, alice: Client) -> None:
    """The account may use two GPUs at once: the third job waits although GPUs are free."""
    body = {**SMALL, "partition": "gpu", "gpus": 2, "account": LIMITED}
    jobs = [await submit(alice, "sleep 600", resources=body) for _ in range(2)]
    try:
        await settled(alice, jobs[0]["id"], "running")
        async with asyncio.timeout(120):
            while "AssocGrp" not in portal.exec_as("root", ["squeue", "-h", "-o", "%r"]):
                await asyncio.sleep(0.2)
            # the portal reads the queue a moment after squeue shows the reason
            while "AssocGrpGRES" not in (found := await estimate(alice, **body))["note"]:
                await asyncio.sleep(0.5)
        assert not found["certain"]
    finally:
        for job in jobs:
            await alice.api("POST", f"/jobs/{job['id']}/cancel")
        for job in jobs:
            await settled(alice, job["id"])


async def test_slurm_is_asked_only_so_often_and_the_same_not_twice(bob: Client) -> None:
    """Twenty identical requests stay within the rate limit; many different ones exceed it."""
    for _ in range(20):
        await estimate(bob, memory_gb=0.5)
    asked = [estimate(bob, memory_gb=1 + number / 8) for number in range(40)]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    refused = [answer for answer in answers if isinstance(answer, RequestRefused)]
    assert len(refused) >= 40 - 12
    assert {answer.status for answer in refused} == {429}
    assert {answer.problem["type"] for answer in refused} == {"urn:portal:too-many-questions"}
