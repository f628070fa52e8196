"""Requests that can never run are refused with their field; requests that may wait are accepted."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from portal.services.catalog.feasible import choose_partition, find_impossible, has_no_gpus
from spawner.slurm.model import ClusterInfo, NodeInfo, PartitionInfo, Resources

GPU_NODE: dict[str, Any] = {
    "cpus": 32,
    "memory_mb": 131072,
    "gpus": {"v100": 4},
    "partitions": ("gpu", "debug"),
}
CPU_NODE: dict[str, Any] = {"cpus": 64, "memory_mb": 65536, "partitions": ("cpu", "debug")}
CLUSTER = ClusterInfo(
    nodes=(
        NodeInfo("node01", "10.0.0.1", "IDLE", **GPU_NODE),
        NodeInfo("node02", "10.0.0.2", "MIXED", gpus_allocated={"v100": 4}, **GPU_NODE),
        NodeInfo("node03", "10.0.0.3", "IDLE", **CPU_NODE),
    ),
    partitions=(
        PartitionInfo("gpu", max_time_minutes=2880, nodes=("node01", "node02")),
        PartitionInfo("cpu", default=True, max_time_minutes=1440, nodes=("node03",)),
        PartitionInfo("debug", max_time_minutes=30, nodes=("node01", "node02", "node03")),
        PartitionInfo("empty"),
        PartitionInfo("old", state="DRAIN"),
        PartitionInfo("held", state="DOWN"),
    ),
    at=datetime(2026, 3, 1, tzinfo=UTC),
)


@pytest.mark.parametrize(
    "wanted",
    [
        Resources(),
        Resources(partition="gpu", gpus=4, gpu_type="v100", cpus=32, memory_gb=128),
        Resources(partition="gpu", gpus=4, nodes=2),
        Resources(partition="empty", gpus=9),
        Resources(partition="held"),
    ],
)
def test_what_some_node_could_run_is_let_through(wanted: Resources) -> None:
    assert find_impossible(wanted, CLUSTER) == []


@pytest.mark.parametrize(
    ("wanted", "field", "words"),
    [
        (Resources(partition="nope"), "partition", "Available: cpu, debug, empty, gpu, held, old"),
        (Resources(partition="old"), "partition", "Its state is DRAIN"),
        (Resources(partition="gpu", gpus=5), "gpus", "more than 4 GPUs"),
        (Resources(partition="cpu", gpus=1), "gpus", "Partitions with GPUs: debug, gpu."),
        (Resources(gpus=1), "gpus", "Partition cpu has no GPUs"),
        (Resources(partition="gpu", gpus=1, gpu_type="a100"), "gpu_type", "It has: v100"),
        (Resources(partition="gpu", cpus=33), "cpus", "32 CPUs"),
        (Resources(partition="gpu", memory_gb=129), "memory_gb", "128 GB"),
        (Resources(partition="gpu", nodes=3), "nodes", "2 nodes"),
        (Resources(partition="debug", time_limit_minutes=31), "time_limit_minutes", "30 minutes"),
        (Resources(partition="debug", gpus=1, cpus=64), "gpus", "all these resources"),
    ],
)
def test_what_no_node_has_names_the_field(wanted: Resources, field: str, words: str) -> None:
    (error,) = find_impossible(wanted, CLUSTER)
    assert error.field == f"resources.{field}"
    assert words in error.message


def test_without_figures_nothing_is_refused() -> None:
    assert find_impossible(Resources(partition="nope", gpus=99), None) == []


@pytest.mark.parametrize(
    ("wanted", "partition"),
    [
        (Resources(partition="cpu"), "cpu"),
        (Resources(partition="cpu", nodes=2), "gpu"),
        (Resources(partition="cpu", nodes=3, time_limit_minutes=10), "debug"),
        (Resources(nodes=2), "gpu"),
        # fits nowhere: its own partition reports the error
        (Resources(partition="cpu", nodes=4), "cpu"),
    ],
)
def test_what_its_partition_could_never_run_goes_to_one_that_could(
    wanted: Resources, partition: str
) -> None:
    assert choose_partition(wanted, CLUSTER).partition == partition
    assert choose_partition(wanted, None) == wanted


def test_no_gpu_is_only_claimed_for_a_known_cluster() -> None:
    without = replace(CLUSTER, nodes=CLUSTER.nodes[2:])
    assert has_no_gpus(without)
    assert not has_no_gpus(CLUSTER)
    assert not has_no_gpus(None)
    assert not has_no_gpus(replace(CLUSTER, nodes=()))
