"""The launcher as a separate process, used over its pipes, with fake Slurm commands.

Its Slurm commands are tested in test_program_jobs.py; tests that need sudo and a real Slurm are in
tests/cluster.
"""

import base64
import contextlib
import errno
import importlib.util
import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.needs import needs_root
from tests.unit.spawner.launcher.launcher_home import (
    AS_ROOT,
    GID,
    LAUNCHER,
    TAKES,
    UID,
    UUID,
    Place,
    Process,
    error_of,
)

pytest_plugins = ["tests.unit.spawner.launcher.launcher_fixtures"]


class TestFrames:
    def test_hello_identifies_the_user(self, launcher: Process, place: Place) -> None:
        assert launcher.hello == {
            "hello": 1, "uid": UID, "gid": UID, "username": "user", "home": str(place.home),
            "shell": "/bin/bash",
        }  # fmt: skip
        assert launcher.ask("ping") == {"id": 1, "ok": True, "result": {}}

    @pytest.mark.parametrize(
        "line",
        [
            b"\n", b"[]\n", b"{\n", b"\xff\xfe\n", b'"ping"\n', b'{"op": 1}\n', b"{}\n",
            b'{"op": "__init__"}\n', b'{"op": "environment"}\n', b'{"op": "nope"}\n',
            b"[" * 100_000 + b"\n", b'{"op": "submit", "uuid": "\\ud800"}\n',
        ],
    )  # fmt: skip
    def test_nonsense_is_answered_and_survived(self, launcher: Process, line: bytes) -> None:
        launcher.send(line)
        assert error_of(launcher.receive())[0] == "BadRequest"
        assert launcher.ask("ping")["ok"]

    def test_a_frame_without_end_ends_it(self, launcher: Process) -> None:
        with contextlib.suppress(BrokenPipeError):
            launcher.send(b"x" * (3 << 20))
        assert launcher.wait() == 0

    def test_many_requests_at_once_are_answered_in_turn(self, launcher: Process) -> None:
        launcher.send(b"".join(b'{"id": %d, "op": "ping"}\n' % n for n in range(100)))
        assert [launcher.receive()["id"] for _ in range(100)] == list(range(100))

    def test_it_ends_with_its_input(self, launcher: Process) -> None:
        assert launcher.close() == 0

    def test_idle_launcher_ends(self, place: Place) -> None:
        process = Process(place, idle_s=0.3)
        assert process.ask("ping")["ok"]
        assert process.process.wait(20) == 0
        process.close()

    def test_no_tracer_and_no_core(self, launcher: Process) -> None:
        proc = Path(f"/proc/{launcher.process.pid}")
        assert "Max core file size        0                    0" in (proc / "limits").read_text()
        if AS_ROOT:
            assert (proc / "mem").stat().st_uid == 0, "not the user's to read"


class TestHome:
    @pytest.mark.parametrize("step", [".local", ".local/share/portal", ".local/share/portal/jobs"])
    def test_no_link_is_followed(self, launcher: Process, place: Place, step: str) -> None:
        place.command("sbatch", TAKES)
        elsewhere = place.root / "elsewhere"
        elsewhere.mkdir()
        os.chown(elsewhere, UID, GID)
        path = place.home / step
        path.parent.mkdir(parents=True, exist_ok=True)
        for folder in [f for f in path.parents if f.is_relative_to(place.home)]:
            os.chown(folder, UID, GID)
        path.symlink_to(elsewhere)
        assert error_of(launcher.submit())[0] == "PathRefused"
        assert list(elsewhere.iterdir()) == []

    def test_a_planted_link_is_replaced_not_followed(self, launcher: Process, place: Place) -> None:
        place.command("sbatch", TAKES)
        target = place.root / "target"
        target.write_text("untouched")
        os.chown(target, UID, GID)
        for name in ("config.json", ".config.json.new"):
            (place.job_file("x").parent / name).symlink_to(target)
        assert launcher.submit()["ok"]
        assert target.read_text() == "untouched"
        assert not (place.jobs / UUID / "config.json").is_symlink()

    @needs_root("it gives a folder away")
    def test_a_folder_of_someone_else_is_refused(self, launcher: Process, place: Place) -> None:
        (place.home / ".local").mkdir()
        assert error_of(launcher.submit())[0] == "PathRefused"

    @needs_root("it gives a folder away")
    def test_a_home_of_someone_else(self, launcher: Process, place: Place) -> None:
        os.chown(place.home, 0, 0)
        kind, message = error_of(launcher.submit())
        assert kind == "HomeUnavailable"
        assert "not yours" in message

    def test_missing(self, launcher: Process, place: Place) -> None:
        place.home.rmdir()
        for answer in (launcher.submit(), launcher.ask("mkdir", path="x")):
            assert error_of(answer) == ("HomeUnavailable", "Your home directory doesn't exist.")
        assert error_of(launcher.ask("read", path="a/b", offset=0, limit=9))[0] == "HomeUnavailable"

    def test_not_writable(self, launcher: Process, place: Place) -> None:
        place.home.chmod(0o500)
        kind, message = error_of(launcher.submit())
        assert kind == "HomeUnavailable"
        assert "is not writable" in message

    def test_mkdir(self, launcher: Process, place: Place) -> None:
        for _ in range(2):
            assert launcher.ask("mkdir", path="portal/runs/s1")["ok"]
        assert (place.home / "portal/runs/s1").is_dir()

    @pytest.mark.parametrize("path", ["/etc", "../x", "a/../b", "a//b", ".", "", "a\0b", "a/" * 20])
    def test_mkdir_elsewhere(self, launcher: Process, path: str) -> None:
        assert error_of(launcher.ask("mkdir", path=path))[0] == "PathRefused"


