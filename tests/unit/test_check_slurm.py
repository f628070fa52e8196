"""The results of `portal check` for Slurm's settings, recorded from every supported version."""

from __future__ import annotations

from pathlib import Path

import pytest

from portal.health.check import comments, keeps_comments, operator

VERSIONS = Path(__file__).parents[1] / "data/slurm/versions"
CONFIGS = sorted(VERSIONS.glob("*/config.txt"))
HIDDEN = "PrivateData             = jobs,usage\n"


@pytest.mark.parametrize("file", CONFIGS, ids=lambda file: file.parent.name)
def test_comments_are_kept_where_the_recorded_slurm_keeps_them(file: Path) -> None:
    config = file.read_text()
    assert keeps_comments(config)
    without = config.replace("job_comment", "(null)").replace("JobComment = Yes", "JobComment = No")
    assert not keeps_comments(without)
    assert "job_comment" in comments(without).advice


def test_four_versions_are_recorded() -> None:
    assert len(CONFIGS) >= 4


@pytest.mark.parametrize("level", ["Operator", "Administrator"])
def test_an_operator_sees_everything(level: str) -> None:
    assert operator("portal", level, HIDDEN).problem is None


def test_account_without_rights_gets_problem_and_advice() -> None:
    hidden = operator("portal", "None", HIDDEN)
    assert hidden.problem is not None
    assert "hides other users' jobs" in hidden.problem
    assert "modify user portal" in hidden.advice
    seen = operator("portal", "None", "PrivateData             = none\n")
    assert seen.problem is not None
    assert "shows it all jobs" in seen.problem
