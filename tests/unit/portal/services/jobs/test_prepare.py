"""The environment for a template's job, and the message where there is none."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from portal.api.environments import environment_out
from portal.context import AppContext
from portal.errors import InvalidInput
from portal.services.catalog.available import NO_GPU
from portal.services.jobs import prepare
from portal.services.slurm.launch import list_offered_environments
from spawner.catalog.environment import Catalog
from spawner.catalog.template import Template, load_templates
from spawner.slurm.model import ClusterInfo, NodeInfo, PartitionInfo

TEMPLATES = load_templates()
NOTEBOOK, TRAINING = TEMPLATES["notebook"], TEMPLATES["python-training"]


def context(tmp_path: Path, *images: str) -> AppContext:
    """Create a portal whose image folder contains these images."""
    for name in images:
        (tmp_path / f"{name}.sif").touch()
    settings = SimpleNamespace(
        default_partition="cpu",
        default_gpu_partition="gpu",
        default_time_limit_minutes=60,
        default_account=None,
        default_qos=None,
    )
    environments = Catalog.load(image_dir=tmp_path).environments
    catalog = SimpleNamespace(environments=environments, templates=TEMPLATES)
    watcher = SimpleNamespace(cluster=None)
    return cast(AppContext, SimpleNamespace(catalog=catalog, settings=settings, watcher=watcher))


def fields(at: AppContext, template: Template, asked: str | None) -> dict[str, str]:
    with pytest.raises(InvalidInput) as refused:
        prepare.choose_environment(at, template, asked)
    return {error.field: error.message for error in refused.value.errors}


def test_a_notebook_runs_in_any_environment_with_a_kernel(tmp_path: Path) -> None:
    at = context(tmp_path, "python3", "r", "torch7")
    assert prepare.choose_environment(at, NOTEBOOK, None).name == "python3"
    assert prepare.choose_environment(at, NOTEBOOK, "r").name == "r"
    assert "has no kernel" in fields(at, NOTEBOOK, "torch7")["environment"]
    assert "is not there" in fields(at, NOTEBOOK, "python2")["environment"]
    assert "There is no environment" in fields(at, NOTEBOOK, "../r")["environment"]


def test_cpu_build_of_pytorch_takes_no_gpu_by_default(tmp_path: Path) -> None:
    at = context(tmp_path, "pytorch")
    training, several = TEMPLATES["pytorch-training"], TEMPLATES["pytorch-multi-gpu"]
    assert prepare.compute_defaults(at, training).gpus == 1  # nothing is known about the image
    listed = tmp_path / "pytorch.sif.packages.json"
    listed.write_text('{"torch": "2.13.0+cpu"}')
    assert prepare.compute_defaults(at, training).gpus == 0
    assert prepare.compute_defaults(at, several).gpus == 2
    listed.write_text('{"torch": "2.13.0"}')
    os.utime(listed, ns=(1, 1))
    assert prepare.compute_defaults(at, training).gpus == 1


def test_environment_shows_versions_and_its_build(tmp_path: Path) -> None:
    at = context(tmp_path, "pytorch", "r")
    (tmp_path / "pytorch.sif.packages.json").write_text('{"torch": "2.13.0+cpu", "pip": "23.0"}')
    (tmp_path / "r.sif.packages.json").write_text('{"data-table": "1.14.8"}')
    shown = environment_out(at, at.catalog.environments["pytorch"])
    assert (shown.versions, shown.cpu_build) == ({"torch": "2.13.0+cpu"}, True)
    of_r = environment_out(at, at.catalog.environments["r"])
    assert (of_r.versions, of_r.cpu_build) == ({"data.table": "1.14.8"}, False)


def test_other_templates_have_theirs(tmp_path: Path) -> None:
    at = context(tmp_path, "python3", "r")
    assert prepare.choose_environment(at, TRAINING, "python3").name == "python3"
    assert "runs in python3" in fields(at, TRAINING, "r")["environment"]


def test_no_gpu_is_asked_for_where_the_image_can_not_use_it(tmp_path: Path) -> None:
    at = context(tmp_path, "tensorflow", "pytorch")
    assert TEMPLATES["keras-training"].default_resources["gpus"] == 1
    assert prepare.compute_defaults(at, TEMPLATES["keras-training"]).gpus == 0
    assert prepare.compute_defaults(at, TEMPLATES["pytorch-training"]).gpus == 1
    keras = at.catalog.environments["keras"]
    for environment, asked, gpus in (
        (keras, {}, 0),
        (keras, {"gpus": 2}, 2),
        (replace(keras, gpu="optional"), {}, 1),
    ):
        found = prepare.complete_resources(at, asked, TEMPLATES["keras-training"], environment)
        assert found.gpus == gpus


def test_a_job_of_several_nodes_begins_in_a_partition_that_has_them(tmp_path: Path) -> None:
    at = context(tmp_path, "horovod", "pytorch")
    node: dict[str, Any] = {"state": "IDLE", "cpus": 8, "memory_mb": 65536}
    at.watcher.cluster = ClusterInfo(
        nodes=(
            *(NodeInfo(n, n, partitions=("gpu",), gpus={"v100": 2}, **node) for n in ("a", "b")),
            NodeInfo("c", "c", partitions=("cpu",), **node),
        ),
        partitions=(PartitionInfo("gpu", nodes=("a", "b")), PartitionInfo("cpu", nodes=("c",))),
        at=datetime(2026, 3, 1, tzinfo=UTC),
    )
    for name, taken in (
        ("mpi-hello", "gpu"),
        ("python-training", "cpu"),
        ("pytorch-training", "gpu"),
    ):
        template = TEMPLATES[name]
        assert prepare.compute_defaults(at, template).partition == taken
        environment = at.catalog.environments[template.environment]
        assert prepare.complete_resources(at, {}, template, environment).partition == taken
    asked = prepare.complete_resources(
        at, {"partition": "cpu"}, TEMPLATES["mpi-hello"], at.catalog.environments["horovod"]
    )
    assert asked.partition == "cpu"


def test_one_of_the_choices_is_enough_for_a_template_to_be_there(tmp_path: Path) -> None:
    at = context(tmp_path, "r")
    assert prepare.check_template(at, NOTEBOOK) == (True, None)
    assert not prepare.check_template(at, TRAINING)[0]
    assert "python3.sif" in fields(at, NOTEBOOK, None)["environment"]
    assert list(fields(at, TRAINING, None)) == ["template"]
    assert not prepare.check_template(context(tmp_path / "none"), NOTEBOOK)[0]


def test_what_needs_a_gpu_is_not_there_on_a_cluster_without_one(tmp_path: Path) -> None:
    at = context(tmp_path, "python3", "pytorch")
    needy = replace(at.catalog.environments["pytorch"], gpu="required")
    at.catalog.environments = {**at.catalog.environments, "pytorch": needy}
    template = TEMPLATES["pytorch-training"]
    assert environment_out(at, needy).available  # nothing is known about the cluster yet

    node = NodeInfo("a", "a", "IDLE", ("cpu",), cpus=8, memory_mb=65536)
    when = datetime(2026, 3, 1, tzinfo=UTC)
    at.watcher.cluster = ClusterInfo((node,), (PartitionInfo("cpu", nodes=("a",)),), when)
    shown = environment_out(at, needy)
    assert (shown.available, shown.unavailable_reason) == (False, NO_GPU)
    assert prepare.check_template(at, template) == (False, NO_GPU)
    assert fields(at, template, None) == {"template": NO_GPU}
    assert fields(at, NOTEBOOK, "pytorch") == {"environment": NO_GPU}
    assert [found.name for found in list_offered_environments(at, "pytorch")] == ["python3"]

    at.watcher.cluster = replace(at.watcher.cluster, nodes=(replace(node, gpus={"v100": 1}),))
    assert environment_out(at, needy).available
    assert [found.name for found in list_offered_environments(at, "pytorch")] == [
        "pytorch",
        "python3",
    ]
