"""Feasibility of resources on this cluster. Pure: numbers in, field errors out.

Rejects only requests that can never run; whether a request has to wait is up to Slurm. A partition
or node whose numbers are unknown does not limit a request here: sbatch decides.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from portal.errors import FieldError
from spawner.durations import format_minutes
from spawner.slurm.model import ClusterInfo, NodeInfo, PartitionInfo, Resources

MB_PER_GB = 1024


def impossible(wanted: Resources, cluster: ClusterInfo | None) -> list[FieldError]:
    """Return why no node of the partition could ever run this; empty if one could, or if it is
    unknown.
    """
    if cluster is None or not cluster.partitions:
        return []
    partition = find_partition(wanted, cluster.partitions)
    if partition is None:
        names = ", ".join(sorted(p.name for p in cluster.partitions))
        return [
            _to_field_error(
                "partition", f"There is no partition “{wanted.partition}”. Available: {names}."
            )
        ]
    nodes = [node for node in cluster.nodes if partition.name in node.partitions]
    return [
        *_check_time(wanted, partition),
        *(_check_sizes(wanted, partition.name, nodes) if nodes else ()),
    ]


def where_it_fits(wanted: Resources, cluster: ClusterInfo | None) -> Resources:
    """Return the request in the first partition that could ever run it, if its own could not. For
    requests that specify no partition: two nodes do not fit into a partition of one.
    """
    if cluster is None or not impossible(wanted, cluster):
        return wanted
    others = (replace(wanted, partition=p.name) for p in cluster.partitions if p.nodes)
    return next((other for other in others if not impossible(other, cluster)), wanted)


def no_gpu_anywhere(cluster: ClusterInfo | None) -> bool:
    """Return whether the cluster is known, and none of its nodes has a GPU, be it idle, busy or
    down.
    """
    if cluster is None or not cluster.nodes:
        return False
    return not any(_count_gpus(node, None) for node in cluster.nodes)


def find_partition(wanted: Resources, partitions: Iterable[PartitionInfo]) -> PartitionInfo | None:
    """Return the partition that would run this: the specified one, or Slurm's default."""
    for partition in partitions:
        if partition.name == wanted.partition or (wanted.partition is None and partition.default):
            return partition
    return None


def _check_time(wanted: Resources, partition: PartitionInfo) -> list[FieldError]:
    most, asked = partition.max_time_minutes, wanted.time_limit_minutes
    if most is None or asked is None or asked <= most:
        return []
    text = f"Partition {partition.name} allows at most {format_minutes(most)}."
    return [_to_field_error("time_limit_minutes", text)]


def _check_sizes(wanted: Resources, partition: str, nodes: Sequence[NodeInfo]) -> list[FieldError]:
    found: list[FieldError] = []
    if wanted.nodes > len(nodes):
        found.append(_to_field_error("nodes", f"Partition {partition} has {len(nodes)} nodes."))
    types = {kind for node in nodes for kind in node.gpus}
    if wanted.gpu_type is not None and wanted.gpus > 0 and wanted.gpu_type not in types:
        have = f"It has: {', '.join(sorted(types))}." if types else "It has no GPUs."
        return [
            *found,
            _to_field_error(
                "gpu_type", f"Partition {partition} has no GPU of type {wanted.gpu_type}. {have}"
            ),
        ]
    most_gpus = max(_count_gpus(node, wanted.gpu_type) for node in nodes)
    if wanted.gpus > most_gpus:
        found.append(_to_field_error("gpus", _explain_gpu_limit(partition, most_gpus)))
    most_cpus = max(node.cpus for node in nodes)
    if wanted.cpus > most_cpus:
        found.append(
            _to_field_error("cpus", f"The largest node of {partition} has {most_cpus} CPUs.")
        )
    most_gb = max(node.memory_mb for node in nodes) / MB_PER_GB
    if wanted.memory_gb is not None and wanted.memory_gb > most_gb:
        found.append(
            _to_field_error("memory_gb", f"The largest node of {partition} has {most_gb:g} GB.")
        )
    return found or _check_combination(wanted, partition, nodes)


def _check_combination(
    wanted: Resources, partition: str, nodes: Sequence[NodeInfo]
) -> list[FieldError]:
    """Check that enough nodes satisfy all numbers at once; each number on its own fits some
    node.
    """
    fitting = sum(
        _count_gpus(node, wanted.gpu_type) >= wanted.gpus
        and node.cpus >= wanted.cpus
        and node.memory_mb >= (wanted.memory_gb or 0) * MB_PER_GB
        for node in nodes
    )
    if fitting >= wanted.nodes:
        return []
    text = (
        f"No {wanted.nodes} node(s) of {partition} have all these resources. Request less of one."
    )
    return [_to_field_error("gpus" if wanted.gpus else "cpus", text)]


def _count_gpus(node: NodeInfo, kind: str | None) -> int:
    return node.gpus.get(kind, 0) if kind is not None else sum(node.gpus.values())


def _explain_gpu_limit(partition: str, most: int) -> str:
    if most == 0:
        return f"Partition {partition} has no GPUs."
    return f"No node of partition {partition} has more than {most} GPUs."


def _to_field_error(field: str, message: str) -> FieldError:
    return FieldError(f"resources.{field}", message)
