"""The interpretation of sudo's output by `portal check`, including a sudo that never answers."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from portal.health.checks import installation
from portal.health.registry import CHECKS, run_check
from portal.health.result import CheckResult

pytestmark = pytest.mark.anyio
LAUNCHER = "/opt/portal/launcher"


async def check_sudo(folder: Path, script: str) -> CheckResult:
    """Run the check with this shell script as sudo."""
    path = folder / "sudo"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    settings = SimpleNamespace(sudo_path=path, launcher_path=Path(LAUNCHER))
    (check,) = [check for check in CHECKS if check.name == "sudo"]
    health: Any = SimpleNamespace(settings=settings)
    (found,) = await run_check(check, health)
    return found


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        (f"echo '    (%people) NOPASSWD: {LAUNCHER}'", None),
        (f"echo '    (%people) NOPASSWD: {LAUNCHER}-old'", "doesn't permit"),
        (f"echo '    (%people) {LAUNCHER}'", "doesn't permit"),
        (
            "echo a password is required >&2; exit 1",
            "no commands for this account: a password is required",
        ),
    ],
)
async def test_what_it_permits(tmp_path: Path, script: str, problem: str | None) -> None:
    found = await check_sudo(tmp_path, script)
    assert (found.problem is None) is (problem is None)
    assert problem is None or problem in str(found.problem)
    assert bool(found.suggestion) is (problem is not None)


@pytest.mark.parametrize("may_end_it", [True, False])
async def test_hanging_sudo_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, may_end_it: bool
) -> None:
    """The process belongs to root by then, so other accounts may not be able to end it."""
    monkeypatch.setattr(installation, "SUDO_S", 0.2)
    hanging: list[subprocess.Popen[str]] = []
    kill = subprocess.Popen.kill

    def may_not(process: subprocess.Popen[str]) -> None:
        hanging.append(process)
        raise PermissionError

    if not may_end_it:
        monkeypatch.setattr(subprocess.Popen, "kill", may_not)
    found = await check_sudo(tmp_path, "exec sleep 600")
    assert found.problem == "it didn't answer within 0.2 s"
    assert len(hanging) == (not may_end_it)
    for process in hanging:
        kill(process)
        process.communicate()
