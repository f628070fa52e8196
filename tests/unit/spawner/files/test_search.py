"""Files found by name, within limits, whatever their names are."""

from __future__ import annotations

import os
import time
from collections import deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from spawner.files import search
from spawner.files.search import MAX_FOUND, MAX_LEVELS
from tests.needs import needs_root
from tests.unit.spawner.files.file_home import ODD, Filer, deepen, refused

pytest_plugins = ["tests.unit.spawner.files.file_fixtures"]

NOTHING: dict[str, Any] = {"found": [], "stopped": None, "unreadable": 0}


def found(filer: Filer, text: str, path: str = "") -> list[tuple[str, str]]:
    answer = filer.ask("search", path, text=text)
    assert (answer["stopped"], answer["unreadable"]) == (None, 0)
    return [(item["path"], item["kind"]) for item in answer["found"]]


def test_search_finds_names_with_all_words_nearest_first(filer: Filer) -> None:
    filer.write("deep/er/Train-Data.csv")
    filer.write("deep/training data.txt")
    filer.write("deep/train.py")
    filer.folder("data_train")
    assert found(filer, "DATA train") == [
        ("data_train", "folder"),
        ("deep/training data.txt", "file"),
        ("deep/er/Train-Data.csv", "file"),
    ]
    assert found(filer, "train", "deep/er") == [("Train-Data.csv", "file")]
    assert filer.ask("search", text="no such thing") == NOTHING


def test_search_follows_no_link_and_skips_hidden_entries(filer: Filer) -> None:
    filer.write("real/model.pt")
    filer.write(".cache/model.pt")
    filer.link("model-link", "real")
    filer.link("real/loop", "..")
    filer.link("outside", "/etc")
    assert found(filer, "model") == [("model-link", "link"), ("real/model.pt", "file")]
    assert found(filer, "passwd") == []


def test_search_returns_any_name_as_it_is(filer: Filer) -> None:
    names = ["x <img src=x onerror=alert(1)>", "x\n\x1b[31m", "x \u202egpj.exe", f"x {ODD}"]
    for name in names:
        filer.write(name)
    os.mkfifo(filer.home / "x fifo")
    answer = filer.ask("search", text="x")
    paths = {
        os.fsdecode(item["path"].encode("utf-8", "surrogateescape")) for item in answer["found"]
    }
    assert paths == {*names, "x fifo"}
    assert {"path": "x fifo", "kind": "other"} in answer["found"]


def test_search_stops_at_the_number_of_matches(filer: Filer) -> None:
    for number in range(MAX_FOUND + 5):
        (filer.home / f"f{number}").touch()
    answer = filer.ask("search", text="f")
    assert len(answer["found"]) == MAX_FOUND
    assert answer["stopped"] == "found"


def test_search_ends_in_very_deep_folders(filer: Filer) -> None:
    deepen(filer.home, MAX_LEVELS + 200)
    assert found(filer, "bottom") == []


@needs_root("the launcher of a test runs as its user only then")
def test_search_counts_unreadable_folders(filer: Filer) -> None:
    filer.write("open/note.txt")
    filer.folder("shut").chmod(0)
    answer = filer.ask("search", text="note")
    assert [item["path"] for item in answer["found"]] == ["open/note.txt"]
    assert answer["unreadable"] == 1
    assert refused(filer, "search", "shut", text="note").code == "denied"


def test_search_needs_a_folder_and_words(filer: Filer) -> None:
    filer.write("file")
    assert refused(filer, "search", "gone", text="a").code == "not-there"
    assert refused(filer, "search", "file", text="a").code == "no-folder"
    assert refused(filer, "search", "../..", text="a").code == "bad-name"
    for text in ("", "  ", " ".join("abcdefghijkl"), 5):
        assert refused(filer, "search", text=text).type == "BadRequest"


def run(home: Path, timeout_s: float = 30.0) -> Any:
    request = {"root": str(home), "path": "", "text": "x", "timeout_s": timeout_s}
    return search.search(SimpleNamespace(), request)  # type: ignore[arg-type]


def test_search_stops_at_the_number_of_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MAX_SCANNED", 10)
    for number in range(20):
        (tmp_path / f"f{number}").touch()
    assert run(tmp_path)["stopped"] == "entries"


def test_search_bounds_the_folders_that_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MAX_FOLDERS", 3)
    for number in range(10):
        (tmp_path / f"d{number}").mkdir()
    assert run(tmp_path)["stopped"] == "entries"


def test_search_stops_in_time(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    late = search.Search(("x",), time.monotonic() - 1, folders=deque([""]))
    folder = os.open(tmp_path, os.O_RDONLY)
    search.scan_folder(late, folder, "")
    os.close(folder)
    assert (late.stopped, late.found) == ("time", [])
