"""Uploads through the launcher: chunk by chunk, resumed, and with concurrent failures."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import resource
import stat
import time
from typing import Any

import pytest

from spawner.files.upload_state import records_in
from spawner.launcher.program import opened
from tests.unit.spawner.files.file_home import ODD, Filer, b64, refused
from tests.unit.spawner.launcher.launcher_home import OTHER, UUID

pytest_plugins = ["tests.unit.spawner.files.file_fixtures"]


class TestUploads:
    def begin(self, filer: Filer, path: str = "new.bin", size: int = 10, **more: Any) -> Any:
        whole = {"upload_id": UUID, "size": size, "overwrite": False, **more}
        return filer.ask("begin_upload", path, **whole)

    def piece(self, filer: Filer, offset: int, data: bytes) -> int:
        return int(
            filer.ask("write_upload", upload_id=UUID, offset=offset, data_b64=b64(data))["offset"]
        )

    def finish(self, filer: Filer, sha256: str | None = None, **more: Any) -> Any:
        return filer.ask("finish_upload", upload_id=UUID, sha256=sha256, **more)

    def test_piece_by_piece_through_a_new_launcher(self, filer: Filer) -> None:
        filer.folder("d")
        assert self.begin(filer, f"d/{ODD}")["offset"] == 0
        assert self.piece(filer, 0, b"01234") == 5
        assert filer.names("d") == [], "hidden until it is whole"
        filer.restart()
        assert filer.ask("look_at_upload", upload_id=UUID)["offset"] == 5
        (listed,) = filer.ask("list_uploads")["uploads"]
        assert (listed["path"], listed["offset"]) == (f"d/{ODD}", 5)
        assert self.piece(filer, 5, b"56789") == 10
        done = self.finish(filer)
        assert done["sha256"] == hashlib.sha256(b"0123456789").hexdigest()
        assert done["entry"]["mode"] == 0o640
        assert filer.names("d", hidden=True) == [ODD]
        assert filer.ask("list_uploads")["uploads"] == []
        assert refused(filer, "look_at_upload", upload_id=UUID).code == "not-there"

    def test_only_the_next_piece_is_taken(self, filer: Filer) -> None:
        self.begin(filer)
        self.piece(filer, 0, b"0123")
        for offset in (0, 3, 5):
            problem = refused(
                filer, "write_upload", upload_id=UUID, offset=offset, data_b64=b64(b"x")
            )
            assert (problem.code, problem.more["offset"]) == ("offset", 4)
        problem = refused(filer, "write_upload", upload_id=UUID, offset=4, data_b64=b64(b"x" * 7))
        assert problem.code == "too-much"
        problem = refused(filer, "finish_upload", upload_id=UUID, sha256=None)
        assert (problem.code, problem.more["offset"]) == ("offset", 4)

    def test_existing_file_is_reported_before_the_upload(self, filer: Filer) -> None:
        filer.write("new.bin", b"old").chmod(0o604)
        problem = refused(filer, "begin_upload", "new.bin", upload_id=UUID, size=1, overwrite=False)
        assert (problem.code, problem.more["replaceable"]) == ("exists", True)
        self.begin(filer, size=3, overwrite=True)
        self.piece(filer, 0, b"new")
        self.finish(filer)
        assert (filer.home / "new.bin").read_bytes() == b"new"
        assert (filer.home / "new.bin").stat().st_mode & 0o777 == 0o604
        filer.folder("folder")
        problem = refused(filer, "begin_upload", "folder", upload_id=UUID, size=1, overwrite=True)
        assert (problem.code, problem.more["replaceable"]) == ("exists", False)

    def test_what_came_in_between_is_not_replaced(self, filer: Filer) -> None:
        self.begin(filer, size=0)
        filer.write("new.bin", b"other")
        assert refused(filer, "finish_upload", upload_id=UUID, sha256=None).code == "exists"
        assert (filer.home / "new.bin").read_bytes() == b"other"
        filer.ask("drop_upload", upload_id=UUID)
        assert filer.names(hidden=True, filter="upload") == []

    def test_too_large_upload_is_refused_at_once(self, filer: Filer) -> None:
        problem = refused(filer, "begin_upload", "a", upload_id=UUID, size=1 << 49, overwrite=False)
        assert problem.code == "no-space"
        assert filer.ask("list_uploads")["uploads"] == []

    def test_a_full_disk_in_the_middle(self, filer: Filer) -> None:
        """A limit on the file size simulates a full disk."""
        self.begin(filer, size=9000)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
        try:
            filer.restart()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        problem = refused(
            filer, "write_upload", upload_id=UUID, offset=0, data_b64=b64(bytes(5000))
        )
        assert problem.code == "no-space"
        assert filer.ask("look_at_upload", upload_id=UUID)["offset"] == 2000, (
            "it goes on from there"
        )

    def test_the_checksum_is_compared(self, filer: Filer) -> None:
        self.begin(filer, size=1)
        self.piece(filer, 0, b"x")
        assert refused(filer, "finish_upload", upload_id=UUID, sha256="0" * 64).code == "checksum"
        assert self.finish(filer, hashlib.sha256(b"x").hexdigest())["done"]

    def test_a_long_checksum_is_read_in_parts(self, filer: Filer) -> None:
        data = os.urandom(600 << 10) * 20
        self.begin(filer, size=len(data))
        for at in range(0, len(data), 600 << 10):
            self.piece(filer, at, data[at : at + (600 << 10)])
        filer.restart()
        asked = 0
        while not (done := self.finish(filer, timeout_s=0.002))["done"]:
            assert 0 <= done["hashed"] < len(data)
            asked += 1
            assert asked < 1000
        assert done["sha256"] == hashlib.sha256(data).hexdigest()

    def test_two_at_once_are_kept_apart(self, filer: Filer) -> None:
        self.begin(filer)
        (part,) = [p for p in filer.home.iterdir() if "portal-upload" in p.name]
        with part.open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            problem = refused(filer, "write_upload", upload_id=UUID, offset=0, data_b64=b64(b"x"))
            assert problem.code == "busy"
        assert self.piece(filer, 0, b"x") == 1

    def test_a_part_that_is_gone_or_a_link_is_none(self, filer: Filer) -> None:
        self.begin(filer)
        (part,) = [p for p in filer.home.iterdir() if "portal-upload" in p.name]
        part.unlink()
        filer.write("victim", b"precious")
        for target in (None, "victim"):
            if target:
                filer.link(part.name, target)
            asked: dict[str, Any] = {"upload_id": UUID, "offset": 0, "data_b64": b64(b"x")}
            assert refused(filer, "write_upload", **asked).code in {"not-there", "link"}
        assert (filer.home / "victim").read_bytes() == b"precious"
        filer.ask("drop_upload", upload_id=UUID)
        assert (filer.home / "victim").exists()

    def test_a_folder_swapped_for_a_link_in_the_middle(self, filer: Filer) -> None:
        filer.folder("d")
        self.begin(filer, "d/a")
        self.piece(filer, 0, b"01234")
        (filer.home / "d").rename(filer.home / "was")
        filer.link("d", "was")
        asked: dict[str, Any] = {"upload_id": UUID, "offset": 5, "data_b64": b64(b"x")}
        assert refused(filer, "write_upload", **asked).code == "link"
        assert refused(filer, "finish_upload", upload_id=UUID, sha256=None).code == "link"

    def test_old_ones_go_and_only_ours(self, filer: Filer) -> None:
        self.begin(filer)
        self.begin(filer, "second", upload_id=OTHER)
        filer.write(".mine.portal-upload-notes")
        record = filer.home / f".local/share/portal/uploads/{UUID}.json"
        long_ago = time.time() - 1e6
        (part,) = [p for p in filer.home.iterdir() if UUID in p.name]
        os.utime(part, (long_ago, long_ago))
        record.write_text(json.dumps({**json.loads(record.read_text()), "created_at": 1.0}))
        assert filer.ask("clean_uploads", older_s=3600)["dropped"] == 1
        assert [u["id"] for u in filer.ask("list_uploads")["uploads"]] == [OTHER]
        assert len(filer.names(hidden=True, filter="portal-upload")) == 2

    def test_records_that_make_no_sense_are_forgotten(self, filer: Filer) -> None:
        self.begin(filer)
        record = filer.home / f".local/share/portal/uploads/{UUID}.json"
        for text in ("", "[]", '{"root": 1}', "\udcff"):
            record.write_text(text, errors="surrogateescape")
            assert filer.ask("list_uploads") == {"uploads": []}
            assert not record.exists()

    def test_a_record_that_cannot_be_read_now_is_kept(self, filer: Filer) -> None:
        self.begin(filer)
        self.begin(filer, "second", upload_id=OTHER)
        self.piece(filer, 0, b"01234")
        records = filer.home / ".local/share/portal/uploads"
        (records / f"{UUID}.json").chmod(0)
        for op in ("look_at_upload", "drop_upload"):
            assert refused(filer, op, upload_id=UUID).code == "denied"
        assert [u["id"] for u in filer.ask("list_uploads")["uploads"]] == [OTHER]
        assert filer.ask("clean_uploads", older_s=3600)["dropped"] == 0
        (records / f"{UUID}.json").chmod(0o600)
        assert filer.ask("look_at_upload", upload_id=UUID)["offset"] == 5

    @pytest.mark.parametrize("kind", ["link", "folder"])
    def test_a_link_or_a_folder_is_no_record(self, filer: Filer, kind: str) -> None:
        self.begin(filer)
        records = filer.home / ".local/share/portal/uploads"
        away = (records / f"{UUID}.json").rename(records / "away")
        if kind == "link":
            (records / f"{UUID}.json").symlink_to(away)
        else:
            (records / f"{UUID}.json").mkdir()
        for op in ("look_at_upload", "drop_upload"):
            assert refused(filer, op, upload_id=UUID).code == "not-there"
        assert filer.ask("list_uploads") == {"uploads": []}
        assert filer.ask("clean_uploads", older_s=0)["dropped"] == 0
        with opened(os.open(records, os.O_RDONLY)) as fd:
            assert list(records_in(fd)) == []

    def test_long_names(self, filer: Filer) -> None:
        name = "é" * 127
        self.begin(filer, name, size=0)
        self.finish(filer)
        assert stat.S_ISREG((filer.home / name).stat().st_mode)
