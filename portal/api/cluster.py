"""Route of the cluster as a whole: partitions, totals and counts, from the watcher's last data.

Its size does not depend on the number of nodes; `cluster_nodes.py` has the nodes. Sends no request
to Slurm.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel

from portal.config.settings import Preset, Settings
from portal.context import AppContext
from portal.services.cluster.conditions import Condition, accepts_jobs, get_condition
from portal.services.cluster.node_rows import to_gb
from portal.services.cluster.node_sizes import NodeSize, find_largest, find_largest_free
from portal.web.dependencies import ContextDep, CurrentUser
from spawner.slurm.model import ClusterInfo, NodeInfo, PartitionInfo

router = APIRouter(tags=["cluster"])


class Gpus(BaseModel):
    """GPUs of one type; `free` ones are in nodes that accept jobs."""

    type: str
    total: int
    free: int


class CpuTotal(BaseModel):
    """CPUs; `free` ones are in nodes that accept jobs."""

    total: int
    free: int


class MemoryTotal(BaseModel):
    """Memory in GB; the `free` part is in nodes that accept jobs."""

    total_gb: float
    free_gb: float


class ResourceTotals(BaseModel):
    """Resources of several nodes."""

    gpus: list[Gpus]
    cpus: CpuTotal
    memory: MemoryTotal


class Size(BaseModel):
    """GPUs by type, CPUs and memory of one node."""

    gpus: dict[str, int]
    cpus: int
    memory_gb: float


class Partition(ResourceTotals):
    """A partition, with the number of its `nodes`.

    `largest` are the sizes of its largest nodes that accept jobs, `largest_free` those of the
    largest free parts of nodes: a request starts now if it fits into one of these.
    """

    name: str
    default: bool
    state: str
    max_time_minutes: int | None
    nodes: int
    largest: list[Size]
    largest_free: list[Size]


class ClusterOut(ResourceTotals):
    """The cluster. `at` is when Slurm last answered; null: not yet. `changed_at` is when its nodes
    or partitions last changed.

    `nodes` is their number, `nodes_out` that of the nodes that accept no jobs, and `states` that of
    the nodes in each condition. `gpu_memory_gb` is of one GPU, by type, as far as the settings name
    it. `notice` is the site's sentence for the portal's pages, `presets` its named choices of
    resources.
    """

    name: str
    notice: str | None
    at: datetime | None
    changed_at: datetime | None
    stale_since: datetime | None
    nodes: int
    nodes_out: int
    states: dict[Condition, int]
    partitions: list[Partition]
    gpu_memory_gb: dict[str, float]
    presets: list[Preset]


@router.get("/cluster")
def cluster(_user: CurrentUser, context: ContextDep) -> ClusterOut:
    """Return partitions, counts and totals of the nodes, and the presets of this site."""
    return cluster_out(context)


def cluster_out(context: AppContext) -> ClusterOut:
    """Return the cluster from the watcher's last data: the same object until the data changes."""
    watcher = context.watcher
    cluster, changed_at, stale_since = (
        watcher.cluster,
        watcher.cluster_changed_at,
        watcher.stale_since,
    )
    shown: ClusterOut = context.cluster_response.get_or_compute(
        cluster,
        stale_since,
        make=lambda: describe(cluster, context.settings, changed_at, stale_since),
    )
    return shown


def describe(
    cluster: ClusterInfo | None,
    settings: Settings,
    changed_at: datetime | None,
    stale_since: datetime | None,
) -> ClusterOut:
    """Convert Slurm's data to its API form."""
    nodes = cluster.nodes if cluster else ()
    members: defaultdict[str, list[NodeInfo]] = defaultdict(list)
    for node in nodes:
        for name in node.partitions:
            members[name].append(node)
    return ClusterOut(
        name=settings.cluster_name,
        notice=settings.notice,
        at=cluster.at if cluster else None,
        changed_at=changed_at,
        stale_since=stale_since,
        nodes=len(nodes),
        nodes_out=sum(not accepts_jobs(node.state) for node in nodes),
        states=Counter(get_condition(node.state) for node in nodes),
        **dict(_sum_resources(nodes)),
        partitions=[
            _to_partition(partition, members[partition.name])
            for partition in (cluster.partitions if cluster else ())
        ],
        gpu_memory_gb=settings.gpu_memory_gb,
        presets=settings.presets,
    )


def _to_partition(partition: PartitionInfo, nodes: Sequence[NodeInfo]) -> Partition:
    return Partition(
        name=partition.name,
        default=partition.default,
        state=partition.state,
        max_time_minutes=partition.max_time_minutes,
        nodes=len(partition.nodes),
        **dict(_sum_resources(nodes)),
        largest=[_to_size(size) for size in find_largest(nodes)],
        largest_free=[_to_size(size) for size in find_largest_free(nodes)],
    )


def _to_size(size: NodeSize) -> Size:
    return Size(gpus=dict(size.gpus), cpus=size.cpus, memory_gb=to_gb(size.memory_mb))


def _sum_resources(nodes: Iterable[NodeInfo]) -> ResourceTotals:
    """Return the resources of all these nodes; those of nodes that accept no jobs are not free."""
    total: Counter[str] = Counter()
    free: Counter[str] = Counter()
    cpus = cpus_free = memory_mb = memory_free_mb = 0
    for node in nodes:
        usable = accepts_jobs(node.state)
        cpus += node.cpus
        memory_mb += node.memory_mb
        for kind, count in node.gpus.items():
            total[kind] += count
            free[kind] += max(0, count - node.gpus_allocated.get(kind, 0)) if usable else 0
        if usable:
            cpus_free += max(0, node.cpus - node.cpus_allocated)
            memory_free_mb += max(0, node.memory_mb - node.memory_allocated_mb)
    return ResourceTotals(
        gpus=[Gpus(type=kind, total=total[kind], free=free[kind]) for kind in sorted(total)],
        cpus=CpuTotal(total=cpus, free=cpus_free),
        memory=MemoryTotal(total_gb=to_gb(memory_mb), free_gb=to_gb(memory_free_mb)),
    )
