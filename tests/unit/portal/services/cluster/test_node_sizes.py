"""The largest nodes of a partition, and of what is free on them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from portal.services.cluster.node_sizes import (
    MAX_SIZES,
    NodeSize,
    find_largest,
    find_largest_free,
)
from spawner.slurm.model import NodeInfo


def node(gpus: dict[str, int], cpus: int, memory_mb: int, state: str = "MIXED", **used: Any) -> Any:
    return NodeInfo("n", "", state, gpus=gpus, cpus=cpus, memory_mb=memory_mb, **used)


def test_only_sizes_that_no_other_covers_remain() -> None:
    nodes = [
        node({"v100": 4}, 32, 100),
        node({"v100": 2}, 32, 100),
        node({}, 32, 100),
        node({"v100": 2}, 64, 50),
        node({"a100": 2}, 8, 50),
    ]
    assert find_largest(nodes) == [
        NodeSize((("v100", 4),), 32, 100),
        NodeSize((("v100", 2),), 64, 50),
        NodeSize((("a100", 2),), 8, 50),
    ]


def test_free_sizes_leave_out_what_is_in_use() -> None:
    used: dict[str, Any] = {
        "cpus_allocated": 8,
        "memory_allocated_mb": 60,
        "gpus_allocated": {"v100": 3},
    }
    assert find_largest_free([node({"v100": 4}, 32, 100, **used)]) == [
        NodeSize((("v100", 1),), 24, 40)
    ]


@pytest.mark.parametrize(
    ("state", "large", "free"),
    [("IDLE", 1, 1), ("IDLE+POWERED_DOWN", 1, 0), ("IDLE+DRAIN", 0, 0), ("DOWN*", 0, 0)],
)
def test_a_node_counts_only_where_jobs_can_start(state: str, large: int, free: int) -> None:
    nodes = [node({}, 32, 100, state)]
    assert (len(find_largest(nodes)), len(find_largest_free(nodes))) == (large, free)


def test_a_request_fits_a_size_if_and_only_if_it_fits_a_node() -> None:
    chance = random.Random(5)  # noqa: S311 - no secret
    nodes = [
        node({"v100": chance.randint(0, 3)}, chance.randint(1, 6), chance.randint(1, 6))
        for _ in range(40)
    ]
    sizes = find_largest(nodes)
    assert 1 < len(sizes) < MAX_SIZES
    for _ in range(300):
        gpus, cpus, memory = chance.randint(0, 4), chance.randint(1, 7), chance.randint(1, 7)
        wanted = NodeSize((("v100", gpus),), cpus, memory)
        on_a_node = any(
            node.gpus["v100"] >= gpus and node.cpus >= cpus and node.memory_mb >= memory
            for node in nodes
        )
        assert any(size.covers(wanted) for size in sizes) == on_a_node


def test_the_number_of_sizes_is_bounded() -> None:
    nodes = [node({}, cpus, 1000 - cpus) for cpus in range(1, 500)]
    assert len(find_largest(nodes)) == MAX_SIZES
