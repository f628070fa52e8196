"""The health checks of Slurm's settings, recorded from every supported version."""

from __future__ import annotations

import getpass
from types import SimpleNamespace
from typing import Any

import pytest

from portal.health.checks.installation import check_comments, keeps_comments
from portal.health.checks.slurm import check_operator
from tests.paths import TESTS

pytestmark = pytest.mark.anyio

VERSIONS = TESTS / "data/slurm/versions"
CONFIGS = sorted(VERSIONS.glob("*/config.txt"))
HIDDEN = "PrivateData             = jobs,usage\n"


def with_slurm(config: str, level: str = "None") -> Any:
    """Return the parts of an installation with a Slurm of this configuration."""

    async def read_config() -> str:
        return config

    async def admin_level(_account: str) -> str:
        return level

    slurm = SimpleNamespace(config=read_config, admin_level=admin_level)
    return SimpleNamespace(slurm=slurm, accounting=SimpleNamespace(denied=False))


@pytest.mark.parametrize(
    "config", [file.read_text() for file in CONFIGS], ids=[file.parent.name for file in CONFIGS]
)
async def test_comments_are_kept_where_the_recorded_slurm_keeps_them(config: str) -> None:
    assert keeps_comments(config)
    without = config.replace("job_comment", "(null)").replace("JobComment = Yes", "JobComment = No")
    assert not keeps_comments(without)
    assert (await check_comments(with_slurm(config))).problem is None
    assert "job_comment" in (await check_comments(with_slurm(without))).suggestion


def test_four_versions_are_recorded() -> None:
    assert len(CONFIGS) >= 4


@pytest.mark.parametrize("level", ["Operator", "Administrator"])
async def test_an_operator_sees_everything(level: str) -> None:
    assert (await check_operator(with_slurm(HIDDEN, level))).problem is None


async def test_account_without_rights_gets_problem_and_suggestion() -> None:
    hidden = await check_operator(with_slurm(HIDDEN))
    assert hidden.problem is not None
    assert "hides other users' jobs" in hidden.problem
    assert f"modify user {getpass.getuser()}" in hidden.suggestion
    seen = await check_operator(with_slurm("PrivateData             = none\n"))
    assert seen.problem is not None
    assert "shows it all jobs" in seen.problem
