"""A test run fails if a test was skipped without permission."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import skips
from tests.paths import CHECKOUT


def run(folder: Path, reason: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run pytest with one test that passes and one that is skipped."""
    (folder / "test_it.py").write_text(
        "import pytest\n"
        "def test_passes(): pass\n"
        f"@pytest.mark.skipif(True, reason={reason!r})\n"
        "def test_is_skipped(): pass\n"
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PORTAL_")}
    argv = [sys.executable, "-m", "pytest", "-p", "tests.skips", f"--rootdir={folder}", "-q"]
    return subprocess.run(
        [*argv, "-c", os.devnull, str(folder)],
        cwd=CHECKOUT, env={**kept, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_skip_that_is_not_allowed_fails_the_run(tmp_path: Path) -> None:
    done = run(tmp_path, "no luck today", PORTAL_TEST_SKIPS="fail")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "test_it.py::test_is_skipped: no luck today" in done.stdout


def test_a_run_by_hand_may_skip(tmp_path: Path) -> None:
    assert run(tmp_path, "no luck today").returncode == 0


def test_an_allowed_skip_needs_its_variable(tmp_path: Path) -> None:
    reason, variable = next(item for item in skips.ALLOWED.items() if item[1])
    strict = {skips.VARIABLE: "fail"}
    assert run(tmp_path, reason, **strict).returncode == pytest.ExitCode.TESTS_FAILED
    assert run(tmp_path, reason, **strict, **{variable: "1"}).returncode == 0
