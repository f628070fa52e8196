"""Completion of the resources of a request: the request comes first, then the defaults of the
template, the environment and the site. The same rule for submissions, previews, estimates and
forms.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from portal.config.settings import Settings
from portal.errors import FieldError, invalid_input
from portal.services.catalog.feasible import choose_partition, find_partition
from spawner.catalog.environment import Environment
from spawner.catalog.template import Template
from spawner.containers.image_packages import is_cpu_build
from spawner.slurm.model import ClusterInfo, Resources


def explicit_names(requested: Mapping[str, Any]) -> set[str]:
    """Return the names of the resources that the user specified."""
    return {key for key, value in requested.items() if value is not None}


def own_defaults(template: Template | None, environment: Environment | None) -> dict[str, Any]:
    """Return the template's default resources, without a GPU that the environment's image cannot
    use.

    A template for several GPUs keeps them: it starts a process for each.
    """
    defaults = dict(template.default_resources) if template else {}
    if environment is None:
        return defaults
    cannot_use_gpu = defaults.get("gpus") == 1 and is_cpu_build(environment.runtime.versions())
    if environment.gpu == "none" or cannot_use_gpu:
        defaults.pop("gpus", None)
    return defaults


def complete(
    requested: Mapping[str, Any],
    template: Template | None,
    environment: Environment | None,
    settings: Settings,
    cluster: ClusterInfo | None,
) -> Resources:
    """Fill in the resources that were not specified.

    An unspecified partition is the site's default for requests with GPUs, or for those without; if
    that could never run the request, it is the first that could. An unspecified time limit is at
    most the partition's.
    """
    base = environment.default_resources if environment else {}
    defaults = {**base, **own_defaults(template, environment)}
    chosen = {**defaults, **{key: requested[key] for key in explicit_names(requested)}}
    resources = Resources(**chosen)
    if resources.partition is None:
        gpu = settings.default_gpu_partition if resources.gpus else None
        resources = replace(resources, partition=gpu or settings.default_partition)
    resources = replace(
        resources,
        gpu_type=resources.gpu_type if resources.gpus else None,
        time_limit_minutes=resources.time_limit_minutes
        or _find_default_minutes(resources, settings, cluster),
        account=resources.account or settings.default_account,
        qos=resources.qos or settings.default_qos,
    )
    return resources if chosen.get("partition") else choose_partition(resources, cluster)


def missing_gpus(resources: Resources, environment: Environment | None) -> list[FieldError]:
    """Return an error if the environment needs a GPU and none is requested."""
    if environment is None or environment.gpu != "required" or resources.gpus > 0:
        return []
    return [FieldError("resources.gpus", f"{environment.title} needs at least one GPU.")]


def check_gpus(resources: Resources, environment: Environment | None) -> None:
    """Raise InvalidInput if the environment needs a GPU and none is requested."""
    if errors := missing_gpus(resources, environment):
        raise invalid_input(errors)


def _find_default_minutes(
    resources: Resources, settings: Settings, cluster: ClusterInfo | None
) -> int:
    partition = find_partition(resources, cluster.partitions) if cluster else None
    most = partition.max_time_minutes if partition else None
    usual = settings.default_time_limit_minutes
    return min(usual, most) if most else usual
