"""Folders created, and files moved, saved, deleted and restored by the launcher."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest

from spawner.files.trash import MAX_SHOWN
from tests.needs import needs_root
from tests.unit.spawner.files.file_home import ODD, Filer, Problem, b64, deepen, refused
from tests.unit.spawner.launcher.launcher_home import GID, OTHER, UID, UUID

pytest_plugins = ["tests.unit.spawner.files.file_fixtures"]


class TestFolders:
    def test_one_is_as_open_as_elsewhere(self, filer: Filer) -> None:
        made = filer.ask("make_folder", "a", parents=False)
        assert made["entry"]["kind"] == "folder"
        assert (filer.home / "a").stat().st_mode & 0o777 == 0o750, "the site's umask, 027"
        assert (filer.home / "a").stat().st_uid == UID
        assert refused(filer, "make_folder", "a", parents=False).code == "exists"
        assert refused(filer, "make_folder", "x/y", parents=False).code == "not-there"
        filer.ask("make_folder", "x/y/z", parents=True)
        assert (filer.home / "x/y/z").is_dir()

    def test_root_itself_cannot_be_changed(self, filer: Filer) -> None:
        for op, fields in (
            ("make_folder", {"parents": False}),
            ("delete", {"permanent": True}),
            ("save", {"data_b64": "", "version": None}),
        ):
            assert refused(filer, op, "", **fields).code == "bad-name"

    def test_no_link_leads_to_a_change(self, filer: Filer) -> None:
        outside = filer.root / "outside"
        outside.mkdir()
        os.chown(outside, UID, GID)
        (outside / "file").write_text("x")
        filer.link("out", str(outside))
        to = {"to_root": str(filer.home), "to_path": "got", "overwrite": False}
        assert refused(filer, "make_folder", "out/new", parents=True).code == "link"
        assert refused(filer, "move", "out/file", **to).code == "link"
        assert refused(filer, "delete", "out/file", permanent=True).code == "link"
        problem = refused(filer, "save", "out/file", data_b64="", version="1")
        assert problem.code == "link"
        assert "“out” is a link" in problem.message
        begun = {"upload_id": UUID, "size": 1, "overwrite": False}
        assert refused(filer, "begin_upload", "out/file2", **begun).code == "link"
        assert [path.name for path in outside.iterdir()] == ["file"]


class TestMoving:
    def move(self, filer: Filer, path: str, to: str, overwrite: bool = False) -> Any:
        where = {"to_root": str(filer.home), "to_path": to, "overwrite": overwrite}
        return filer.ask("move", path, **where)["entry"]

    def test_another_name_and_another_folder(self, filer: Filer) -> None:
        filer.write("a", b"1")
        filer.folder("d")
        assert self.move(filer, "a", "d/b")["name"] == "b"
        assert (filer.home / "d/b").read_bytes() == b"1"
        self.move(filer, "d", "e")
        assert (filer.home / "e/b").exists()

    def test_nothing_is_replaced_unless_asked(self, filer: Filer) -> None:
        filer.write("a", b"1")
        filer.write("b", b"2")
        filer.folder("d")
        filer.link("l", "gone")
        for to in ("b", "d", "l"):
            with pytest.raises(Problem) as caught:
                self.move(filer, "a", to)
            assert caught.value.code == "exists"
        with pytest.raises(Problem) as caught:
            self.move(filer, "a", "d", overwrite=True)
        assert caught.value.code == "exists"
        self.move(filer, "a", "b", overwrite=True)
        assert (filer.home / "b").read_bytes() == b"1"

    def test_what_can_not_be(self, filer: Filer) -> None:
        filer.folder("d/e")
        for path, to, code in (("d", "d/e/f", "bad-name"), ("gone", "x", "not-there")):
            with pytest.raises(Problem) as caught:
                self.move(filer, path, to)
            assert caught.value.code == code
        filer.write("-rf")
        self.move(filer, "-rf", "--help")
        assert (filer.home / "--help").exists()

    @pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no second file system")
    def test_move_to_another_file_system_is_refused(self, filer: Filer) -> None:
        filer.write("a")
        other = Path(tempfile.mkdtemp(dir="/dev/shm"))
        os.chown(other, UID, GID)
        where = {"to_root": str(other), "to_path": "a", "overwrite": False}
        try:
            assert refused(filer, "move", "a", **where).code == "other-filesystem"
        finally:
            shutil.rmtree(other)


class TestSaving:
    def save(self, filer: Filer, path: str, data: bytes, version: str | None) -> Any:
        return filer.ask("save", path, data_b64=b64(data), version=version)["entry"]

    def test_a_new_file(self, filer: Filer) -> None:
        entry = self.save(filer, "a.py", b"1", None)
        assert (filer.home / "a.py").read_bytes() == b"1"
        assert entry["mode"] == 0o640
        assert refused(filer, "save", "a.py", data_b64="", version=None).code == "exists"

    def test_only_what_was_read_is_replaced(self, filer: Filer) -> None:
        file = filer.write("run.sh", b"1")
        file.chmod(0o755)
        version = filer.ask("describe", "run.sh")["entry"]["version"]
        entry = self.save(filer, "run.sh", b"22", version)
        assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"22", 0o755)
        problem = refused(filer, "save", "run.sh", data_b64="", version=version)
        assert problem.code == "changed"
        assert problem.more["version"] == entry["version"]
        file.unlink()
        assert refused(filer, "save", "run.sh", data_b64="", version=version).code == "changed"
        assert filer.names(hidden=True) == []

    def test_a_link_is_not_replaced(self, filer: Filer) -> None:
        filer.write("a")
        filer.link("l", "a")
        assert refused(filer, "save", "l", data_b64="", version="1-1-1").code == "link"


class TestDeleting:
    def delete(self, filer: Filer, path: str, trash_id: str = UUID) -> Any:
        return filer.ask("delete", path, permanent=False, trash_id=trash_id)

    def test_there_and_back(self, filer: Filer) -> None:
        filer.write("d/a", b"1")
        filer.write(ODD)
        assert self.delete(filer, "d")["id"] == UUID
        self.delete(filer, ODD, OTHER)
        assert filer.names() == []
        assert (filer.home / ".portal-trash").stat().st_mode & 0o777 == 0o700
        found = {item["id"]: item for item in filer.ask("list_trash")["items"]}
        assert (found[UUID]["path"], found[UUID]["kind"]) == ("d", "folder")
        assert found[OTHER]["path"] == ODD
        assert filer.ask("restore", trash_id=UUID)["path"] == "d"
        filer.ask("restore", trash_id=OTHER)
        assert (filer.home / "d/a").read_bytes() == b"1"
        assert filer.names() == ["d", ODD]
        assert filer.ask("list_trash") == {"items": [], "complete": True}
        assert list((filer.home / ".portal-trash").iterdir()) == []

    def test_back_never_over_what_is_there(self, filer: Filer) -> None:
        filer.write("a", b"old")
        self.delete(filer, "a")
        filer.write("a", b"new")
        assert refused(filer, "restore", trash_id=UUID).code == "exists"
        filer.ask("restore", trash_id=UUID, to_path="b")
        assert (filer.home / "b").read_bytes() == b"old"

    def test_its_folder_may_be_gone(self, filer: Filer) -> None:
        filer.write("d/a")
        self.delete(filer, "d/a")
        shutil.rmtree(filer.home / "d")
        assert refused(filer, "restore", trash_id=UUID).code == "not-there"
        assert [item["path"] for item in filer.ask("list_trash")["items"]] == ["d/a"]
        assert refused(filer, "restore", trash_id=OTHER).code == "not-there"

    def test_the_trash_is_emptied_by_age_and_name(self, filer: Filer) -> None:
        assert filer.ask("empty_trash", ids=None, older_s=0)["done"]
        filer.write("a")
        filer.write("b")
        self.delete(filer, "a")
        self.delete(filer, "b", OTHER)
        os.utime(filer.home / ".portal-trash" / OTHER, (1, 1))
        filer.ask("empty_trash", ids=None, older_s=3600)
        assert [item["id"] for item in filer.ask("list_trash")["items"]] == [UUID]
        filer.ask("empty_trash", ids=[OTHER], older_s=0)
        assert len(filer.ask("list_trash")["items"]) == 1
        filer.ask("empty_trash", ids=[UUID], older_s=0)
        assert filer.ask("list_trash")["items"] == []

    @needs_root("it gives a folder away")
    def test_an_item_that_cannot_be_deleted_does_not_keep_the_others(self, filer: Filer) -> None:
        filer.write("d/a")
        self.delete(filer, "d")
        for number in range(8):
            filer.write("a")
            self.delete(filer, "a", f"{number:08x}-0000-4000-8000-000000000000")
        os.chown(filer.home / ".portal-trash" / UUID / "item", 0, 0)
        assert refused(filer, "empty_trash", ids=None, older_s=0).code == "denied"
        assert [path.name for path in (filer.home / ".portal-trash").iterdir()] == [UUID]

    def test_of_one_path_what_was_deleted_long_before_is_found(self, filer: Filer) -> None:
        filer.write("a")
        self.delete(filer, "a")
        os.utime(filer.home / ".portal-trash" / UUID, (1, 1))
        for number in range(MAX_SHOWN):
            own = filer.folder(f".portal-trash/{number:08x}-0000-4000-8000-000000000000")
            filer.write(f"{own.relative_to(filer.home)}/item")
            filer.write(f"{own.relative_to(filer.home)}/about.json", b'{"path": "b"}')
        found = filer.ask("list_trash")
        assert (found["complete"], UUID in {item["id"] for item in found["items"]}) == (
            False,
            False,
        )
        found = filer.ask("list_trash", of="a")
        assert ([item["id"] for item in found["items"]], found["complete"]) == ([UUID], True)
        assert filer.ask("list_trash", of="c") == {"items": [], "complete": True}

    @needs_root("it gives a folder away")
    def test_a_root_of_several_has_a_trash_for_each(self, filer: Filer) -> None:
        filer.write("a")
        os.chown(filer.home, 0, 0)
        filer.home.chmod(0o777)
        self.delete(filer, "a")
        assert (filer.home / f".portal-trash-{UID}" / UUID / "item").exists()

    def test_linked_or_foreign_trash_is_not_used(self, filer: Filer) -> None:
        filer.write("a")
        filer.folder("elsewhere")
        filer.link(".portal-trash", "elsewhere")
        assert refused(filer, "delete", "a", permanent=False, trash_id=UUID).code == "no-trash"
        assert list((filer.home / "elsewhere").iterdir()) == []
        assert (filer.home / "a").exists()

    def test_what_is_in_the_trash_goes_by_emptying(self, filer: Filer) -> None:
        filer.write("a")
        self.delete(filer, "a")
        code = refused(filer, "delete", ".portal-trash", permanent=False, trash_id=OTHER).code
        assert code == "no-trash"

    @needs_root("it gives a folder away")
    def test_without_rights_nothing_goes(self, filer: Filer) -> None:
        filer.write("d/a")
        os.chown(filer.home / "d", 0, 0)
        for permanent in (False, True):
            problem = refused(filer, "delete", "d/a", permanent=permanent, trash_id=UUID)
            assert problem.code == "denied"
        assert filer.ask("list_trash")["items"] == []
        assert (filer.home / "d/a").exists()


class TestDeletingForGood:
    def test_links_go_and_not_what_they_lead_to(self, filer: Filer) -> None:
        filer.write("kept/a")
        filer.folder("d/e")
        filer.link("d/out", "../kept")
        filer.link("d/e/out", "../../kept")
        assert filer.ask("delete", "d", permanent=True)["done"]
        assert filer.names() == ["kept"]
        filer.link("l", "kept")
        filer.ask("delete", "l", permanent=True)
        assert (filer.home / "kept/a").exists()

    def test_thousands_of_folders_in_each_other(self, filer: Filer) -> None:
        deepen(filer.home, 3_000)  # neither a path nor the stack holds as many
        assert filer.ask("delete", "d", permanent=False, trash_id=UUID)["done"]
        while not filer.ask("empty_trash", ids=None, older_s=0)["done"]:
            pass  # in as many requests as a busy machine needs
        assert list((filer.home / ".portal-trash").iterdir()) == []

    def test_wide_ones_and_closed_ones(self, filer: Filer) -> None:
        for number in range(250):
            filer.folder(f"d/{number}/x")
        filer.write("d/locked/a")
        (filer.home / "d/locked").chmod(0)
        assert filer.ask("delete", "d", permanent=True)["done"]
        assert filer.names() == []

    def test_in_as_many_requests_as_it_takes(self, filer: Filer) -> None:
        for number in range(10):
            filer.write(f"d/{number}/a")
        tries = 0
        while not filer.ask("delete", "d", permanent=True, timeout_s=1e-9)["done"]:
            tries += 1
            assert tries < 100
        assert tries > 5
        assert filer.names() == []


def test_nonsense_is_answered_and_survived(filer: Filer) -> None:
    for op in ("move", "save", "delete", "restore", "begin_upload", "write_upload", "space"):
        for root in (5, "relative", "/\0", "/nowhere/at/all"):
            with pytest.raises(Problem):
                filer.ask(op, "a", **{"root": root} if root else {})
    assert filer.names() == []
