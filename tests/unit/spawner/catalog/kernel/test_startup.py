"""`%tensorboard` in a kernel: the startup file that IPython runs, in a recording shell."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from spawner.node.session import KERNEL_STARTUP

MIME = "application/vnd.data-scientist-portal.tensorboard+json"


class ExtensionManager:
    """A fake of IPython's: an extension that is not installed cannot be loaded."""

    def load_extension(self, module: str) -> str | None:
        raise ModuleNotFoundError(module)

    def reload_extension(self, module: str) -> str | None:
        raise ModuleNotFoundError(module)


class Shell:
    """The part of IPython's shell that the file uses."""

    def __init__(self) -> None:
        self.extension_manager = ExtensionManager()
        self.magics: dict[str, Callable[[str], None]] = {}

    def register_magic_function(self, magic: Callable[[str], None], kind: str, name: str) -> None:
        assert kind == "line"
        self.magics[name] = magic


@pytest.fixture(autouse=True)
def imports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove what the file adds to the interpreter's imports after a test."""
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a TensorBoard whose functions must not be called."""
    package = tmp_path / "packages/tensorboard"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    functions = [f"def {name}(*_): raise OSError\n" for name in ("start", "display", "list")]
    (package / "notebook.py").write_text("".join([*functions, "kept = 1\n"]))
    monkeypatch.syspath_prepend(str(package.parent))
    names = ("tensorboard", "tensorboard.notebook")
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Collect the output displayed by cells."""
    shown: list[dict[str, Any]] = []
    module = ModuleType("IPython.display")

    def display(data: dict[str, Any], *, raw: bool) -> None:
        assert raw
        shown.append(data)

    module.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return shown


def start(shell: Shell | None) -> set[str]:
    """Run the file as a kernel does; return the names that it adds to the user's namespace."""
    names: dict[str, Any] = {"get_ipython": lambda: shell} if shell else {}
    exec(compile(KERNEL_STARTUP.read_bytes(), "startup.py", "exec"), names)  # noqa: S102
    return names.keys() - {"__builtins__", "get_ipython"}


def test_the_magic_displays_the_folder_and_no_address(
    displayed: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/alice")
    shell = Shell()
    assert start(shell) == set()
    for line in ("", "--logdir runs/a", "--logdir='~/b c' --port 6006"):
        shell.magics["tensorboard"](line)
    folders = [data[MIME]["logdir"] for data in displayed]
    assert folders == [None, f"{tmp_path}/runs/a", "/home/alice/b c"]
    times = [data[MIME]["asked"] for data in displayed]
    assert times == sorted(times)
    assert displayed[1]["text/plain"] == f"TensorBoard of this session: {tmp_path}/runs/a"
    assert {key for data in displayed for key in data[MIME]} == {"logdir", "asked"}


def test_options_without_effect_are_named(
    displayed: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    shell = Shell()
    start(shell)
    shell.magics["tensorboard"]("--port 6006")
    assert "no such options: --port 6006" in capsys.readouterr().out
    shell.magics["tensorboard"]("--logdir 'unclosed")
    assert capsys.readouterr().out == "Usage: %tensorboard [--logdir FOLDER]\n"
    assert len(displayed) == 1


def test_tensorboards_extension_keeps_the_magic_and_needs_no_package() -> None:
    shell = Shell()
    start(shell)
    magic = shell.magics["tensorboard"]
    assert shell.extension_manager.load_extension("tensorboard") is None
    assert shell.extension_manager.reload_extension("tensorboard.notebook") is None
    assert shell.magics["tensorboard"] is magic
    with pytest.raises(ModuleNotFoundError):
        shell.extension_manager.load_extension("another")


@pytest.mark.usefixtures("notebook")
def test_the_python_functions_display_the_sessions_tensorboard(
    displayed: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    start(Shell())
    board = importlib.import_module("tensorboard.notebook")
    board.start("--logdir /data/runs --port 6006")
    assert "no such options: --port 6006" in capsys.readouterr().out
    board.display(port=6006, height=800)
    board.list()
    assert [data[MIME]["logdir"] for data in displayed] == ["/data/runs", None]
    assert "one TensorBoard" in capsys.readouterr().out
    assert board.kept == 1
    assert importlib.reload(board).start.__name__ == "tensorboard"


def test_other_imports_and_a_missing_tensorboard_are_left_alone(tmp_path: Path) -> None:
    start(Shell())
    finder = sys.meta_path[0]
    assert finder.find_spec("json", None) is None
    assert finder.find_spec("tensorboard.notebook", [str(tmp_path)]) is None


def test_outside_of_a_kernel_it_does_nothing() -> None:
    assert start(None) == set()
