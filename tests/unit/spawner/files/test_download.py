"""Folders, entries and files read by the files program, and streamed content."""

from __future__ import annotations

import base64
import io
import os
import socket
import subprocess
import tarfile
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

import pytest

from spawner.files import disk, download, paths
from spawner.files.main import MAX_CPU_S
from tests.needs import needs_program
from tests.unit.spawner.files.file_home import LISTING, ODD, Filer, Problem, deepen
from tests.unit.spawner.launcher.launcher_home import AS_ROOT, GID, UID

pytest_plugins = ["tests.unit.spawner.files.file_fixtures"]


class TestListing:
    def test_entry_has_type_size_mode_and_owner(self, filer: Filer) -> None:
        filer.write("a.txt", b"12345").chmod(0o640)
        (entry,) = filer.ask("list_folder", **LISTING)["entries"]
        assert entry["name"] == "a.txt"
        assert (entry["kind"], entry["is_link"], entry["target_kind"]) == ("file", False, None)
        assert (entry["size_bytes"], entry["mode"]) == (5, 0o640)
        assert (entry["readable"], entry["writable"]) == (True, True)
        assert entry["modified_at"] == (filer.home / "a.txt").stat().st_mtime
        assert entry["owner"]

    def test_names_are_sorted_as_users_count_folders_first(self, filer: Filer) -> None:
        for name in ("run10", "run2", "Run1", "b", ".hidden"):
            filer.write(name)
        filer.folder("z")
        assert filer.names() == ["z", "b", "Run1", "run2", "run10"]
        assert filer.names(descending=True) == ["z", "run10", "run2", "Run1", "b"]
        assert filer.names(folders_first=False)[-1] == "z"
        assert ".hidden" in filer.names(hidden=True)
        assert filer.names(filter="RUN1") == ["Run1", "run10"]
        assert filer.names(filter="un1", prefix=True) == []

    def test_by_size_and_by_time(self, filer: Filer) -> None:
        for size, name in enumerate(("c", "b", "a")):
            os.utime(filer.write(name, b"x" * size), (100 - size, 100 - size))
        assert filer.names(sort="size") == ["c", "b", "a"]
        assert filer.names(sort="modified") == ["a", "b", "c"]
        assert filer.names(sort="modified", descending=True) == ["c", "b", "a"]

    @pytest.mark.parametrize("sort", ["name", "size", "modified"])
    @pytest.mark.parametrize("descending", [False, True])
    def test_pages_hold_everything_once(self, filer: Filer, sort: str, descending: bool) -> None:
        for number in range(25):
            os.utime(filer.write(f"f{number}", b"x" * (number % 3)), (number % 4, number % 4))
        filer.folder("one")
        filer.folder("two")
        payload: dict[str, Any] = {"sort": sort, "descending": descending}
        whole = filer.names(**payload)
        assert len(whole) == 27
        paged, after = [], None
        while True:
            page = filer.ask("list_folder", **{**LISTING, **payload, "limit": 4, "after": after})
            assert page["total"] == 27
            paged += [entry["name"] for entry in page["entries"]]
            after = page["next"]
            if after is None:
                break
        assert paged == whole

    def test_names_that_are_no_text_can_be_acted_on(self, filer: Filer) -> None:
        filer.write(ODD)
        filer.write("new\nline<b>&-rf")
        shown = filer.names()
        assert ODD in shown
        assert "new\nline<b>&-rf" in shown
        assert filer.ask("peek", ODD, offset=0, limit=9)["size_bytes"] == 1
        filer.ask("move", ODD, to_root=str(filer.home), to_path="ok", overwrite=False)
        assert (filer.home / "ok").exists()

    def test_links_are_shown_as_what_they_lead_to(self, filer: Filer) -> None:
        filer.write("folder/in.txt", b"1234")
        filer.link("to-folder", "folder")
        filer.link("to-file", "folder/in.txt")
        filer.link("nowhere", "gone")
        found = {e["name"]: e for e in filer.ask("list_folder", **LISTING)["entries"]}
        assert [e["is_link"] for e in found.values()] == [False, True, True, True]
        assert found["to-folder"]["target_kind"] == "folder"
        assert (found["to-file"]["target_kind"], found["to-file"]["size_bytes"]) == ("file", 4)
        assert found["nowhere"]["target_kind"] is None
        page = filer.ask("list_folder", "to-folder", **LISTING)
        assert page["real_path"] == str(filer.home / "folder")

    def test_what_may_not_be_seen_is_refused(self, filer: Filer) -> None:
        closed = filer.folder("closed")
        closed.chmod(0)
        for path, code in {"closed": "denied", "gone": "not-there"}.items():
            with pytest.raises(Problem) as caught:
                filer.names(path)
            assert caught.value.code == code
        closed.chmod(0o700)
        filer.write("file")
        filer.link("to-file", "file")
        for name in ("file", "to-file"):
            with pytest.raises(Problem) as caught:
                filer.names(name)
            assert caught.value.code == "no-folder"

    @pytest.mark.parametrize(
        "path", ["..", "a/../b", "/etc", "a//b", ".", "a/", "\0", "x" * 256, "d/" * 5000 + "d"]
    )
    def test_paths_that_are_none(self, filer: Filer, path: str) -> None:
        with pytest.raises(Problem) as caught:
            filer.names(path)
        assert caught.value.code == "bad-name"

    def test_listing_past_its_time_limit_is_incomplete(self, filer: Filer) -> None:
        filer.write("a")
        page = filer.ask("list_folder", **{**LISTING, "timeout_s": 1e-9})
        assert (page["complete"], page["entries"]) == (False, [])

    def test_the_kernels_own_folders_are_none(self, filer: Filer) -> None:
        filer.link("magic", "/proc/self")
        for path in ("magic", "magic/fd", "magic/root/proc"):
            with pytest.raises(Problem) as caught:
                filer.names(path)
            assert caught.value.code == "denied"
        with pytest.raises(Problem) as caught:
            filer.ask("peek", "magic/status", offset=0, limit=10)
        assert caught.value.code == "denied"
        filer.link("status", "/proc/self/status")
        with pytest.raises(Problem) as caught:
            filer.ask("peek", "status", offset=0, limit=10)
        assert caught.value.code == "no-file"

    def test_a_folder_whose_name_begins_like_the_kernels_is_listed(self) -> None:
        """It lies at the top, where only root creates folders, so that its path stands for it."""
        for path, own in {
            "/proc": True,
            "/proc/1/fd": True,
            "/sys/kernel": True,
            "/procurement": False,
            "/procurement/2026": False,
            "/system": False,
            "/home/proc": False,
        }.items():
            with patch.object(paths, "path_of", return_value=path):
                assert paths.is_in_pseudo_filesystem(0) is own, path

    def test_nonsense_is_answered(self, filer: Filer) -> None:
        for wrong in ({"limit": 0}, {"limit": 10**6}, {"sort": "x"}, {"after": [1, 2]}):
            with pytest.raises(Problem) as caught:
                filer.ask("list_folder", **{**LISTING, **wrong})
            assert caught.value.type == "BadRequest"
        with pytest.raises(Problem) as caught:
            filer.ask("list_folder", **LISTING, after=[0, 5, "a"])
        assert caught.value.type == "BadRequest"


