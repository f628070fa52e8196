"""Part files of downloads: private, and nothing that others have put in their place."""

import os
import stat
from pathlib import Path

import pytest

from client.errors import UsageProblem
from client.files.transfer import find_part_size, open_part


def test_open_part_creates_a_file_for_its_owner_only(tmp_path: Path) -> None:
    part = tmp_path / "part"
    with open_part(part) as file:
        file.write(b"abc")
    assert stat.S_IMODE(part.stat().st_mode) == 0o600
    assert find_part_size(part) == 3


def test_open_part_follows_no_link(tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic link"):
        open_part(part)
    assert not (tmp_path / "other").exists()


def test_open_part_refuses_a_pipe(tmp_path: Path) -> None:
    part = tmp_path / "part"
    os.mkfifo(part)
    for use in (open_part, find_part_size):
        with pytest.raises(UsageProblem, match="not a part of this download"):
            use(part)


def test_open_part_refuses_a_file_of_another_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = tmp_path / "part"
    part.touch()
    monkeypatch.setattr(os, "geteuid", lambda: part.stat().st_uid + 1)
    with pytest.raises(UsageProblem, match="not a part of this download"):
        open_part(part)
