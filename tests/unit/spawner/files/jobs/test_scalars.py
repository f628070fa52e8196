"""The bounds of the search for event files; their content is tested with the jobs that write it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from spawner.files.jobs import scalars


@pytest.fixture
def later() -> float:
    return time.monotonic() + 3600


def test_newest_event_files_come_last(tmp_path: Path, later: float) -> None:
    for number in range(scalars.MAX_EVENT_FILES + 2):
        file = tmp_path / f"run-{number % 3}" / f"events.out.tfevents.{number}"
        file.parent.mkdir(exist_ok=True)
        file.touch()
        os.utime(file, (number, number))
    found = scalars.event_files(str(tmp_path), later)
    assert [int(path.rpartition(".")[2]) for path in found] == list(range(2, 18))


def test_depth_is_bounded(tmp_path: Path, later: float) -> None:
    folder = tmp_path
    for _ in range(scalars.MAX_DEPTH + 1):
        (folder / "tfevents").touch()
        folder = folder / "in"
        folder.mkdir()
    (folder / "tfevents").touch()
    assert len(scalars.event_files(str(tmp_path), later)) == scalars.MAX_DEPTH + 1


def test_entries_of_all_folders_are_bounded(
    tmp_path: Path, later: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scalars, "MAX_ENTRIES", 5)
    for number in range(8):
        (tmp_path / f"{number}.tfevents").touch()
    assert len(scalars.event_files(str(tmp_path), later)) == 5


def test_no_folder_is_read_after_the_deadline(tmp_path: Path) -> None:
    (tmp_path / "tfevents").touch()
    assert scalars.event_files(str(tmp_path), time.monotonic() - 1) == []
