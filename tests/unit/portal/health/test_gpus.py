"""The check of Slurm's confinement of jobs to their GPUs, on recorded configurations."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from portal.health.checks.gpus import check_gpus, judge_config
from portal.health.result import ComponentState
from spawner.errors import Unreachable
from tests.paths import TESTS

pytestmark = pytest.mark.anyio

VERSIONS = sorted((TESTS / "data/slurm/versions").iterdir())
OK, FAILING = ComponentState.OK, ComponentState.FAILING


@pytest.fixture(params=VERSIONS, ids=lambda folder: folder.name)
def confined(request: pytest.FixtureRequest) -> str:
    """Return the configuration of a Slurm with task/cgroup and ConstrainDevices=yes."""
    folder: Path = request.param
    return (folder / "config_cgroups.txt").read_text()


def change(config: str, name: str, value: str) -> str:
    changed, count = re.subn(rf"(?m)^({name}\s*=).*$", rf"\1 {value}", config)
    assert count == 1
    return changed


async def test_task_cgroup_with_constrained_devices_confines(confined: str) -> None:
    found = judge_config(confined)
    assert (found.state, found.text) == (OK, "Slurm confines jobs to their GPUs.")
    assert judge_config(change(confined, "TaskPlugin", "cgroup")).state is OK


async def test_unset_devices_are_reported(confined: str) -> None:
    found = judge_config(change(confined, "ConstrainDevices", "no"))
    assert found.problem is not None
    assert "ConstrainDevices=yes" in found.problem
    assert "ConstrainDevices=yes" in found.suggestion


async def test_missing_task_plugin_is_reported_whatever_cgroup_conf_says(confined: str) -> None:
    for plugins in ("task/affinity", "task/none", "(null)"):
        found = judge_config(change(confined, "TaskPlugin", plugins))
        assert found.problem is not None
        assert "lacks task/cgroup" in found.problem


@pytest.mark.parametrize("folder", VERSIONS, ids=lambda folder: folder.name)
async def test_slurm_without_cgroups_confines_nothing(folder: Path) -> None:
    config = (folder / "config.txt").read_text()
    assert "Cgroup Support" not in config
    assert judge_config(config).state is FAILING


async def test_cluster_without_gpus_passes(confined: str) -> None:
    without = change(change(confined, "GresTypes", "(null)"), "ConstrainDevices", "no")
    assert judge_config(without).state is OK


async def test_empty_value_does_not_take_the_next_line(confined: str) -> None:
    unset = change(confined, "ConstrainDevices", "no")
    lines = unset.replace("GresTypes", "Empty = \nGresTypes", 1)
    assert judge_config(lines).state is FAILING


async def test_slurm_that_does_not_answer_leaves_it_unknown() -> None:
    async def away() -> str:
        raise Unreachable("Slurm doesn't answer.", "")

    health: Any = SimpleNamespace(slurm=SimpleNamespace(config=away))
    assert (await check_gpus(health)).state is ComponentState.UNKNOWN
