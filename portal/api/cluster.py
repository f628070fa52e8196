"""Route of the cluster's resources and their availability, from the watcher's last data; sends no
request to Slurm.
"""

from collections.abc import Iterable
from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel

from portal.config.settings import Preset, Settings
from portal.context import AppContext
from portal.services.catalog.feasible import MB_PER_GB
from portal.services.cluster.conditions import takes_work
from portal.web.dependencies import ContextDep, CurrentUser
from spawner.slurm.model import ClusterInfo, NodeInfo, PartitionInfo

router = APIRouter(tags=["cluster"])


class Gpus(BaseModel):
    """GPUs of one type; `free` ones are in nodes that accept jobs."""

    type: str
    total: int
    free: int


class Node(BaseModel):
    name: str
    state: str
    reason: str | None
    cpus: int
    cpus_free: int
    memory_gb: float
    memory_free_gb: float
    gpus: list[Gpus]
    partitions: list[str]


class Partition(BaseModel):
    name: str
    default: bool
    state: str
    max_time_minutes: int | None
    nodes: list[str]
    gpus: list[Gpus]


class ClusterOut(BaseModel):
    """The cluster. `at` is when Slurm last answered; null: not yet.

    `gpu_memory_gb` is of one GPU, by type, as far as the settings name it.
    """

    name: str
    notice: str | None
    at: datetime | None
    stale_since: datetime | None
    partitions: list[Partition]
    nodes: list[Node]
    gpus: list[Gpus]
    gpu_memory_gb: dict[str, float]
    presets: list[Preset]


@router.get("/cluster")
def cluster(_user: CurrentUser, context: ContextDep) -> ClusterOut:
    """Return partitions, nodes, and GPUs by type, and the presets of this site."""
    return cluster_out(context)


def cluster_out(context: AppContext) -> ClusterOut:
    """Return the cluster from the watcher's last data: the same object until the data changes."""
    cluster, stale_since = context.watcher.cluster, context.watcher.stale_since
    shown: ClusterOut = context.cluster_response.of(
        cluster, stale_since, make=lambda: describe(cluster, context.settings, stale_since)
    )
    return shown


def describe(
    cluster: ClusterInfo | None, settings: Settings, stale_since: datetime | None
) -> ClusterOut:
    """Convert Slurm's data to its API form."""
    nodes = cluster.nodes if cluster else ()
    partitions = cluster.partitions if cluster else ()
    return ClusterOut(
        name=settings.cluster_name,
        notice=settings.notice,
        at=cluster.at if cluster else None,
        stale_since=stale_since,
        partitions=[_to_partition(partition, nodes) for partition in partitions],
        nodes=[_to_node(node) for node in nodes],
        gpus=_count_gpus(nodes),
        gpu_memory_gb=settings.gpu_memory_gb,
        presets=settings.presets,
    )


def _to_partition(partition: PartitionInfo, nodes: Iterable[NodeInfo]) -> Partition:
    return Partition(
        name=partition.name,
        default=partition.default,
        state=partition.state,
        max_time_minutes=partition.max_time_minutes,
        nodes=list(partition.nodes),
        gpus=_count_gpus(node for node in nodes if partition.name in node.partitions),
    )


def _to_node(node: NodeInfo) -> Node:
    usable = takes_work(node.state)
    free_mb = max(0, node.memory_mb - node.memory_allocated_mb) if usable else 0
    return Node(
        name=node.name,
        state=node.state,
        reason=node.reason,
        cpus=node.cpus,
        cpus_free=max(0, node.cpus - node.cpus_allocated) if usable else 0,
        memory_gb=round(node.memory_mb / MB_PER_GB, 1),
        memory_free_gb=round(free_mb / MB_PER_GB, 1),
        gpus=_count_gpus([node]),
        partitions=list(node.partitions),
    )


def _count_gpus(nodes: Iterable[NodeInfo]) -> list[Gpus]:
    total: dict[str, int] = {}
    free: dict[str, int] = {}
    for node in nodes:
        for kind, count in node.gpus.items():
            total[kind] = total.get(kind, 0) + count
            left = max(0, count - node.gpus_allocated.get(kind, 0))
            free[kind] = free.get(kind, 0) + (left if takes_work(node.state) else 0)
    return [Gpus(type=kind, total=total[kind], free=free[kind]) for kind in sorted(total)]
