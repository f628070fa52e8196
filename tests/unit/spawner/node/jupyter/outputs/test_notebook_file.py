"""Outputs in a notebook's file: which cells get them, and what is left alone."""

from __future__ import annotations

import copy
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from spawner.node.jupyter.outputs.notebook_file import (
    NotANotebook,
    check,
    replace,
    set_outputs,
)


def cell(name: str | None, source: Any = "print(1)", kind: str = "code") -> dict[str, Any]:
    made = {"cell_type": kind, "source": source, "outputs": ["old"], "execution_count": 1}
    return made if name is None else {**made, "id": name}


def notebook(*cells: dict[str, Any], minor: int = 5) -> dict[str, Any]:
    return {"nbformat": 4, "nbformat_minor": minor, "metadata": {}, "cells": list(cells)}


def update(cell: str = "a", *, unsaved: bool = False, **over: Any) -> dict[str, Any]:
    outputs = [{"output_type": "stream", "name": "stdout", "text": "new"}]
    made = {"cell": cell, "source": "print(1)", "count": 7, "outputs": outputs, "unsaved": unsaved}
    return {"code": over.get("source", made["source"]), **made, **over}


def is_unchanged(cell: dict[str, Any]) -> bool:
    return bool(cell["outputs"] == ["old"] and cell["execution_count"] == 1)


def test_cell_that_was_saved_half_typed_gets_the_code_that_ran() -> None:
    book = notebook(cell("a", "prin"))
    ran = {"source": "prin", "code": "print(1)"}
    assert set_outputs(book, [update(unsaved=True, **ran)]) == ["a"]
    assert book["cells"][0]["source"] == "print(1)"


def test_cell_that_was_edited_and_saved_since_keeps_its_code() -> None:
    book = notebook(cell("a", "edited"))
    ran = {"source": "edited", "code": "print(1)"}
    assert set_outputs(book, [update(**ran)]) == ["a"]
    assert book["cells"][0]["source"] == "edited"


def test_cell_with_the_id_gets_the_outputs() -> None:
    book = notebook(cell("b"), cell("a", "changed since"))
    assert set_outputs(book, [update(source="changed since")]) == ["a"]
    assert is_unchanged(book["cells"][0])
    assert book["cells"][1]["outputs"] == update()["outputs"]
    assert book["cells"][1]["execution_count"] == 7
    assert book["cells"][1]["source"] == "changed since"


@pytest.mark.parametrize("unsaved", [True, False])
@pytest.mark.parametrize(
    "cells",
    [
        [cell("a", "changed elsewhere")],
        [cell("a", kind="markdown")],
        [cell("a"), cell("a")],
    ],
)
def test_uncertain_cell_is_left_alone(cells: list[dict[str, Any]], unsaved: bool) -> None:
    book = notebook(*cells)
    before = copy.deepcopy(book)
    assert set_outputs(book, [update(unsaved=unsaved)]) == []
    assert book == before


@pytest.mark.parametrize("source", ["", "x = 1"])
def test_code_that_was_not_kept_changes_nothing(source: str) -> None:
    book, old = notebook(cell("a", source)), notebook(cell(None, source), minor=4)
    for one in (book, old):
        assert set_outputs(one, [update(source="", unsaved=True)]) == []
        assert [each["source"] for each in one["cells"]] == [source]
        assert is_unchanged(one["cells"][0])


@pytest.mark.parametrize("source", ["print(1)", ["print", "(1)"]])
def test_cell_of_an_old_notebook_is_found_by_its_code(source: Any) -> None:
    book = notebook(cell(None, "other"), cell(None, source), minor=4)
    assert set_outputs(book, [update(unsaved=True)]) == ["a"]
    assert [is_unchanged(one) for one in book["cells"]] == [True, False]


@pytest.mark.parametrize("sources", [["print(1)", "print(1)"], ["other"]])
def test_old_notebook_without_the_only_cell_is_left_alone(sources: list[str]) -> None:
    book = notebook(*(cell(None, source) for source in sources), minor=4)
    assert set_outputs(book, [update(unsaved=True)]) == []
    assert [is_unchanged(one) for one in book["cells"]] == [True] * len(sources)


