"""Removal of a package by its RECORD file."""

from __future__ import annotations

import pytest

from tests.unit.spawner.files.file_home import Filer, Problem

pytest_plugins = ["tests.unit.spawner.files.file_fixtures"]


def test_malformed_record_is_a_problem_and_the_program_goes_on(filer: Filer) -> None:
    filer.write("site/x-1.0.dist-info/RECORD", b"x" * 200_000)
    with pytest.raises(Problem) as problem:
        filer.ask("remove_package", "site", name="x", above=0)
    assert problem.value.code == "failed"
    assert filer.names("site") == ["x-1.0.dist-info"]
