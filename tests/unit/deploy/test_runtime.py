"""What the nodes run: its folder, and the Python of the present one."""

from __future__ import annotations

from pathlib import Path

from deploy import runtime


def make_present(tmp_path: Path, python: str) -> Path:
    folder = tmp_path / "runtime-a/bin"
    folder.mkdir(parents=True)
    (folder / "python3.11").symlink_to(python)
    (folder / "python3").symlink_to("python3.11")
    (tmp_path / "runtime").symlink_to("runtime-a")
    return tmp_path / "runtime"


def test_the_python_of_the_present_runtime_is_used_again(tmp_path: Path) -> None:
    assert runtime.find_python(make_present(tmp_path, "/opt/python/bin/python3.11")) == (
        "/opt/python/bin/python3.11"
    )
    assert runtime.find_python(tmp_path / "none") == runtime.PYTHON


def test_a_runtime_is_prepared_without_changing_the_link(tmp_path: Path) -> None:
    link = make_present(tmp_path, "/usr/bin/python3")
    target = runtime.locate(link, runtime.PYTHON)
    target.mkdir()
    (target / ".complete").touch()
    assert runtime.prepare(link, runtime.PYTHON) == target
    assert link.readlink() == Path("runtime-a")