def test_empty_cell_that_was_not_saved_since_it_was_run_gets_its_code() -> None:
    book = notebook(cell("a", ""))
    assert set_outputs(book, [update(unsaved=True)]) == ["a"]
    assert book["cells"][0]["source"] == "print(1)"


def test_deleted_cell_stays_deleted() -> None:
    book = notebook(cell("b"))
    assert set_outputs(book, [update()]) == []
    assert len(book["cells"]) == 1


def test_cell_that_was_never_saved_is_added_at_the_end() -> None:
    book = notebook(cell("b"))
    assert set_outputs(book, [update(unsaved=True)]) == ["a"]
    assert book["cells"][1] == {
        "cell_type": "code",
        "id": "a",
        "metadata": {},
        "source": "print(1)",
        "execution_count": 7,
        "outputs": update()["outputs"],
    }


def test_result_without_a_number_gets_the_cell_s() -> None:
    book = notebook(cell("a"))
    result: dict[str, Any] = {
        "output_type": "execute_result",
        "data": {},
        "metadata": {},
        "execution_count": None,
    }
    set_outputs(book, [update(outputs=[result])])
    assert book["cells"][0]["outputs"][0]["execution_count"] == 7


@pytest.mark.parametrize("content", [[], {}, {"nbformat": 3}, {"nbformat": 4, "cells": {}}])
def test_other_files_are_refused(content: Any) -> None:
    with pytest.raises(NotANotebook, match="not a notebook"):
        check(content)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "a.ipynb"
    made.write_text("old content of the file\n")
    made.chmod(0o640)
    return made


def test_file_is_replaced_in_one_step(file: Path) -> None:
    before = file.stat()
    replace(file, {"b": 1, "a": "é"}, before)
    assert file.read_text() == '{\n "a": "é",\n "b": 1\n}\n'
    assert file.stat().st_mode & 0o777 == 0o640
    assert file.stat().st_ino != before.st_ino
    with pytest.raises(TypeError):
        replace(file, {"a": object()}, file.stat())
    assert file.read_text().endswith("}\n")
    assert [path.name for path in file.parent.iterdir()] == ["a.ipynb"]


def test_read_only_file_is_left_alone(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everything
    with pytest.raises(PermissionError, match="read-only"):
        replace(file, {}, file.stat())
    assert [path.read_text() for path in file.parent.iterdir()] == ["old content of the file\n"]


def test_file_changed_by_another_program_is_left_alone(file: Path) -> None:
    before = file.stat()
    file.write_text("changed since")
    with pytest.raises(OSError, match="changed by another program"):
        replace(file, {}, before)
    assert [path.read_text() for path in file.parent.iterdir()] == ["changed since"]


def test_file_with_two_links_keeps_both(file: Path) -> None:
    link = file.parent / "link.ipynb"
    link.hardlink_to(file)
    replace(file, {}, file.stat())
    assert [link.read_text(), link.stat().st_ino] == ["{}\n", file.stat().st_ino]
    assert {path.name for path in file.parent.iterdir()} == {"a.ipynb", "link.ipynb"}


def test_file_that_could_not_be_overwritten_leaves_a_complete_copy(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError("no space left")

    (file.parent / "link.ipynb").hardlink_to(file)
    monkeypatch.setattr(shutil, "copyfileobj", fail)
    with pytest.raises(OSError, match="no space left; the complete notebook is in"):
        replace(file, {"a": 1}, file.stat())
    (copy,) = file.parent.glob(".~*")
    assert copy.read_text() == '{\n "a": 1\n}\n'


@pytest.mark.parametrize("function", ["geteuid", "getegid"])
def test_file_of_another_user_or_group_keeps_its_owner(
    file: Path, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = file.stat()
    monkeypatch.setattr(os, function, lambda: 54321)
    replace(file, {}, before)
    assert (file.read_text(), file.stat().st_ino) == ("{}\n", before.st_ino)
