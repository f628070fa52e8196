"""Small parts of an import: an image's platform, the credentials file, the supervised process."""

import base64
import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from portal.config.registry_auth import registry_hosts
from spawner import supervised_process
from spawner.containers.image_file import NotAnImage, file_architecture, layout_architecture
from spawner.containers.pull import PullRequest, argv, make_environ
from spawner.containers.references import parse_reference
from tests.needs import needs_root

HEADER = b"#!/usr/bin/env run-singularity\n\0SIF_MAGIC\x0001\0"


class TestImageFile:
    def test_a_header_names_the_architecture(self, tmp_path: Path) -> None:
        file = tmp_path / "x.sif"
        for code, name in ((b"02", "amd64"), (b"04", "arm64"), (b"99", None)):
            file.write_bytes(HEADER + code + b"\0" + b"rest")
            assert file_architecture(file) == name

    @pytest.mark.parametrize("content", [b"", b"hsqs", b"\x7fELF" + b"\0" * 100])
    def test_anything_else_is_no_image(self, tmp_path: Path, content: bytes) -> None:
        file = tmp_path / "x.sif"
        file.write_bytes(content)
        with pytest.raises(NotAnImage, match=r"x\.sif is not an image"):
            file_architecture(file)

    def test_layout_names_its_architecture(self, tmp_path: Path) -> None:
        self.layout(tmp_path, {"architecture": "arm64"})
        assert layout_architecture(tmp_path) == "arm64"

    def test_layout_without_architecture_yields_none(self, tmp_path: Path) -> None:
        assert layout_architecture(tmp_path) is None
        self.layout(tmp_path, {})
        assert layout_architecture(tmp_path) is None
        index = {"manifests": [{"digest": "sha256:../../../etc/passwd"}]}
        (tmp_path / "index.json").write_text(json.dumps(index))
        assert layout_architecture(tmp_path) is None

    @staticmethod
    def layout(folder: Path, config: dict[str, Any]) -> None:
        blobs = folder / "blobs" / "sha256"
        blobs.mkdir(parents=True, exist_ok=True)
        named, manifest = "a" * 64, "b" * 64
        (blobs / named).write_text(json.dumps(config))
        (blobs / manifest).write_text(json.dumps({"config": {"digest": f"sha256:{named}"}}))
        index = {"manifests": [{"digest": f"sha256:{manifest}"}]}
        (folder / "index.json").write_text(json.dumps(index))


class TestCredentialsFile:
    @staticmethod
    def file(folder: Path, content: str, mode: int = 0o600) -> Path:
        path = folder / "auth.json"
        path.write_text(content)
        path.chmod(mode)
        return path

    def test_registries_are_named_as_references_name_them(self, tmp_path: Path) -> None:
        auths: dict[str, Any] = {
            "https://index.docker.io/v1/": {},
            "Nvcr.io": {},
            "127.0.0.1:5000": {},
        }
        content = json.dumps({"auths": auths, "credHelpers": {"ghcr.io": "helper"}})
        found = registry_hosts(self.file(tmp_path, content))
        assert found == {"docker.io", "nvcr.io", "127.0.0.1:5000", "ghcr.io"}
        assert registry_hosts(self.file(tmp_path, "{}")) == frozenset()

    @pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
    def test_a_file_that_others_can_read_is_refused(self, tmp_path: Path, mode: int) -> None:
        with pytest.raises(ValueError, match="chmod 0600"):
            registry_hosts(self.file(tmp_path, "{}", mode))

    @pytest.mark.parametrize("content", ["", "hidden-word", "[]", '{"auths": ["hidden-word"]}'])
    def test_what_it_holds_is_never_repeated(self, tmp_path: Path, content: str) -> None:
        with pytest.raises(ValueError, match="must be JSON") as refused:
            registry_hosts(self.file(tmp_path, content))
        assert "hidden-word" not in str(refused.value)

    def test_a_missing_one_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match=r"auth\.json can't be read: No such file"):
            registry_hosts(tmp_path / "auth.json")

    @needs_root("it gives a file away")
    def test_another_account_s_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = self.file(tmp_path, "{}")
        monkeypatch.setattr(os, "geteuid", lambda: 4711)
        with pytest.raises(ValueError, match="owned by the portal's account"):
            registry_hosts(path)


