"""What the cluster has and what of it is free, from the watcher's last look; asks Slurm nothing."""

from collections.abc import Iterable
from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel

from portal.api.deps import CurrentUser, PartsDep
from portal.parts import Parts
from portal.services.cluster.conditions import takes_work
from portal.settings import Preset, Settings
from spawner.model import ClusterInfo, NodeInfo, PartitionInfo

router = APIRouter(tags=["cluster"])

MB_PER_GB = 1024


class Gpus(BaseModel):
    """GPUs of one type; `free` ones stand in nodes that take work."""

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
    """`at` is when Slurm was last asked with success; null: not yet. `gpu_memory_gb` is of one GPU,
    by type, as far as this site's settings tell it."""

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
def cluster(_user: CurrentUser, parts: PartsDep) -> ClusterOut:
    """Partitions, nodes, and GPUs by type; the presets of this site."""
    return cluster_out(parts)


def cluster_out(parts: Parts) -> ClusterOut:
    """The cluster as the watcher saw it last: the same object for as long as nothing is new."""
    cluster, stale_since = parts.watcher.cluster, parts.watcher.stale_since
    shown: ClusterOut = parts.cluster_out.of(
        cluster, stale_since, make=lambda: describe(cluster, parts.settings, stale_since)
    )
    return shown


def describe(
    cluster: ClusterInfo | None, settings: Settings, stale_since: datetime | None
) -> ClusterOut:
    """Slurm's figures as the API shows them."""
    nodes = cluster.nodes if cluster else ()
    partitions = cluster.partitions if cluster else ()
    return ClusterOut(
        name=settings.cluster_name,
        notice=settings.notice,
        at=cluster.at if cluster else None,
        stale_since=stale_since,
        partitions=[_partition(partition, nodes) for partition in partitions],
        nodes=[_node(node) for node in nodes],
        gpus=_gpus(nodes),
        gpu_memory_gb=settings.gpu_memory_gb,
        presets=settings.presets,
    )


def _partition(partition: PartitionInfo, nodes: Iterable[NodeInfo]) -> Partition:
    return Partition(
        name=partition.name,
        default=partition.default,
        state=partition.state,
        max_time_minutes=partition.max_time_minutes,
        nodes=list(partition.nodes),
        gpus=_gpus(node for node in nodes if partition.name in node.partitions),
    )


def _node(node: NodeInfo) -> Node:
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
        gpus=_gpus([node]),
        partitions=list(node.partitions),
    )


def _gpus(nodes: Iterable[NodeInfo]) -> list[Gpus]:
    total: dict[str, int] = {}
    free: dict[str, int] = {}
    for node in nodes:
        for kind, count in node.gpus.items():
            total[kind] = total.get(kind, 0) + count
            left = max(0, count - node.gpus_allocated.get(kind, 0))
            free[kind] = free.get(kind, 0) + (left if takes_work(node.state) else 0)
    return [Gpus(type=kind, total=total[kind], free=free[kind]) for kind in sorted(total)]
