"""The command `python3 -m deploy.images`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deploy.images.__main__ import main
from deploy.images.definition import read
from tests.unit.deploy.images.samples import put


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
