"""The check of the installed programs."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from portal.health.checks.launcher import check_launcher
from spawner.launcher.installed import FILES_PROGRAM, files_program, launcher_program
from tests.needs import needs_root
from tests.unit.spawner.launcher.launcher_home import GID, UID

pytestmark = needs_root("the installed programs are root's")
NAMES = ("launcher", FILES_PROGRAM)


@pytest.fixture
def health(tmp_path: Path) -> Any:
    (tmp_path / "launcher").write_bytes(launcher_program())
    (tmp_path / "launcher").chmod(0o755)
    (tmp_path / FILES_PROGRAM).write_bytes(files_program())
    settings = SimpleNamespace(launcher_path=tmp_path / "launcher", sudo_path=Path("/bin/true"))
    return SimpleNamespace(settings=settings)


def test_what_is_installed_is_in_order(health: Any) -> None:
    assert check_launcher(health).problem is None


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_program(health: Any, tmp_path: Path, name: str) -> None:
    (tmp_path / name).unlink()
    assert f"{name}: No such file" in str(check_launcher(health).problem)


@pytest.mark.parametrize("name", NAMES)
def test_a_program_that_others_can_write(health: Any, tmp_path: Path, name: str) -> None:
    (tmp_path / name).chmod(0o757)
    assert "owned by root" in str(check_launcher(health).problem)


@pytest.mark.parametrize("name", NAMES)
def test_a_program_of_another_account(health: Any, tmp_path: Path, name: str) -> None:
    os.chown(tmp_path / name, UID, GID)
    assert "owned by root" in str(check_launcher(health).problem)


@pytest.mark.parametrize("name", NAMES)
def test_a_program_of_another_version(health: Any, tmp_path: Path, name: str) -> None:
    with (tmp_path / name).open("ab") as file:
        file.write(b"\n")
    found = check_launcher(health)
    assert f"{name} is from another version" in str(found.problem)
    assert "portal system-files --install" in found.suggestion


def test_a_launcher_that_is_not_executable(health: Any, tmp_path: Path) -> None:
    (tmp_path / "launcher").chmod(0o644)
    assert "executable" in str(check_launcher(health).problem)
