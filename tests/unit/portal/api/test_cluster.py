"""The display of Slurm's values for nodes and partitions."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from portal.api.cluster import describe
from portal.config.settings import Preset, PresetResources, Settings
from portal.services.cluster.conditions import takes_work
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
    return describe(ClusterInfo(nodes, (partition,), AT), SETTINGS, None)


def test_gpus_are_counted_by_type() -> None:
    a100 = node("n2", gpus={"a100": 2}, gpus_allocated={}, partitions=("other",))
    cluster = shown(node("n1"), a100)
    assert [(g.type, g.total, g.free) for g in cluster.gpus] == [("a100", 2, 2), ("v100", 4, 3)]
    assert [(g.type, g.total) for g in cluster.partitions[0].gpus] == [("v100", 4)]
    assert cluster.gpu_memory_gb == {"v100": 32.0}


def test_what_is_free_on_a_node() -> None:
    (only,) = shown(node("n1")).nodes
    assert (only.cpus_free, only.memory_gb, only.memory_free_gb) == (24, 128.0, 64.0)


def test_nothing_is_free_on_a_node_that_takes_no_work() -> None:
    cluster = shown(node("n1", "IDLE+DRAIN", reason="broken fan"), node("n2", "DOWN*"))
    assert [n.cpus_free for n in cluster.nodes] == [0, 0]
    assert [(g.total, g.free) for g in cluster.gpus] == [(8, 0)]
    assert cluster.nodes[0].reason == "broken fan"


@pytest.mark.parametrize("state", ["IDLE", "MIXED", "ALLOCATED", "IDLE+CLOUD", "MIXED+PLANNED"])
def test_these_take_work(state: str) -> None:
    assert takes_work(state)


@pytest.mark.parametrize(
    "state",
    ["DOWN", "DOWN*", "IDLE*", "IDLE+DRAIN", "DRAINED", "MIXED+DRAINING", "FAILING", "UNKNOWN"],
)
def test_these_do_not(state: str) -> None:
    assert not takes_work(state)


def test_before_the_first_look_there_is_nothing_but_the_sites_own_words() -> None:
    cluster = describe(None, SETTINGS, AT)
    assert (cluster.name, cluster.notice, cluster.at, cluster.stale_since) == (
        "demo",
        "No hardware",
        None,
        AT,
    )
    assert cluster.nodes == []
    assert cluster.presets == [PRESET]
