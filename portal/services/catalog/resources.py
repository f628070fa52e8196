"""Completion of the resources of a request: the request comes first, then the defaults of the
template, the environment and the site. The same rule for submissions, previews, estimates and
forms.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from portal.config.settings import Settings
from portal.errors import FieldError, invalid_input
from portal.services.catalog.feasible import find_partition, where_it_fits
from spawner.catalog.environment import Environment
from spawner.catalog.template import Template
from spawner.containers.image_packages import is_cpu_build
from spawner.slurm.model import ClusterInfo, Resources


def named(asked: Mapping[str, Any]) -> set[str]:
    """Return the names of the resources that the user specified."""
    return {key for key, value in asked.items() if value is not None}


def own_defaults(template: Template | None, environment: Environment | None) -> dict[str, Any]:
    """Return the template's default resources, without a GPU that the environment's image cannot
    use.

    A template for several GPUs keeps them: it starts a process for each.
    """
    found = dict(template.default_resources) if template else {}
    if environment is None:
        return found
    cannot_use_gpu = found.get("gpus") == 1 and is_cpu_build(environment.runtime.versions())
    if environment.gpu == "none" or cannot_use_gpu:
        found.pop("gpus", None)
    return found


def complete(
    asked: Mapping[str, Any],
    template: Template | None,
    environment: Environment | None,
    settings: Settings,
    cluster: ClusterInfo | None,
) -> Resources:
    """Fill in the resources that were not specified.

    An unspecified partition is the site's default for the number of GPUs, or, if that could never
    run the request, the first that could. An unspecified time limit is at most the partition's.
    """
    base = environment.default_resources if environment else {}
    defaults = {**base, **own_defaults(template, environment)}
    chosen = {**defaults, **{key: asked[key] for key in named(asked)}}
    found = Resources(**chosen)
    if found.partition is None:
        gpu = settings.default_gpu_partition if found.gpus else None
        found = replace(found, partition=gpu or settings.default_partition)
    found = replace(
        found,
        gpu_type=found.gpu_type if found.gpus else None,
        time_limit_minutes=found.time_limit_minutes
        or _find_default_minutes(found, settings, cluster),
        account=found.account or settings.default_account,
        qos=found.qos or settings.default_qos,
    )
    return found if chosen.get("partition") else where_it_fits(found, cluster)


def check_gpus(resources: Resources, environment: Environment | None) -> None:
    """Raise InvalidInput if the environment needs a GPU and none is requested."""
    if environment and environment.gpu == "required" and resources.gpus == 0:
        raise invalid_input(
            [FieldError("resources.gpus", f"{environment.title} needs at least one GPU.")]
        )


def _find_default_minutes(
    wanted: Resources, settings: Settings, cluster: ClusterInfo | None
) -> int:
    partition = find_partition(wanted, cluster.partitions) if cluster else None
    most = partition.max_time_minutes if partition else None
    usual = settings.default_time_limit_minutes
    return min(usual, most) if most else usual
