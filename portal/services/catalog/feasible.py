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


def find_impossible(resources: Resources, cluster: ClusterInfo | None) -> list[FieldError]:
    """Return why no node of the partition could ever run this; empty if one could, or if it is
    unknown.
    """
    if cluster is None or not cluster.partitions:
        return []
    partition = find_partition(resources, cluster.partitions)
    if partition is None:
        names = ", ".join(sorted(p.name for p in cluster.partitions))
        return [
            _to_field_error(
                "partition", f"There is no partition “{resources.partition}”. Available: {names}."
            )
        ]
    nodes = [node for node in cluster.nodes if partition.name in node.partitions]
    return [
        *_check_state(partition),
        *_check_time(resources, partition),
        *(_check_sizes(resources, partition.name, nodes, cluster) if nodes else ()),
    ]


def choose_partition(resources: Resources, cluster: ClusterInfo | None) -> Resources:
    """Return the request in the first partition that could ever run it, if its own could not. For
    requests that specify no partition: two nodes do not fit into a partition of one.
    """
    if cluster is None or not find_impossible(resources, cluster):
        return resources
    others = (replace(resources, partition=p.name) for p in cluster.partitions if p.nodes)
    return next(
        (candidate for candidate in others if not find_impossible(candidate, cluster)), resources
    )


def has_no_gpus(cluster: ClusterInfo | None) -> bool:
    """Return whether the cluster is known, and none of its nodes has a GPU, be it idle, busy or
    down.
    """
    if cluster is None or not cluster.nodes:
        return False
    return not any(_count_gpus(node, None) for node in cluster.nodes)


def find_partition(
    resources: Resources, partitions: Iterable[PartitionInfo]
) -> PartitionInfo | None:
    """Return the partition that would run this: the specified one, or Slurm's default."""
    for partition in partitions:
        if partition.name == resources.partition or (
            resources.partition is None and partition.default
        ):
            return partition
    return None


def _check_state(partition: PartitionInfo) -> list[FieldError]:
    """Return an error for a partition whose state makes Slurm refuse submissions."""
    if partition.state not in {"DRAIN", "INACTIVE"}:
        return []
    text = f"Partition {partition.name} does not accept jobs now. Its state is {partition.state}."
    return [_to_field_error("partition", text)]


def _check_time(resources: Resources, partition: PartitionInfo) -> list[FieldError]:
    most, minutes = partition.max_time_minutes, resources.time_limit_minutes
    if most is None or minutes is None or minutes <= most:
        return []
    text = f"Partition {partition.name} allows at most {format_minutes(most)}."
    return [_to_field_error("time_limit_minutes", text)]


def _check_sizes(
    resources: Resources, partition: str, nodes: Sequence[NodeInfo], cluster: ClusterInfo
) -> list[FieldError]:
    errors: list[FieldError] = []
    if resources.nodes > len(nodes):
        errors.append(_to_field_error("nodes", f"Partition {partition} has {len(nodes)} nodes."))
    types = {kind for node in nodes for kind in node.gpus}
    if resources.gpu_type is not None and resources.gpus > 0 and resources.gpu_type not in types:
        have = f"It has: {', '.join(sorted(types))}." if types else "It has no GPUs."
        return [
            *errors,
            _to_field_error(
                "gpu_type", f"Partition {partition} has no GPU of type {resources.gpu_type}. {have}"
            ),
        ]
    most_gpus = max(_count_gpus(node, resources.gpu_type) for node in nodes)
    if resources.gpus > most_gpus:
        errors.append(_to_field_error("gpus", _explain_gpu_limit(partition, most_gpus, cluster)))
    most_cpus = max(node.cpus for node in nodes)
    if resources.cpus > most_cpus:
        errors.append(
            _to_field_error("cpus", f"The largest node of {partition} has {most_cpus} CPUs.")
        )
    most_gb = max(node.memory_mb for node in nodes) / MB_PER_GB
    if resources.memory_gb is not None and resources.memory_gb > most_gb:
        errors.append(
            _to_field_error("memory_gb", f"The largest node of {partition} has {most_gb:g} GB.")
        )
    return errors or _check_combination(resources, partition, nodes)


def _check_combination(
    resources: Resources, partition: str, nodes: Sequence[NodeInfo]
) -> list[FieldError]:
    """Check that enough nodes satisfy all numbers at once; each number on its own fits some
    node.
    """
    fitting = sum(
        _count_gpus(node, resources.gpu_type) >= resources.gpus
        and node.cpus >= resources.cpus
        and node.memory_mb >= (resources.memory_gb or 0) * MB_PER_GB
        for node in nodes
    )
    if fitting >= resources.nodes:
        return []
    text = (
        f"No {resources.nodes} node(s) of {partition} have all these resources."
        " Request less of one."
    )
    return [_to_field_error("gpus" if resources.gpus else "cpus", text)]


def _count_gpus(node: NodeInfo, kind: str | None) -> int:
    return node.gpus.get(kind, 0) if kind is not None else sum(node.gpus.values())


def _explain_gpu_limit(partition: str, most: int, cluster: ClusterInfo) -> str:
    if most > 0:
        return f"No node of partition {partition} has more than {most} GPUs."
    others = {p for node in cluster.nodes if _count_gpus(node, None) for p in node.partitions}
    sentences = [f"Partition {partition} has no GPUs."]
    if others:
        sentences.append(f"Partitions with GPUs: {', '.join(sorted(others))}.")
    return " ".join(sentences)


def _to_field_error(field: str, message: str) -> FieldError:
    return FieldError(f"resources.{field}", message)
