"""The launcher as installed: the users it serves, and the configurations it trusts."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.launcher import program
from tests.unit.launcher_place import AS_ROOT, GID, LAUNCHER, UID


def test_what_sudo_permits_is_readable_in_one_sitting() -> None:
    assert len(LAUNCHER.read_text().splitlines()) < 800


def test_the_installed_program_has_the_operations_of_every_piece() -> None:
    scope: dict[str, Any] = {"__name__": "launcher"}
    exec(compile(program(), "launcher", "exec"), scope)  # noqa: S102 - our own file
    assert {"scalars", "notebooks", "list_folder", "write_upload"} <= set(scope["OPERATIONS"])


@pytest.mark.skipif(not AS_ROOT, reason="launcher.conf must be root's")
class TestInstalled:
    """The installed file, owned by root, beside its configuration."""

    CONF = '{"min_uid": 1000, "slurm_bin_dir": "/usr/bin", "slurm_conf": "", "umask": "0022"}\n'

    @pytest.fixture
    def folder(self) -> Iterator[Path]:
        folder = Path(tempfile.mkdtemp(prefix="launcher-"))
        folder.chmod(0o755)
        (folder / "launcher").write_text(program())
        (folder / "launcher").chmod(0o755)
        (folder / "launcher.conf").write_text(self.CONF)
        yield folder
        shutil.rmtree(folder)

    def run(self, folder: Path, uid: int = UID, *options: str) -> subprocess.CompletedProcess[str]:
        become = ["setpriv", *(options or (f"--reuid={uid}", "--regid=65534", "--clear-groups"))]
        return subprocess.run(
            [*become, folder / "launcher"], input="", capture_output=True, text=True, check=False
        )

    def test_it_starts(self, folder: Path) -> None:
        hello = json.loads(self.run(folder).stdout)
        assert (hello["uid"], hello["username"]) == (65534, "nobody")

    @pytest.mark.parametrize("uid", [0, 1, 999])
    def test_not_for_root_nor_the_systems_own(self, folder: Path, uid: int) -> None:
        result = self.run(folder, uid)
        assert result.returncode == 78
        assert result.stdout == ""
        assert f"refused for uid {uid}" in result.stderr

    def test_not_for_half_a_user(self, folder: Path) -> None:
        result = self.run(folder, UID, "--ruid=65534", "--euid=0", "--regid=65534", "--keep-groups")
        assert result.returncode == 78
        assert "ids differ" in result.stderr

    @pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
    def test_a_configuration_others_can_write(self, folder: Path, mode: int) -> None:
        (folder / "launcher.conf").chmod(mode)
        assert self.run(folder).returncode == 78

    def test_a_configuration_of_someone_else(self, folder: Path) -> None:
        os.chown(folder / "launcher.conf", UID, GID)
        assert self.run(folder).returncode == 78

    @pytest.mark.parametrize("text", ["", "{}\n", CONF.replace("1000", '"x"'), "[]\n"])
    def test_a_broken_configuration(self, folder: Path, text: str) -> None:
        (folder / "launcher.conf").write_text(text)
        result = self.run(folder)
        assert result.returncode != 0
        assert result.stdout == ""
