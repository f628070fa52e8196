"""The display of Slurm's values for nodes and partitions."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from portal.api.cluster import describe
from portal.config.settings import Preset, PresetResources, Settings
from portal.services.cluster.conditions import accepts_jobs
from spawner.slurm.model import ClusterInfo, NodeInfo, PartitionInfo

AT = datetime(2030, 1, 1, tzinfo=UTC)
PRESET = Preset(name="one", title="One GPU", resources=PresetResources(gpus=1))
SETTINGS = cast(
    Settings,
    SimpleNamespace(
        cluster_name="demo", notice="No hardware", presets=[PRESET], gpu_memory_gb={"v100": 32.0}
    ),
)


def node(name: str, state: str = "MIXED", **values: Any) -> NodeInfo:
    gpus = {"gpus": {"v100": 4}, "gpus_allocated": {"v100": 1}, "partitions": ("gpu", "debug")}
    sizes = {"cpus": 32, "cpus_allocated": 8, "memory_mb": 131072, "memory_allocated_mb": 65536}
    return NodeInfo(name=name, address="10.0.0.1", state=state, **{**sizes, **gpus, **values})


def shown(*nodes: NodeInfo) -> Any:
    partition = PartitionInfo("gpu", default=True, max_time_minutes=60, nodes=("n1", "n2"))
    return describe(ClusterInfo(nodes, (partition,), AT), SETTINGS, AT, None)


def test_gpus_are_counted_by_type() -> None:
    a100 = node("n2", gpus={"a100": 2}, gpus_allocated={}, partitions=("other",))
    cluster = shown(node("n1"), a100)
    assert [(g.type, g.total, g.free) for g in cluster.gpus] == [("a100", 2, 2), ("v100", 4, 3)]
    assert [(g.type, g.total) for g in cluster.partitions[0].gpus] == [("v100", 4)]
    assert cluster.gpu_memory_gb == {"v100": 32.0}


def test_cpus_and_memory_are_added_up() -> None:
    cluster = shown(node("n1"), node("n2"))
    assert (cluster.cpus.total, cluster.cpus.free) == (64, 48)
    assert (cluster.memory.total_gb, cluster.memory.free_gb) == (256.0, 128.0)
    assert cluster.partitions[0].cpus == cluster.cpus


def test_nodes_are_counted_by_state() -> None:
    cluster = shown(node("n1"), node("n2"), node("n3", "IDLE+DRAIN"), node("n4", "FUTURE"))
    assert (cluster.nodes, cluster.nodes_out) == (4, 1)
    assert cluster.states == {"partly": 2, "drained": 1, "unknown": 1}


def test_nothing_is_free_on_a_node_that_takes_no_work() -> None:
    cluster = shown(node("n1", "IDLE+DRAIN", reason="broken fan"), node("n2", "DOWN*"))
    assert (cluster.cpus.total, cluster.cpus.free, cluster.memory.free_gb) == (64, 0, 0.0)
    assert [(g.total, g.free) for g in cluster.gpus] == [(8, 0)]
    assert (cluster.partitions[0].largest, cluster.partitions[0].largest_free) == ([], [])


def test_a_partition_has_its_largest_nodes_and_free_parts() -> None:
    full = node("n2", gpus_allocated={"v100": 4}, cpus_allocated=0)
    (partition,) = shown(node("n1"), full).partitions
    assert [size.model_dump() for size in partition.largest] == [
        {"gpus": {"v100": 4}, "cpus": 32, "memory_gb": 128.0}
    ]
    assert [size.model_dump() for size in partition.largest_free] == [
        {"gpus": {"v100": 3}, "cpus": 24, "memory_gb": 64.0},
        {"gpus": {"v100": 0}, "cpus": 32, "memory_gb": 64.0},
    ]


@pytest.mark.parametrize("state", ["IDLE", "MIXED", "ALLOCATED", "IDLE+CLOUD", "MIXED+PLANNED"])
def test_these_take_work(state: str) -> None:
    assert accepts_jobs(state)


@pytest.mark.parametrize(
    "state",
    ["DOWN", "DOWN*", "IDLE*", "IDLE+DRAIN", "DRAINED", "MIXED+DRAINING", "FAILING", "UNKNOWN"],
)
def test_these_do_not(state: str) -> None:
    assert not accepts_jobs(state)


def test_before_the_first_look_there_is_nothing_but_the_sites_own_words() -> None:
    cluster = describe(None, SETTINGS, None, AT)
    assert (cluster.name, cluster.notice, cluster.at, cluster.stale_since) == (
        "demo",
        "No hardware",
        None,
        AT,
    )
    assert (cluster.nodes, cluster.states, cluster.partitions) == (0, {}, [])
    assert cluster.presets == [PRESET]
