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
from spawner.slurm.model import JobInfo, JobPhase
from tests.portal.job_portal import JobPortal, run_job_portal
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio
NOW = datetime.now(UTC)
HOUR = timedelta(hours=1)
BIG: dict[str, Any] = {
    "partition": "gpu",
    "gpus": 4,
    "time_limit_minutes": 240,
    "account": "research",
}


@pytest.fixture(scope="module")
async def shared(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[JobPortal]:
    async with run_job_portal(slapd, tmp_path_factory.mktemp("jobs")) as made:
        yield made


@pytest.fixture
def job_portal(shared: JobPortal) -> Iterator[JobPortal]:
    """The shared portal without earlier forecasts."""
    kept = shared.context.forecasts
    for entries in (kept._answers, kept._of_user._events, kept._in_total._events):
        entries.clear()
    shared.launchers.forecasts.clear()
    shared.launchers.starts.clear()
    yield shared
    shared.slurm.shown.clear()


async def estimate(job_portal: JobPortal, who: str = "alice", **resources: Any) -> Any:
    answer = await job_portal.ask("POST", "/estimates", {"resources": resources}, who)
    assert answer.status == 200, answer
    return answer.body


async def test_cheaper_ways_that_start_earlier_the_earliest_first(job_portal: JobPortal) -> None:
    job_portal.launchers.starts = {
        ("gpu", 4): NOW + 5 * HOUR,
        ("gpu", 2): NOW + 2 * HOUR,
        ("gpu", 4, 60): NOW + HOUR,
        ("cpu", 4): NOW,  # has no GPUs, so it is not queried
    }
    found = await estimate(job_portal, **BIG)
    start = NOW + 5 * HOUR  # NOW was set when this file was imported: earlier tests may take long
    assert abs(datetime.fromisoformat(found["start_at"]) - start) < timedelta(seconds=1)
    assert 0 < found["seconds"] <= 5 * 3600
    assert (found["certain"], "forecast" in found["note"]) == (False, True)
    shown = [(other["title"], other["start_at"]) for other in found["alternatives"]]
    assert [title for title, _ in shown] == ["At most 1 hour", "2 GPUs instead of 4"]
    assert [at for _, at in shown] == sorted(at for _, at in shown)
    assert found["alternatives"][1]["resources"]["gpus"] == 2
    assert all(asked.partition == "gpu" for asked in job_portal.launchers.forecasts)


async def test_another_partition_with_its_own_time_limit(job_portal: JobPortal) -> None:
    job_portal.launchers.starts = {("gpu", 0): NOW + 5 * HOUR, ("cpu", 0): NOW + HOUR}
    found = await estimate(job_portal, partition="gpu", time_limit_minutes=2880)
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
async def test_what_is_no_better_is_no_alternative(
    job_portal: JobPortal, two: Any, why: str
) -> None:
    job_portal.launchers.starts = {("gpu", 4): NOW + 5 * HOUR, ("gpu", 2): two}
    assert (await estimate(job_portal, **BIG))["alternatives"] == [], why


async def test_what_starts_now_needs_none(job_portal: JobPortal) -> None:
    job_portal.launchers.starts = {("gpu", 4): NOW}
    found = await estimate(job_portal, **BIG)
    assert (found["seconds"], found["certain"], found["alternatives"]) == (0, True, [])
    assert len(job_portal.launchers.forecasts) == 1


@pytest.mark.parametrize("forecast", [None, Rejected("no-such-node", "No node has that.")])
async def test_slurm_without_a_start_time_gives_the_reason(
    job_portal: JobPortal, forecast: Any
) -> None:
    """Its forecast rejects nodes that are reserved before the job would end, although the job
    may wait for them."""
    job_portal.launchers.starts = {("gpu", 4): forecast}
    found = await estimate(job_portal, **BIG)
    assert (found["start_at"], found["seconds"], found["certain"]) == (None, None, False)
    assert found["note"] == "Slurm can't estimate when this would start."


@pytest.mark.parametrize(
    ("job", "seen"),
    [
        ({"reason": "AssocGrpGRES"}, True),
        ({"reason": "AssocGrpGRES", "user": "bob"}, True),
        ({"reason": "AssocGrpGRES", "user": "bob", "account": "other"}, False),
        ({"reason": "QOSMaxGRESPerUser"}, True),
        ({"reason": "QOSMaxGRESPerUser", "user": "bob"}, False),
        ({"reason": "Priority"}, False),
        ({"reason": "AssocGrpGRES", "phase": JobPhase.RUNNING}, False),
    ],
)
async def test_limits_that_the_forecast_can_not_see(
    job_portal: JobPortal, job: Any, seen: bool
) -> None:
    waiting = JobInfo(7, "alice", "x", JobPhase.QUEUED, "PENDING", account="research")
    job_portal.slurm.shown[7] = replace(waiting, **job)
    await job_portal.context.watcher.refresh()
    job_portal.launchers.starts = {("gpu", 4): NOW}
    found = await estimate(job_portal, **BIG)
    assert ("limit" in found["note"], found["certain"]) == (seen, not seen)
    assert (job["reason"] in found["note"]) is seen


@pytest.mark.parametrize(
    ("fault", "slug", "words"),
    [
        (Unreachable("No."), "slurm-unreachable", "Slurm doesn't answer"),
        (LauncherUnavailable("No."), "launcher-unavailable", "could not query Slurm for you"),
    ],
)
async def test_missing_forecast_suggests_submitting_anyway(
    job_portal: JobPortal, monkeypatch: pytest.MonkeyPatch, fault: Exception, slug: str, words: str
) -> None:
    async def fails(*_: object) -> None:
        raise fault

    monkeypatch.setattr(job_portal.launchers, "forecast", fails)
    answer = await job_portal.ask("POST", "/estimates", {"resources": BIG})
    assert (answer.status, answer.slug) == (503, slug)
    assert words in answer.body["detail"]
    assert "no forecast is available. You can still submit this" in answer.body["detail"]


async def test_an_answer_is_kept_and_is_its_owners(job_portal: JobPortal) -> None:
    job_portal.launchers.starts = {("gpu", 4): NOW}
    for _ in range(3):
        await estimate(job_portal, **BIG)
    assert len(job_portal.launchers.forecasts) == 1
    await estimate(job_portal, who="bob", **BIG)
    assert len(job_portal.launchers.forecasts) == 2


async def test_a_refusal_is_kept_too(job_portal: JobPortal) -> None:
    job_portal.launchers.starts = {
        ("gpu", 4): Rejected("invalid-account", "No.", "Choose another.")
    }
    for _ in range(3):
        answer = await job_portal.ask("POST", "/estimates", {"resources": BIG})
        assert (answer.status, answer.slug) == (422, "slurm-rejected")
        assert answer.body["errors"][0]["field"] == "resources.account"
    assert len(job_portal.launchers.forecasts) == 1


async def test_questions_are_counted_for_each_user_and_for_all(job_portal: JobPortal) -> None:
    async def ask(who: str, cpus: int) -> int:
        body = {"resources": {"partition": "gpu", "cpus": cpus}}
        answer = await job_portal.ask("POST", "/estimates", body, who)
        if answer.status == 429:
            assert answer.slug == "too-many-questions"
            assert 0 < int(answer.headers["Retry-After"]) <= 61
        return answer.status

    statuses = {who: [await ask(who, n + 1) for n in range(14)] for who in ("alice", "bob")}
    for found in statuses.values():
        assert found == [200] * forecasts.PER_USER + [429] * (14 - forecasts.PER_USER)
    left = forecasts.IN_TOTAL - 2 * forecasts.PER_USER
    assert [await ask("carol", n + 1) for n in range(8)] == [200] * left + [429] * (8 - left)
    assert await ask("alice", 1) == 200, "what is kept costs nothing"


async def test_alternatives_are_asked_for_as_far_as_the_count_allows(job_portal: JobPortal) -> None:
    job_portal.launchers.starts = {("gpu", 4): NOW + 5 * HOUR, ("gpu", 2): NOW}
    for _ in range(forecasts.PER_USER - 1):
        job_portal.context.forecasts.count("alice")
    found = await estimate(job_portal, **BIG)
    assert (found["seconds"] > 0, found["alternatives"]) == (True, [])
    assert len(job_portal.launchers.forecasts) == 1


async def test_resources_of_a_submitted_job_can_be_estimated(job_portal: JobPortal) -> None:
    """As a waiting job's page requests them."""
    job = await job_portal.job(resources={"cpus": 2, "partition": "cpu"})
    answer = await job_portal.ask("POST", "/estimates", {"resources": job["resources"]})
    assert answer.status == 200, answer


async def test_several_choices_are_estimated_in_one_request(job_portal: JobPortal) -> None:
    """A refused choice is unknown; an equal one is asked once."""
    job_portal.launchers.starts = {("gpu", 4): NOW + 5 * HOUR, ("gpu", 1): NOW}
    choices = [BIG, {**BIG, "gpus": 1}, {"partition": "nowhere"}, BIG]
    answer = await job_portal.ask("POST", "/estimates/choices", {"choices": choices})
    assert answer.status == 200, answer
    many, one, refused, again = answer.body["items"]
    assert 4 * 3600 < many["seconds"] <= 5 * 3600
    assert one["seconds"] == 0
    assert refused == {"start_at": None, "seconds": None}
    assert again["start_at"] == many["start_at"]
    assert len(job_portal.launchers.forecasts) == 2


async def test_choices_beyond_the_rate_limit_are_unknown(job_portal: JobPortal) -> None:
    job_portal.launchers.starts = {("gpu", 1): NOW}
    for _ in range(forecasts.PER_USER - forecasts.RESERVED_FOR_FORM):
        job_portal.context.forecasts.count("alice")
    answer = await job_portal.ask("POST", "/estimates/choices", {"choices": [BIG]})
    assert answer.body["items"] == [{"start_at": None, "seconds": None}]
    assert (await estimate(job_portal, **BIG))["note"]
    answer = await job_portal.ask("POST", "/estimates/choices", {"choices": [BIG] * 9})
    assert answer.status == 422