class TestRead:
    def read(self, launcher: Process, offset: int, limit: int = 100) -> tuple[bytes, int, int]:
        path = f"{UUID}/stdout.log"
        result = launcher.ask("read", path=path, offset=offset, limit=limit)["result"]
        return base64.b64decode(result["data_b64"]), result["size"], result["next_offset"]

    @pytest.mark.parametrize(
        ("offset", "limit", "answer"),
        [
            (0, 4, (b"0123", 10, 4)),
            (4, 100, (b"456789", 10, 10)),
            (10, 4, (b"", 10, 10)),
            (99, 4, (b"", 10, 10)),
            (-3, 100, (b"789", 10, 10)),
            (-99, 4, (b"0123", 10, 4)),
        ],
    )
    def test_parts(
        self, launcher: Process, place: Place, offset: int, limit: int, answer: Any
    ) -> None:
        place.job_file("stdout.log", b"0123456789")
        assert self.read(launcher, offset, limit) == answer

    def test_any_bytes(self, launcher: Process, place: Place) -> None:
        data = bytes(range(256)) * 1024
        place.job_file("stdout.log", data)
        assert self.read(launcher, 0, 256 * 1024) == (data, len(data), len(data))

    def test_not_there_yet_is_empty(self, launcher: Process) -> None:
        assert self.read(launcher, 0) == (b"", 0, 0)

    def test_no_link_fifo_or_folder(self, launcher: Process, place: Place) -> None:
        folder = place.job_file("x").parent
        (folder / "link").symlink_to("/etc/hostname")
        os.mkfifo(folder / "fifo")
        os.chown(folder / "fifo", UID, GID)
        (folder / "folder").mkdir()
        for name in ("link", "fifo", "folder"):
            answer = launcher.ask("read", path=f"{UUID}/{name}", offset=0, limit=9)
            assert error_of(answer)[0] == "PathRefused"

    @pytest.mark.parametrize("path", ["../x/y", "/etc/passwd", f"{UUID}/../../x", "", f"{UUID}//x"])
    def test_elsewhere(self, launcher: Process, path: str) -> None:
        assert error_of(launcher.ask("read", path=path, offset=0, limit=9))[0] == "PathRefused"

    @pytest.mark.parametrize("limit", [0, -1, 256 * 1024 + 1, True, None, 1.5])
    def test_limits(self, launcher: Process, limit: Any) -> None:
        assert error_of(launcher.ask("read", path="a/b", offset=0, limit=limit))[0] == "BadRequest"

    def test_forget(self, launcher: Process, place: Place) -> None:
        file = place.job_file("claimed/node01")
        for _ in range(2):
            assert launcher.ask("forget", uuid=UUID)["ok"]
        assert not file.parents[1].exists()
        assert place.jobs.exists()


class TestFull:
    """In this process, because a full disk would require a mount."""

    @pytest.fixture
    def module(self) -> ModuleType:
        spec = importlib.util.spec_from_file_location("launcher", LAUNCHER)
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    @pytest.mark.parametrize(
        ("number", "words"),
        [
            (errno.ENOSPC, "is full"),
            (errno.EDQUOT, "quota"),
            (errno.EIO, "doesn't answer"),
            (errno.EROFS, "is not writable"),
        ],
    )
    @pytest.mark.parametrize("call", ["write", "fsync", "rename"])
    def test_nothing_half_made_is_left(
        self,
        module: ModuleType,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        call: str,
        number: int,
        words: str,
    ) -> None:
        def fails(*_: Any, **__: Any) -> None:
            raise OSError(number, os.strerror(number))

        user = module.User("user", os.getuid(), os.getgid(), str(tmp_path), "/bin/sh")
        launcher = module.Launcher(module.Conf(1, "/nowhere", "", 0o022), user)
        request = {"op": "submit", "uuid": UUID, "files": {}, "script": "#!", "options": []}
        monkeypatch.setattr(module.os, call, fails)
        answer = module.respond(json.dumps(request).encode(), launcher.operation)
        monkeypatch.undo()
        kind, message = error_of(answer)
        assert kind == "HomeUnavailable"
        assert words in message
        assert list((tmp_path / ".local/share/portal/jobs").iterdir()) == []
