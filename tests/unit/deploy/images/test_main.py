"""The command `python3 -m deploy.images`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from deploy.images import __main__ as command
from deploy.images.__main__ import main
from deploy.images.definition import Definition, read
from tests.unit.deploy.images.samples import TOML, put


def test_a_missing_program_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["build", "--out", str(tmp_path / "out")]) == 1
    assert "mmdebstrap" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_list_shows_which_images_are_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path)
    arguments = ["list", "--definitions", str(tmp_path), "--out", str(tmp_path)]
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith("mine\tmissing\tmine-")
    (tmp_path / read(tmp_path / "mine.toml").file_name).write_text("")
    main(arguments)
    assert capsys.readouterr().out.startswith("mine\tbuilt\t")


@pytest.mark.parametrize(
    ("names", "expected"),
    [([], ["mine"]), (["large"], ["large"]), (["large", "--all"], ["mine"])],
)
def test_some_images_are_built_only_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str], expected: list[str]
) -> None:
    put(tmp_path, "only_by_name = true\n" + TOML).rename(tmp_path / "large.toml")
    put(tmp_path)
    built: list[str] = []

    def record(definitions: Sequence[Definition], out: Path, jobs: int) -> list[str]:
        built.extend(definition.name for definition in definitions)
        return []

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(command, "_NEEDED", ())
    monkeypatch.setattr(command, "build", record)
    where = ["--definitions", str(tmp_path), "--out", str(tmp_path / "out")]
    assert main(["build", *names, *where]) == 0
    assert built == expected
