"""Nodes with what pages derive from them, and how they are filtered, sorted and paged. Pure.

The rows of a user without jobs are the same for all users and are computed once for each answer of
Slurm; only a user's own nodes differ.
"""

import heapq
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Literal

from portal.errors import FieldError, invalid_input
from portal.services.catalog.feasible import MB_PER_GB
from portal.services.cluster.conditions import Condition, accepts_jobs, get_condition
from portal.services.cluster.gpus import GpuAllocation, list_allocations
from portal.services.cluster.snapshot import ClusterSnapshot
from spawner.slurm.model import ClusterInfo, JobInfo, NodeInfo

NO_USER = ""
"""A username that no user has: with it, all jobs count as those of other users."""
NO_GPU = "-"
"""Selects nodes without GPUs. No GPU type of Slurm has this name."""

NameKey = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A node as one user sees it.

    `cpus_free` and `memory_free_mb` are 0 if the node accepts no jobs. `name_key` sorts node2
    before node10; `text` is what the search matches.
    """

    node: NodeInfo
    jobs: tuple[JobInfo, ...]
    condition: Condition
    takes_work: bool
    gpus: tuple[GpuAllocation, ...]
    gpus_free: int
    cpus_free: int
    memory_free_mb: int
    name_key: NameKey
    text: str


def to_gb(memory_mb: int) -> float:
    """Return memory as pages show it."""
    return round(memory_mb / MB_PER_GB, 1)


class NodeOrder(StrEnum):
    """By name or state, or by free resources with the most first."""

    NAME = "name"
    STATE = "state"
    GPUS = "gpus"
    CPUS = "cpus"
    MEMORY = "memory"
    PARTITIONS = "partitions"


Show = Literal["free", "mine", "busy", "out"]


@dataclass(frozen=True)
class NodeFilter:
    """Conditions that a node has to meet, all of them.

    `words` are in its text, in lower case. `show`: `free` has free GPUs, or free CPUs if it has no
    GPUs; `mine` has jobs of the user, `busy` of any user; `out` accepts no jobs. `gpu_type` may be
    NO_GPU. `gpus_free` are of that type, or of all types together.
    """

    words: tuple[str, ...] = ()
    state: Condition | None = None
    show: Show | None = None
    partition: str | None = None
    gpu_type: str | None = None
    gpus_free: int = 0

    @property
    def matches_all(self) -> bool:
        return self == NodeFilter()


@dataclass(frozen=True)
class NodeView:
    """All nodes as one user sees them: `shared` with all users, except for the `own` ones with jobs
    of the user. `at` is when Slurm reported them; None: not yet.
    """

    at: datetime | None
    shared: tuple[NodeRow, ...]
    own: Mapping[str, NodeRow]

    def rows(self) -> Sequence[NodeRow]:
        """Return all nodes, in Slurm's order."""
        if not self.own:
            return self.shared
        return [self.own.get(row.node.name, row) for row in self.shared]


def build_rows(
    cluster: ClusterInfo, snapshot: ClusterSnapshot, before: tuple[NodeRow, ...] = ()
) -> tuple[NodeRow, ...]:
    """Return all nodes as a user without jobs sees them. Rows of `before` that are still right are
    taken from there, and `before` itself if all are: most nodes don't change between two answers of
    Slurm.
    """
    known = {row.node.name: row for row in before}
    rows = tuple(
        _to_row(node, snapshot.on_node.get(node.name, ()), known.get(node.name))
        for node in cluster.nodes
    )
    if len(rows) == len(before) and all(map(operator.is_, rows, before)):
        return before
    return rows


def find_own_rows(
    rows: Iterable[NodeRow], snapshot: ClusterSnapshot, username: str
) -> dict[str, NodeRow]:
    """Return the nodes with jobs of this user, by name, as the user sees them."""
    names = snapshot.nodes_of.get(username, frozenset())
    if not names:
        return {}
    return {
        row.node.name: replace(row, gpus=tuple(list_allocations(row.node, row.jobs, username)))
        for row in rows
        if row.node.name in names
    }


def _to_row(node: NodeInfo, jobs: tuple[JobInfo, ...], before: NodeRow | None) -> NodeRow:
    if before is not None and before.node == node and before.jobs == jobs:
        return before
    usable = accepts_jobs(node.state)
    gpus = tuple(list_allocations(node, jobs, NO_USER))
    words = (node.name, node.state, node.reason or "", *node.partitions, *node.gpus)
    return NodeRow(
        node=node,
        jobs=jobs,
        condition=get_condition(node.state),
        takes_work=usable,
        gpus=gpus,
        gpus_free=sum(one.free for one in gpus),
        cpus_free=max(0, node.cpus - node.cpus_allocated) if usable else 0,
        memory_free_mb=max(0, node.memory_mb - node.memory_allocated_mb) if usable else 0,
        name_key=_natural(node.name),
        text="\n".join(words).lower(),
    )


