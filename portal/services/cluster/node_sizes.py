"""The largest nodes of a partition, and the largest free parts of nodes. Pure.

A form asks whether some node has certain GPUs, CPUs and memory. For the answer, nodes that are not
larger than another in every respect don't matter, so a few sizes stand for thousands of nodes.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from portal.services.cluster.conditions import Condition, accepts_jobs, get_condition
from spawner.slurm.model import NodeInfo

MAX_SIZES = 16
"""More are left out. A form then says that a request has to wait, and asks Slurm for how long."""

NOT_READY = (Condition.ASLEEP, Condition.WAKING, Condition.RESTARTING)

Gpus = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class NodeSize:
    """GPUs by type, CPUs and memory that one node has at the same time."""

    gpus: Gpus
    cpus: int
    memory_mb: int

    def covers(self, other: "NodeSize") -> bool:
        """Return whether this is at least as large in every respect."""
        gpus = dict(self.gpus)
        return (
            self.cpus >= other.cpus
            and self.memory_mb >= other.memory_mb
            and all(gpus.get(kind, 0) >= count for kind, count in other.gpus)
        )


def find_largest(nodes: Iterable[NodeInfo]) -> list[NodeSize]:
    """Return the largest sizes of nodes that accept jobs, including what is in use."""
    return _find_maximal(
        (tuple(sorted(node.gpus.items())), node.cpus, node.memory_mb)
        for node in nodes
        if accepts_jobs(node.state)
    )


def find_largest_free(nodes: Iterable[NodeInfo]) -> list[NodeSize]:
    """Return the largest sizes of what is free on one node, where a job could start now."""
    return _find_maximal(
        (
            tuple(
                sorted(
                    (kind, max(0, count - node.gpus_allocated.get(kind, 0)))
                    for kind, count in node.gpus.items()
                )
            ),
            max(0, node.cpus - node.cpus_allocated),
            max(0, node.memory_mb - node.memory_allocated_mb),
        )
        for node in nodes
        if accepts_jobs(node.state) and get_condition(node.state) not in NOT_READY
    )


def _find_maximal(sizes: Iterable[tuple[Gpus, int, int]]) -> list[NodeSize]:
    """Return the sizes that no other covers, those with the most GPUs first.

    The sizes with the same GPUs are reduced first, by one pass in order of CPUs: comparing each
    with each would take too long for thousands of nodes.
    """
    by_gpus: dict[Gpus, list[tuple[int, int]]] = defaultdict(list)
    for gpus, cpus, memory_mb in set(sizes):
        by_gpus[gpus].append((cpus, memory_mb))
    candidates = [
        NodeSize(gpus, cpus, memory_mb)
        for gpus, alike in by_gpus.items()
        for cpus, memory_mb in _climb(alike)
    ]
    maximal = [
        size
        for size in candidates
        if not any(other is not size and other.covers(size) for other in candidates)
    ]
    maximal.sort(key=lambda size: (-sum(count for _, count in size.gpus), -size.cpus, size.gpus))
    return maximal[:MAX_SIZES]


def _climb(sizes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the (CPUs, memory) that no other covers: the fewer CPUs, the more memory."""
    kept: list[tuple[int, int]] = []
    for _, alike in groupby(sorted(sizes, reverse=True), key=lambda size: size[0]):
        best = next(alike)
        if not kept or best[1] > kept[-1][1]:
            kept.append(best)
    return kept
