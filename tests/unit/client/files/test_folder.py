"""The working folder: which files are uploaded, and the message above the limit."""

from pathlib import Path

import pytest

from client.errors import ExitCode, RefusedByPortal, UsageProblem
from client.files.folder import LocalFile, check_limits, collect_folder

LIMIT = 1 << 20


def write(folder: Path, *names: str, size: int = 1) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)


def names(folder: Path, **changes: int) -> list[str]:
    return [file.name for file in collect_folder(folder, **{"max_bytes": LIMIT, **changes})]


def test_collect_folder_leaves_out_what_the_rules_exclude(tmp_path: Path) -> None:
    write(tmp_path, "train.py", "lib/util.py", "data/big.csv", ".git/config", "a/__pycache__/x.pyc")
    (tmp_path / ".dspignore").write_text("data/\n")
    assert names(tmp_path) == ["lib/util.py", "train.py"]


def test_collect_folder_follows_links_to_files_only(tmp_path: Path) -> None:
    write(tmp_path, "outside/secret/x.txt", "project/train.py")
    project = tmp_path / "project"
    (project / "linked.py").symlink_to(project / "train.py")
    (project / "folder").symlink_to(tmp_path / "outside")
    (project / "circle").symlink_to(project)
    (project / "broken").symlink_to(tmp_path / "missing")
    assert names(project) == ["linked.py", "train.py"]


def test_an_unreadable_ignore_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ".dspignore").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageProblem, match="dspignore"):
        collect_folder(tmp_path, LIMIT)


def test_a_folder_above_the_limit_lists_its_largest_files(tmp_path: Path) -> None:
    write(tmp_path, "train.py")
    write(tmp_path, "model.bin", size=3 << 20)
    write(tmp_path, "data.csv", size=2 << 20)
    with pytest.raises(RefusedByPortal) as raised:
        collect_folder(tmp_path, LIMIT)
    assert raised.value.detail == "The folder has 5.0 MiB; the limit is 1.0 MiB."
    lines = raised.value.suggestion.splitlines()
    assert lines[1:3] == ["     3.0 MiB  model.bin", "     2.0 MiB  data.csv"]
    assert ".dspignore" in lines[-1]
    assert raised.value.code is ExitCode.REFUSED


def test_too_many_files_are_refused() -> None:
    files = [LocalFile(Path(str(n)), str(n), 1) for n in range(3)]
    check_limits(files, LIMIT, 3)
    with pytest.raises(RefusedByPortal, match="3 files; the limit is 2"):
        check_limits(files, LIMIT, 2)


def test_names_in_the_message_are_harmless() -> None:
    with pytest.raises(RefusedByPortal) as raised:
        check_limits([LocalFile(Path("x"), "a\x1b[2J\nb", 2)], 1, 9)
    assert "\x1b" not in raised.value.suggestion
    assert "a\\x1b[2J\\nb" in raised.value.suggestion