def _natural(name: str) -> NameKey:
    """Return a key that compares digits as numbers; texts and numbers alternate."""
    return tuple(
        int(part) if index % 2 else part for index, part in enumerate(re.split(r"([0-9]+)", name))
    )


def matches(row: NodeRow, wanted: NodeFilter, username: str, more_text: str = "") -> bool:
    """Return whether a node meets a filter. `more_text` is what else the search matches, in lower
    case.
    """
    return (
        (wanted.state is None or row.condition is wanted.state)
        and (wanted.partition is None or wanted.partition in row.node.partitions)
        and _has_gpus(row, wanted)
        and _is_shown(row, wanted.show, username)
        and all(word in row.text or word in more_text for word in wanted.words)
    )


def _has_gpus(row: NodeRow, wanted: NodeFilter) -> bool:
    if wanted.gpu_type == NO_GPU:
        return not row.gpus
    found = [gpus for gpus in row.gpus if wanted.gpu_type in {None, gpus.type}]
    return (wanted.gpu_type is None or bool(found)) and sum(
        gpus.free for gpus in found
    ) >= wanted.gpus_free


def _is_shown(row: NodeRow, show: Show | None, username: str) -> bool:
    match show:
        case "free":
            return row.takes_work and (row.gpus_free if row.gpus else row.cpus_free) > 0
        case "mine":
            return any(job.user == username for job in row.jobs)
        case "busy":
            return bool(row.jobs)
        case "out":
            return not row.takes_work
    return True


# --- pages --------------------------------------------------------------------------------------

SortKey = tuple[str | int, NameKey]


_SORT_VALUES: dict[NodeOrder, Callable[[NodeRow], str | int]] = {
    NodeOrder.NAME: lambda _: "",
    NodeOrder.STATE: lambda row: row.condition.value,
    NodeOrder.GPUS: lambda row: -row.gpus_free,
    NodeOrder.CPUS: lambda row: -row.cpus_free,
    NodeOrder.MEMORY: lambda row: -row.memory_free_mb,
    NodeOrder.PARTITIONS: lambda row: ",".join(row.node.partitions),
}


def take_page(
    rows: Iterable[NodeRow], order: NodeOrder, descending: bool, limit: int, cursor: str | None
) -> tuple[list[NodeRow], str | None]:
    """Return the rows of a page in this order, and the cursor of the next one, None on the last.
    Raises InvalidInput for a cursor that does not fit this order.
    """
    value_of = _SORT_VALUES[order]  # equal nodes are in the order of their names
    keyed = [((value_of(row), row.name_key), row) for row in rows]
    if cursor is not None:
        after = _parse_cursor(order, cursor)
        keyed = [(key, row) for key, row in keyed if _follows(key, after, descending)]
    first = heapq.nlargest if descending else heapq.nsmallest
    found = [row for _, row in first(limit + 1, keyed, key=operator.itemgetter(0))]
    page = found[:limit]
    return page, _to_cursor(order, page[-1]) if len(found) > limit else None


def _follows(key: SortKey, after: SortKey, descending: bool) -> bool:
    return key < after if descending else key > after


def _to_cursor(order: NodeOrder, last: NodeRow) -> str:
    return f"{_SORT_VALUES[order](last)}~{last.node.name}"


def _parse_cursor(order: NodeOrder, text: str) -> SortKey:
    """Parse the position of a page's last node: its value in the order, and its name."""
    value, divided, name = text.rpartition("~")
    is_number = order in {NodeOrder.GPUS, NodeOrder.CPUS, NodeOrder.MEMORY}
    if not divided or (is_number and re.fullmatch(r"0|-[1-9][0-9]{0,17}", value) is None):
        raise invalid_input([FieldError("cursor", "This page cursor is invalid.")])
    return (int(value) if is_number else value), _natural(name)


def sum_gpus(rows: Sequence[NodeRow]) -> list[GpuAllocation]:
    """Return the GPUs of all these nodes, by type."""
    sums: dict[str, GpuAllocation] = {}
    for row in rows:
        for gpus in row.gpus:
            before = sums.get(gpus.type)
            sums[gpus.type] = gpus if before is None else _add(before, gpus)
    return [sums[kind] for kind in sorted(sums)]


def _add(one: GpuAllocation, other: GpuAllocation) -> GpuAllocation:
    return GpuAllocation(
        type=one.type,
        total=one.total + other.total,
        free=one.free + other.free,
        mine=one.mine + other.mine,
        others=one.others + other.others,
        unclear=one.unclear + other.unclear,
        out=one.out + other.out,
    )
