"""Estimates with fake Slurm forecasts: cheaper alternatives, limits, caching, number of queries.

The same against a real queue: tests/cluster/test_estimates.py.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from portal.services.jobs import forecasts
from spawner.errors import LauncherUnavailable, Rejected, Unreachable
from spawner.slurm.model import JobInfo, SlurmState
from tests.portal.job_portal import World, job_world
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio
NOW = datetime.now(UTC)
HOUR = timedelta(hours=1)
BIG = {"partition": "gpu", "gpus": 4, "time_limit_minutes": 240, "account": "research"}


@pytest.fixture(scope="module")
async def shared(slapd: Slapd, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with job_world(slapd, tmp_path_factory.mktemp("jobs")) as made:
        yield made


@pytest.fixture
def world(shared: World) -> Iterator[World]:
    """The shared world without earlier forecasts."""
    shared.context.forecasts._answers.clear()
    shared.context.forecasts._requests.clear()
    shared.agents.forecasts.clear()
    shared.agents.starts.clear()
    yield shared
    shared.slurm.shown.clear()


async def estimate(world: World, who: str = "alice", **resources: Any) -> Any:
    answer = await world.ask("POST", "/estimates", {"resources": resources}, who)
    assert answer.status == 200, answer
    return answer.body


async def test_cheaper_ways_that_start_earlier_the_earliest_first(world: World) -> None:
    world.agents.starts = {
        ("gpu", 4): NOW + 5 * HOUR,
        ("gpu", 2): NOW + 2 * HOUR,
        ("gpu", 4, 60): NOW + HOUR,
        ("cpu", 4): NOW,  # has no GPUs, so it is not queried
    }
    found = await estimate(world, **BIG)
    start = NOW + 5 * HOUR  # NOW was set when this file was imported: earlier tests may take long
    assert abs(datetime.fromisoformat(found["start_at"]) - start) < timedelta(seconds=1)
    assert 0 < found["seconds"] <= 5 * 3600
    assert (found["certain"], "forecast" in found["note"]) == (False, True)
    shown = [(other["title"], other["start_at"]) for other in found["alternatives"]]
    assert [title for title, _ in shown] == ["At most 1 hour", "2 GPUs instead of 4"]
    assert [at for _, at in shown] == sorted(at for _, at in shown)
    assert found["alternatives"][1]["resources"]["gpus"] == 2
    assert all(asked.partition == "gpu" for asked in world.agents.forecasts)


async def test_another_partition_with_its_own_time_limit(world: World) -> None:
    world.agents.starts = {("gpu", 0): NOW + 5 * HOUR, ("cpu", 0): NOW + HOUR}
    found = await estimate(world, partition="gpu", time_limit_minutes=2880)
    (other,) = [o for o in found["alternatives"] if o["resources"]["partition"] == "cpu"]
    assert other["title"] == "Partition cpu, at most 1 day"
    assert other["resources"]["time_limit_minutes"] == 1440


@pytest.mark.parametrize(
    ("two", "why"),
    [
        (NOW + 6 * HOUR, "later"), (NOW + 5 * HOUR, "no earlier"), (None, "unknown"),
        (Rejected("invalid-qos", "No."), "refused"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
async def test_what_is_no_better_is_no_alternative(world: World, two: Any, why: str) -> None:
    world.agents.starts = {("gpu", 4): NOW + 5 * HOUR, ("gpu", 2): two}
    assert (await estimate(world, **BIG))["alternatives"] == [], why


async def test_what_starts_now_needs_none(world: World) -> None:
    world.agents.starts = {("gpu", 4): NOW}
    found = await estimate(world, **BIG)
    assert (found["seconds"], found["certain"], found["alternatives"]) == (0, True, [])
    assert len(world.agents.forecasts) == 1


@pytest.mark.parametrize("forecast", [None, Rejected("no-such-node", "No node has that.")])
async def test_slurm_can_not_say(world: World, forecast: Any) -> None:
    """Its forecast rejects nodes that are reserved before the job would end, although the job
    may wait for them."""
    world.agents.starts = {("gpu", 4): forecast}
    found = await estimate(world, **BIG)
    assert (found["start_at"], found["seconds"], found["certain"]) == (None, None, False)


@pytest.mark.parametrize(
    ("job", "seen"),
    [
        ({"reason": "AssocGrpGRES"}, True),
        ({"reason": "AssocGrpGRES", "user": "bob"}, True),
        ({"reason": "AssocGrpGRES", "user": "bob", "account": "other"}, False),
        ({"reason": "QOSMaxGRESPerUser"}, True),
        ({"reason": "QOSMaxGRESPerUser", "user": "bob"}, False),
        ({"reason": "Priority"}, False),
        ({"reason": "AssocGrpGRES", "state": SlurmState.RUNNING}, False),
    ],
)
async def test_limits_that_the_forecast_can_not_see(world: World, job: Any, seen: bool) -> None:
    waiting = JobInfo(7, "alice", "x", SlurmState.QUEUED, "PENDING", account="research")
    world.slurm.shown[7] = replace(waiting, **job)
    await world.context.watcher.look()
    world.agents.starts = {("gpu", 4): NOW}
    found = await estimate(world, **BIG)
    assert ("limit" in found["note"], found["certain"]) == (seen, not seen)
    assert (job["reason"] in found["note"]) is seen


@pytest.mark.parametrize(
    ("fault", "slug", "words"),
    [
        (Unreachable("No."), "slurm-unreachable", "Slurm does not answer"),
        (LauncherUnavailable("No."), "launcher-unavailable", "could not query Slurm for you"),
    ],
)
async def test_missing_forecast_suggests_submitting_anyway(
    world: World, monkeypatch: pytest.MonkeyPatch, fault: Exception, slug: str, words: str
) -> None:
    async def fails(*_: object) -> None:
        raise fault

    monkeypatch.setattr(world.agents, "forecast", fails)
    answer = await world.ask("POST", "/estimates", {"resources": BIG})
    assert (answer.status, answer.slug) == (503, slug)
    assert words in answer.body["detail"]
    assert "no forecast is available. You can still submit this" in answer.body["detail"]


async def test_an_answer_is_kept_and_is_its_owners(world: World) -> None:
    world.agents.starts = {("gpu", 4): NOW}
    for _ in range(3):
        await estimate(world, **BIG)
    assert len(world.agents.forecasts) == 1
    await estimate(world, who="bob", **BIG)
    assert len(world.agents.forecasts) == 2


async def test_a_refusal_is_kept_too(world: World) -> None:
    world.agents.starts = {("gpu", 4): Rejected("invalid-account", "No.", "Choose another.")}
    for _ in range(3):
        answer = await world.ask("POST", "/estimates", {"resources": BIG})
        assert (answer.status, answer.slug) == (422, "slurm-rejected")
        assert answer.body["errors"][0]["field"] == "resources.account"
    assert len(world.agents.forecasts) == 1


async def test_questions_are_counted_for_each_user_and_for_all(world: World) -> None:
    async def ask(who: str, cpus: int) -> int:
        body = {"resources": {"partition": "gpu", "cpus": cpus}}
        answer = await world.ask("POST", "/estimates", body, who)
        if answer.status == 429:
            assert answer.slug == "too-many-questions"
            assert 0 < int(answer.headers["Retry-After"]) <= 61
        return answer.status

    statuses = {who: [await ask(who, n + 1) for n in range(14)] for who in ("alice", "bob")}
    for found in statuses.values():
        assert found == [200] * forecasts.PER_USER + [429] * (14 - forecasts.PER_USER)
    left = forecasts.PER_MINUTE - 2 * forecasts.PER_USER
    assert [await ask("carol", n + 1) for n in range(8)] == [200] * left + [429] * (8 - left)
    assert await ask("alice", 1) == 200, "what is kept costs nothing"


async def test_alternatives_are_asked_for_as_far_as_the_count_allows(world: World) -> None:
    world.agents.starts = {("gpu", 4): NOW + 5 * HOUR, ("gpu", 2): NOW}
    for _ in range(forecasts.PER_USER - 1):
        world.context.forecasts.count("alice")
    found = await estimate(world, **BIG)
    assert (found["seconds"] > 0, found["alternatives"]) == (True, [])
    assert len(world.agents.forecasts) == 1


async def test_resources_of_a_submitted_job_can_be_estimated(world: World) -> None:
    """As a waiting job's page requests them."""
    job = await world.job(resources={"cpus": 2, "partition": "cpu"})
    answer = await world.ask("POST", "/estimates", {"resources": job["resources"]})
    assert answer.status == 200, answer
