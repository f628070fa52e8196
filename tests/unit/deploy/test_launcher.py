"""The programs as installed: the users they serve, and the files that the launcher trusts."""

import ast
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spawner.files.main import MAX_CPU_S, OPERATIONS
from spawner.launcher.installed import (
    FILES_PROGRAM,
    files_edition,
    files_program,
    launcher_program,
)
from tests.needs import needs_root
from tests.unit.spawner.files.file_home import Filer, refused
from tests.unit.spawner.launcher.launcher_home import AS_ROOT, GID, UID, Process, error_of

pytest_plugins = [
    "tests.unit.spawner.files.file_fixtures",
    "tests.unit.spawner.launcher.launcher_fixtures",
]


def test_what_sudo_permits_is_readable_in_one_sitting() -> None:
    assert len(launcher_program().splitlines()) < 800


def test_the_launcher_imports_only_the_standard_library() -> None:
    imported = set()
    for node in ast.walk(ast.parse(launcher_program())):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or "")
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names


def test_the_launcher_itself_handles_no_files(launcher: Process) -> None:
    for name in OPERATIONS:
        assert error_of(launcher.ask(name)) == ("BadRequest", "no such operation")


@needs_root("launcher.conf is root's")
class TestInstalled:
    """The installed file, owned by root, beside its configuration."""

    CONF = '{"min_uid": 1000, "slurm_bin_dir": "/usr/bin", "slurm_conf": "", "umask": "0022"}\n'

    @pytest.fixture
    def folder(self) -> Iterator[Path]:
        folder = Path(tempfile.mkdtemp(prefix="launcher-"))
        folder.chmod(0o755)
        (folder / "launcher").write_bytes(launcher_program())
        (folder / "launcher").chmod(0o755)
        (folder / "launcher.conf").write_text(self.CONF)
        (folder / FILES_PROGRAM).write_bytes(files_program())
        yield folder
        shutil.rmtree(folder)

    def run(
        self, folder: Path, uid: int = UID, *options: str, text: str = ""
    ) -> subprocess.CompletedProcess[str]:
        become = ["setpriv", *(options or (f"--reuid={uid}", "--regid=65534", "--clear-groups"))]
        return subprocess.run(
            [*become, folder / "launcher"], input=text, capture_output=True, text=True, check=False
        )

    def become_files(self, folder: Path) -> Any:
        """Return the response to the request to become the files program."""
        lines = self.run(folder, text='{"id": 7, "op": "files"}\n').stdout.splitlines()
        return json.loads(lines[1])

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

    def test_it_becomes_the_files_program(self, folder: Path) -> None:
        assert self.become_files(folder) == {
            "id": 7, "ok": True, "result": {"edition": files_edition()},
        }  # fmt: skip

    def test_a_files_program_that_is_missing(self, folder: Path) -> None:
        (folder / FILES_PROGRAM).unlink()
        kind, message = error_of(self.become_files(folder))
        assert kind == "NoFilesProgram"
        assert "is not installed correctly" in message

    @pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
    def test_a_files_program_others_can_write(self, folder: Path, mode: int) -> None:
        (folder / FILES_PROGRAM).chmod(mode)
        assert error_of(self.become_files(folder))[0] == "NoFilesProgram"

    def test_a_files_program_of_another_account(self, folder: Path) -> None:
        os.chown(folder / FILES_PROGRAM, UID, GID)
        assert error_of(self.become_files(folder))[0] == "NoFilesProgram"

    def test_the_files_program_refuses_root(self, folder: Path) -> None:
        python = ["/usr/bin/python3", "-IS", str(folder / FILES_PROGRAM), "7", "22"]
        result = subprocess.run(python, input="", capture_output=True, text=True, check=False)
        assert result.returncode == 78
        assert "refused for uid 0" in result.stderr


def test_the_files_program_has_the_launchers_limits_and_its_own(filer: Filer) -> None:
    proc = Path(f"/proc/{filer.process.process.pid}")
    limits = (proc / "limits").read_text()
    assert limits.partition("Max core file size")[2].split()[0] == "0"
    assert limits.partition("Max cpu time")[2].split()[1] == str(MAX_CPU_S)
    if AS_ROOT:
        assert (proc / "mem").stat().st_uid == 0, "not the user's to read"


def test_a_frame_without_end_ends_the_files_program(filer: Filer) -> None:
    with contextlib.suppress(BrokenPipeError):
        filer.process.send(b"x" * (3 << 20))
    assert filer.process.wait() == 0


def test_the_files_program_refuses_the_launchers_operations(filer: Filer) -> None:
    for name in ("submit", "cancel", "step", "files"):
        assert refused(filer, name).type == "BadRequest"