class TestReading:
    def test_a_piece(self, filer: Filer) -> None:
        filer.write("a", b"0123456789")
        found = filer.ask("peek", "a", offset=2, limit=3)
        assert base64.b64decode(found["data_b64"]) == b"234"
        assert (found["size_bytes"], bool(found["version"])) == (10, True)
        assert filer.ask("peek", "a", offset=99, limit=3)["data_b64"] == ""

    def test_no_pipe_device_or_socket_is_opened(self, filer: Filer) -> None:
        os.mkfifo(filer.home / "fifo")
        os.chown(filer.home / "fifo", UID, GID)
        filer.link("null", "/dev/null")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(filer.home / "socket"))
        filer.folder("folder")
        for name in ("fifo", "null", "socket", "folder", ""):
            for op in ("peek", "open_file_to_send"):
                with pytest.raises(Problem) as caught:
                    filer.ask(op, name, offset=0, limit=1)
                assert caught.value.code == "no-file"

    def test_one_entry(self, filer: Filer) -> None:
        filer.write("d/a", b"12")
        found = filer.ask("describe", "d/a")
        assert found["entry"]["size_bytes"] == 2
        assert found["real_folder"] == str(filer.home / "d")
        assert filer.ask("describe", "")["entry"]["kind"] == "folder"

    def test_space(self, filer: Filer) -> None:
        found = filer.ask("space")
        assert 0 < found["free_bytes"] <= found["total_bytes"]
        assert found["writable"] is True
        assert found["real_path"] == str(filer.home)

    def test_which_program_knows_the_quota(self) -> None:
        mounts = (
            b"1 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
            b"9 1 0:50 / /mnt/a\\040b rw,relatime shared:7 - lustre mgs@tcp:/fs rw\n"
            b"8 1 0:44 / /home rw - nfs4 server:/home rw\n"
            b"nonsense\n"
        )
        kinds = {
            path: disk.filesystem_type(path, mounts) for path in ("/", "/mnt/a b", "/home", "/x")
        }
        assert kinds == {"/": "ext4", "/mnt/a b": "lustre", "/home": "nfs4", "/x": ""}
        lustre = disk.quota_command("alice", "/mnt/a b", "lustre")
        assert lustre == ["/usr/bin/lfs", "quota", "-q", "-u", "alice", "/mnt/a b"]
        assert disk.quota_command("alice", "/home", "nfs4")[-1] == "--filesystem=/home"

    def test_what_a_quota_program_prints(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        context: Any = SimpleNamespace(user=SimpleNamespace(name="alice"))
        program = tmp_path / "quota"
        monkeypatch.setattr(disk, "QUOTA", (str(program), "--user"))
        assert disk.quota_text(context, "/") is None  # there is none
        program.write_text('#!/bin/sh\necho "$@"; echo no >&2; exit 1\n')
        program.chmod(0o755)
        assert disk.quota_text(context, "/") == "--user --filesystem=/\n"


class TestSending:
    def test_a_part_of_a_file(self, filer: Filer) -> None:
        data = os.urandom(700_000)
        filer.write("a", data)
        assert filer.ask("open_file_to_send", "a")["size_bytes"] == len(data)
        sent, last = filer.stream("send_file", offset=5, length=600_000)
        assert sent == data[5:600_005]
        assert last == {"ok": True, "result": {}}
        assert filer.process.wait() == 0

    def test_what_was_opened_is_sent_though_it_was_replaced(self, filer: Filer) -> None:
        file = filer.write("a", b"old")
        filer.ask("open_file_to_send", "a")
        file.unlink()
        filer.write("a", b"new")
        assert filer.stream("send_file", offset=0, length=3)[0] == b"old"

    def test_a_file_that_shrank_is_not_sent_as_if_whole(self, filer: Filer) -> None:
        file = filer.write("a", b"0123456789")
        filer.ask("open_file_to_send", "a")
        file.write_bytes(b"01")
        sent, last = filer.stream("send_file", offset=0, length=10)
        assert sent == b"01"
        assert last["error"]["more"]["code"] == "changed"

    def test_process_ends_when_the_reader_is_gone(self, filer: Filer) -> None:
        filer.write("a", bytes(1 << 20))
        filer.ask("open_file_to_send", "a")
        filer.ask("send_file", offset=0, length=1 << 20)
        filer.process.stdin.close()
        assert filer.process.process.wait(20) == 0

    def packed(self, filer: Filer) -> None:
        filer.write("d/a.txt", b"hello" * 1000)
        filer.write("d/empty", b"")
        filer.write(f"d/deep/{ODD}", b"odd")
        filer.write("d/closed", b"no").chmod(0)
        filer.folder("d/none")
        filer.link("d/link", "a.txt")
        filer.link("d/loop", ".")
        os.mkfifo(filer.home / "d/fifo")
        filer.write("single", b"1")

    @pytest.mark.parametrize("kind", ["zip", "tar"])
    def test_archives_hold_what_can_be_read(self, filer: Filer, kind: str) -> None:
        self.packed(filer)
        data, last = filer.stream("send_archive", names=["d", "single"], format=kind)
        assert last["ok"]
        found: dict[str, bytes] = {}
        if kind == "zip":
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                assert archive.testzip() is None
                found = {info.filename: archive.read(info) for info in archive.infolist()}
        else:
            with tarfile.open(fileobj=io.BytesIO(data)) as tar:
                for member in tar:
                    file = tar.extractfile(member) if member.isreg() else None
                    found[member.name] = file.read() if file else b""
                assert tar.getmember("d/link").linkname == "a.txt"
                assert f"d/deep/{ODD}" in found
        assert found["d/a.txt"] == b"hello" * 1000
        assert (found["d/empty"], found["single"]) == (b"", b"1")
        assert found.keys() >= {"d/none/", "d/deep/"} or "d/none" in found
        left = found["LEFT-OUT.txt"].decode(errors="replace")
        assert "d/fifo" in left
        assert ("d/closed" in left) == AS_ROOT or not AS_ROOT
        assert ("d/link" in left) == (kind == "zip")

    @needs_program("unzip")
    def test_unzip_takes_it(self, filer: Filer, tmp_path: Path) -> None:
        self.packed(filer)
        data, _ = filer.stream("send_archive", names=["d"], format="zip")
        (tmp_path / "a.zip").write_bytes(data)
        done = subprocess.run(
            ["unzip", "-t", str(tmp_path / "a.zip")], capture_output=True, check=False
        )
        assert done.returncode == 0, done.stdout

    def test_zip_one_of_an_unreadable_link_gives_one_reason(self, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to("target")
        walk = download.ArchiveWalk(-1, [], download.Omissions())
        entry = download.ArchiveEntry("link", (tmp_path / "link").lstat(), -1, "link")
        assert list(download.zip_one(walk, download.Zip(io.BytesIO()), entry)) == []
        assert walk.omitted.lines == ["link: Bad file descriptor"]

    def test_sizes_without_zip64_leave_room_for_what_deflate_adds(self) -> None:
        pieces = [os.urandom(download.PIECE) for _ in range(32)]
        size = sum(map(len, pieces))
        packed = sum(map(len, download.Zip(io.BytesIO()).add("random", 0o600, 0.0, size, pieces)))
        assert packed > size
        assert download.ZIP64_FROM * packed / size < 1 << 32

    @pytest.mark.parametrize(("held", "packed"), [(0, False), (100, False), (8, True), (1, True)])
    def test_a_compressed_file_is_not_taken_for_a_sparse_one(self, held: int, packed: bool) -> None:
        """`held`: the fraction of the file that is allocated on disk."""
        size = 1 << 40
        blocks = size // held // download.BLOCK if held else 0
        state = SimpleNamespace(st_size=size, st_blocks=blocks)
        found = download.ArchiveEntry("data.csv", cast(os.stat_result, state), -1, "data.csv")
        omitted = download.Omissions()
        assert download.ArchiveWalk(-1, [], omitted).claim_allowance(found, found.state) is packed
        assert (omitted.lines == []) is packed

    @pytest.mark.parametrize("kind", ["zip", "tar"])
    def test_a_file_of_nothing_but_holes_is_left_out(self, filer: Filer, kind: str) -> None:
        filer.folder("d")
        with (filer.home / "d/huge").open("wb") as huge:
            huge.truncate(1 << 43)
        with (filer.home / "d/some").open("wb") as some:
            some.truncate(1 << 20)
        data, last = filer.stream("send_archive", names=["d"], format=kind)
        assert last["ok"]
        if kind == "zip":
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                found = {info.filename: info.file_size for info in archive.infolist()}
                left = archive.read("LEFT-OUT.txt").decode()
        else:
            with tarfile.open(fileobj=io.BytesIO(data)) as tar:
                found = {member.name: member.size for member in tar}
                file = tar.extractfile("LEFT-OUT.txt")
                assert file is not None
                left = file.read().decode()
        assert "d/huge" not in found
        assert found["d/some"] == 1 << 20
        assert "d/huge: it is mostly empty" in left

    def test_work_on_files_leaves_the_cpu_to_others(self, filer: Filer) -> None:
        pid = filer.process.process.pid
        here = os.getpriority(os.PRIO_PROCESS, 0)
        assert os.getpriority(os.PRIO_PROCESS, pid) == min(19, here + 10)
        limits = Path(f"/proc/{pid}/limits").read_text()
        assert limits.partition("Max cpu time")[2].split()[1] == str(MAX_CPU_S)

    def test_deep_folders_are_packed_as_deep_as_can_be(self, filer: Filer) -> None:
        deepen(filer.home, 300)
        data, last = filer.stream("send_archive", names=["d"], format="tar")
        assert last["ok"]
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            names = tar.getnames()
        assert names[-1] == "LEFT-OUT.txt"
        assert len(names) > 200

    @pytest.mark.parametrize("wrong", [{"names": []}, {"names": ["a/b"]}, {"format": "rar"}])
    def test_what_is_no_archive(self, filer: Filer, wrong: Any) -> None:
        with pytest.raises(Problem):
            filer.ask("send_archive", **{"names": ["a"], "format": "zip", **wrong})
        with pytest.raises(Problem) as caught:
            filer.ask("send_archive", names=["gone"], format="zip")
        assert caught.value.code == "not-there"