class TestCommand:
    def test_it_names_the_credentials_and_holds_none(self, tmp_path: Path) -> None:
        known = base64.b64encode(b"me:hidden-word").decode()
        auth = TestCredentialsFile.file(tmp_path, json.dumps({"auths": {"h": {"auth": known}}}))
        request = PullRequest(
            reference=parse_reference("docker://h.example/x"),
            target=Path("/images/.import-1.sif"),
            work=tmp_path,
            apptainer=Path("/usr/bin/apptainer"),
            auth_file=auth,
            has_credentials=True,
            plain=True,
            timeout_s=60,
        )
        words = argv(request)
        assert words[-2:] == ["/images/.import-1.sif", "docker://h.example/x:latest"]
        assert words[words.index("--authfile") + 1] == str(auth)
        assert "--no-https" in words
        assert known not in " ".join(words)

    def test_only_the_way_to_the_network_is_passed_on(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        for name in ("APPTAINER_DOCKER_PASSWORD", "DOCKER_CONFIG", "PORTAL_CONFIG", "HTTPS_PROXYX"):
            monkeypatch.setenv(name, "x")
        monkeypatch.setenv("https_proxy", "http://proxy:3128")
        found = make_environ(tmp_path)
        assert found["https_proxy"] == "http://proxy:3128"
        assert found["HOME"] == found["TMPDIR"] == str(tmp_path)
        assert not {"APPTAINER_DOCKER_PASSWORD", "DOCKER_CONFIG", "PORTAL_CONFIG"} & set(found)


class TestLeash:
    """The command starts a child process; both hold one pipe open until they end."""

    # the shell and its child both write to the pipe, so its end means that both have ended
    TWO = "sleep 1000 & echo begun; wait"

    @staticmethod
    def start(*command: str) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-IS", supervised_process.__file__, *command]
        return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    @staticmethod
    def ends(process: subprocess.Popen[bytes]) -> bool:
        """Return whether the last writer of its output ends within a reasonable time."""
        assert process.stdout
        readable, _, _ = select.select([process.stdout], [], [], 60)
        return bool(readable) and process.stdout.read() == b""

    def test_the_command_s_own_end_is_passed_on(self) -> None:
        for command, code in (("exit 7", 7), ("kill -TERM $$", 128 + 15)):
            with self.start("/bin/sh", "-c", command) as process:
                assert process.wait(timeout=60) == code

    def test_the_end_of_input_ends_all_of_it(self) -> None:
        with self.start("/bin/sh", "-c", self.TWO) as process:
            assert process.stdin
            assert process.stdout
            assert process.stdout.readline() == b"begun\n"
            process.stdin.close()
            assert self.ends(process)
            assert process.wait(timeout=60) == 128 + 9

    def test_a_child_left_behind_goes_too(self) -> None:
        with self.start("/bin/sh", "-c", "sleep 1000 & echo begun") as process:
            assert process.stdout
            assert process.stdout.readline() == b"begun\n"
            assert self.ends(process)
            assert process.wait(timeout=60) == 0

    def test_signals_for_the_leash_don_t_loosen_it(self) -> None:
        with self.start("/bin/sh", "-c", self.TWO) as process:
            assert process.stdin
            assert process.stdout
            assert process.stdout.readline() == b"begun\n"
            process.terminate()
            process.stdin.close()
            assert self.ends(process)

    def test_a_descriptor_is_kept_open_by_all(self) -> None:
        reader, writer = os.pipe()
        argv = [sys.executable, "-IS", supervised_process.__file__, "--keep", str(writer)]
        command = [*argv, "/bin/bash", "-c", f"echo kept >&{writer}"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=(writer,)) as process:
            os.close(writer)
            assert process.wait(timeout=60) == 0
        with os.fdopen(reader) as received:
            assert received.read() == "kept\n"
