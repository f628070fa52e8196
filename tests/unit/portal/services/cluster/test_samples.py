"""Samples of the cluster: what is counted, and means over coarser steps."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from portal.services.cluster.samples import Sample, downsample, floor_time, measure
from spawner.slurm.model import ClusterInfo, JobInfo, JobPhase, NodeInfo

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
FIVE = 5 * MINUTE


def sample(at: datetime = NOON, **values: Any) -> Sample:
    return replace(Sample(at, 8, 4, None, 64, 32, 16.0, 3), **values)


def node(name: str, **values: Any) -> NodeInfo:
    return NodeInfo(name, name, "MIXED", cpus=16, gpus={"v100": 2, "a100": 2}, **values)


def job(number: int, state: JobPhase, tasks: tuple[int, ...] = ()) -> JobInfo:
    return JobInfo(number, "alice", "job", state, state.value, tasks=tasks)


def cluster(*nodes: NodeInfo) -> ClusterInfo:
    return ClusterInfo(nodes, (), NOON)


def test_measure_sums_nodes_and_counts_pending_array_tasks() -> None:
    nodes = (
        node("n1", cpus_allocated=8, cpu_load=4.5, gpus_allocated={"v100": 2, "a100": 1}),
        node("n2", cpus_allocated=2, cpu_load=40.0, gpus_allocated={"v100": 1}),
    )
    jobs = (
        job(1, JobPhase.RUNNING),
        job(2, JobPhase.QUEUED),
        job(3, JobPhase.QUEUED, (1, 2)),
    )
    assert measure(cluster(*nodes), jobs, NOON) == Sample(
        NOON, gpus=8, gpus_allocated=4, gpus_used=None, cpus=32, cpus_allocated=10,
        cpus_used=20.5, pending_jobs=3,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("measured", "used"), [((0, 0.0), None), ((2, 1.5), None), ((3, 1.5), 1.5), ((4, 3.2), 3)]
)
def test_measure_knows_used_gpus_only_if_all_allocated_are_measured(
    measured: tuple[int, float], used: float | None
) -> None:
    allocated = node("n1", gpus_allocated={"v100": 2, "a100": 1})
    assert measure(cluster(allocated), (), NOON, measured).gpus_used == used


def test_measure_without_the_load_of_a_busy_node_does_not_know_used_cpus() -> None:
    busy, idle = node("n1", cpus_allocated=1), node("n2", cpu_load=1.0)
    assert measure(cluster(busy, idle), (), NOON).cpus_used is None
    assert measure(cluster(node("n1"), idle), (), NOON).cpus_used == 1


def test_downsample_returns_means_and_leaves_gaps() -> None:
    minutes = [
        sample(NOON, gpus_allocated=2),
        sample(NOON + MINUTE, gpus_allocated=4, pending_jobs=4),
        sample(NOON + 3 * FIVE + MINUTE, gpus_allocated=8),
    ]
    assert downsample(minutes, FIVE) == [
        sample(NOON, gpus_allocated=3, pending_jobs=3.5),
        sample(NOON + 3 * FIVE, gpus_allocated=8),
    ]
    assert downsample([], FIVE) == []


def test_downsample_averages_the_known_values_only() -> None:
    minutes = [sample(NOON, gpus_used=2.0), sample(NOON + MINUTE, gpus_used=None)]
    assert downsample(minutes, FIVE) == [sample(NOON, gpus_used=2.0)]
    assert downsample(minutes[1:], FIVE) == [sample(NOON, gpus_used=None)]


@pytest.mark.parametrize("step", [FIVE, timedelta(hours=2), timedelta(days=1)])
def test_downsample_of_its_own_result_changes_nothing(step: timedelta) -> None:
    minutes = [sample(NOON + n * MINUTE, pending_jobs=n) for n in range(0, 2000, 7)]
    once = downsample(minutes, step)
    assert downsample(once, step) == once


def test_floor_time_of_a_day_is_midnight_utc() -> None:
    assert floor_time(NOON, timedelta(days=1)) == datetime(2026, 11, 1, tzinfo=UTC)
    assert floor_time(NOON + 4.9 * MINUTE, FIVE) == NOON
