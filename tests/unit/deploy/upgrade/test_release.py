"""Wheels that can be upgraded to, and files that can't."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from deploy.upgrade import UpgradeRefused
from deploy.upgrade.release import COMMAND, install, locate, read_release

METADATA = "Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n\nThe portal.\n"


def make_wheel(
    folder: Path,
    *,
    name: str = "data-scientist-portal",
    version: str = "0.2.0",
    files: str = COMMAND,
) -> Path:
    wheel = folder / "data_scientist_portal-0.2.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.writestr(files, "")
        text = METADATA.format(name=name, version=version)
        packed.writestr(f"data_scientist_portal-{version}.dist-info/METADATA", text)
    (folder / "requirements.lock").write_text("typer==1\n")
    return wheel


def test_the_virtualenv_is_named_after_version_and_content(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, version="0.2.0+site.1")
    release = read_release(wheel)
    assert release.version == "0.2.0+site.1"
    link = tmp_path / "portal-app"
    folder = locate(link, release)
    assert folder.name == f"portal-app-0.2.0-site.1-{release.digest[:8]}"
    (tmp_path / "requirements.lock").write_text("typer==2\n")
    assert locate(link, read_release(wheel)) != folder


@pytest.mark.parametrize("name", ["Data_Scientist.Portal", "data-scientist-portal"])
def test_names_are_compared_as_pip_does(tmp_path: Path, name: str) -> None:
    assert read_release(make_wheel(tmp_path, name=name)).version == "0.2.0"


def test_another_package_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UpgradeRefused, match="isn't the portal's wheel"):
        read_release(make_wheel(tmp_path, name="data-scientist-portal-client"))


def test_a_version_without_the_command_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UpgradeRefused, match="without `portal upgrade`"):
        read_release(make_wheel(tmp_path, files="deploy/cli.py"))


def test_a_damaged_or_missing_file_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "portal.whl"
    with pytest.raises(UpgradeRefused, match="can't be read as a wheel"):
        read_release(wheel)
    wheel.write_bytes(b"not a wheel")
    with pytest.raises(UpgradeRefused, match="can't be read as a wheel"):
        read_release(wheel)


def test_a_wheel_without_its_lock_is_refused(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path)
    (tmp_path / "requirements.lock").unlink()
    with pytest.raises(UpgradeRefused, match=r"requirements.lock can't be read: .*whole folder"):
        read_release(wheel)


def test_a_complete_virtualenv_is_used_again(tmp_path: Path) -> None:
    release = read_release(make_wheel(tmp_path))
    link = tmp_path / "portal-app"
    target = locate(link, release)
    target.mkdir()
    (target / ".complete").touch()
    assert install(link, release, "/no/python") == target
    assert not link.exists()
