"""Trends of usage, from measurements of different age and resolution."""

from __future__ import annotations

from portal.services.jobs.usage_trend import (
    LOOK_BACK_S,
    SPAN_S,
    STALE_S,
    STEP_S,
    Measurements,
    usage_trend,
)

NOW = 1_800_000_000.0
POINTS = SPAN_S // STEP_S


def measured(*gpus: list[float | None], step_s: float = 60.0, age_s: float = 0.0) -> Measurements:
    """Return points that end `age_s` ago, with the use of each GPU."""
    count = len(gpus[0])
    at = [NOW - age_s - step_s * (count - index) for index in range(count)]
    return Measurements(at, step_s, [2.0] * count, gpus)


def idle_minutes(*nodes: Measurements) -> float | None:
    since = usage_trend(nodes, 4, NOW).gpu_idle_since
    return None if since is None else (NOW - since) / 60


def test_trend_has_a_value_for_each_step() -> None:
    trend = usage_trend([measured([10.0, 30.0])], 4, NOW)
    assert trend.resource == "gpu"
    assert trend.percent == [None] * (POINTS - 4) + [10.0, 10.0, 30.0, 30.0]


def test_trend_is_the_mean_of_gpus_and_nodes() -> None:
    nodes = [measured([10.0], [30.0]), measured([None], [100.0])]
    assert usage_trend(nodes, 4, NOW).percent[-1] == 60.0


def test_trend_without_gpus_is_the_cpus_share() -> None:
    node = Measurements([NOW - 60], 30, [1.0], [])
    trend = usage_trend([node], 4, NOW)
    assert (trend.resource, trend.percent[-2:]) == ("cpu", [25.0, None])
    assert trend.gpu_idle_since is None
    more = Measurements([NOW - 30], 30, [9.0], [])
    assert usage_trend([more], 4, NOW).percent[-1] == 100.0


def test_gpus_are_idle_since_they_were_last_used() -> None:
    assert idle_minutes(measured([50.0, *[0.0] * 25])) == 25
    assert idle_minutes(measured([0.0, 0.0, 50.0])) is None
    assert idle_minutes(measured([0.0, 0.0], [0.0, 50.0])) is None
    assert idle_minutes(measured([5.0, *[0.0] * 9]), measured([5.0, *[0.0] * 4])) == 4


def test_gpus_without_recent_measurements_are_not_idle() -> None:
    assert idle_minutes(measured([0.0] * 9, age_s=STALE_S + 1)) is None
    assert idle_minutes(measured([0.0, None])) is None
    assert idle_minutes(measured([0.0] * 9), measured([0.0] * 9, age_s=STALE_S + 1)) is None
    assert idle_minutes() is None


def test_idle_time_is_known_up_to_a_limit() -> None:
    trend = usage_trend([measured([0.0] * 500)], 4, NOW)
    assert trend.gpu_idle_since == NOW - LOOK_BACK_S
    assert trend.gpu_idle_longer
    assert not usage_trend([measured([0.0] * 20)], 4, NOW).gpu_idle_longer
