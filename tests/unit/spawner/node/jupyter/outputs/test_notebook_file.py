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
    add_ids,
    check,
    hash_of,
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
    made = {"id": f"run-{cell}", "cell": cell, "code": "print(1)", "count": 7, "outputs": outputs}
    return {**made, "unsaved": unsaved, **over}


def is_unchanged(cell: dict[str, Any]) -> bool:
    return bool(cell["outputs"] == ["old"] and cell["execution_count"] == 1)


def sources(book: dict[str, Any]) -> list[str]:
    return [cell["source"] for cell in book["cells"]]


@pytest.mark.parametrize("source", ["print(1)", "edited and saved since", ""])
def test_cell_with_the_id_gets_the_outputs_and_keeps_its_code(source: str) -> None:
    book = notebook(cell("b"), cell("a", source))
    assert set_outputs(book, [update()]) == {"run-a": "a"}
    assert is_unchanged(book["cells"][0])
    assert book["cells"][1]["outputs"] == update()["outputs"]
    assert book["cells"][1]["execution_count"] == 7
    assert book["cells"][1]["source"] == source


@pytest.mark.parametrize("source", ["", "prin", ["print", "(1)"]])
def test_cell_that_was_saved_half_typed_gets_the_code_that_ran(source: Any) -> None:
    book = notebook(cell("a", source))
    assert set_outputs(book, [update(unsaved=True)]) == {"run-a": "a"}
    assert "".join(book["cells"][0]["source"]) == "print(1)"


@pytest.mark.parametrize("other", [cell("a", "other code"), cell("a", "print(1)", "markdown")])
def test_code_that_ran_replaces_no_other_code(other: dict[str, Any]) -> None:
    book = notebook(copy.deepcopy(other), cell("b"))
    added = set_outputs(book, [update(unsaved=True)])["run-a"]
    assert book["cells"][0] == other
    assert (book["cells"][1]["id"], book["cells"][1]["source"]) == (added, "print(1)")
    assert added not in {"a", "b"}
    assert len(book["cells"]) == 3


@pytest.mark.parametrize("cells", [[cell("a", kind="markdown")], [cell("b")], []])
def test_cell_that_was_deleted_or_converted_stays_so(cells: list[dict[str, Any]]) -> None:
    book = notebook(*cells)
    before = copy.deepcopy(book)
    assert set_outputs(book, [update()]) == {}
    assert book == before


def test_first_of_two_cells_with_the_id_gets_the_outputs() -> None:
    book = notebook(cell("a"), cell("a"))
    set_outputs(book, [update()])
    assert [is_unchanged(one) for one in book["cells"]] == [False, True]


def test_code_that_was_not_kept_changes_no_code() -> None:
    book = notebook(cell("a", "x = 1"))
    updates = [update(code="", unsaved=True), update("b", code="", unsaved=True)]
    assert set_outputs(book, updates) == {"run-a": "a"}
    assert sources(book) == ["x = 1"]


def test_cell_that_was_never_saved_is_added_at_the_end() -> None:
    book = notebook(cell("b"))
    assert set_outputs(book, [update(unsaved=True)]) == {"run-a": "a"}
    assert book["cells"][1] == {
        "cell_type": "code",
        "id": "a",
        "metadata": {},
        "source": "print(1)",
        "execution_count": 7,
        "outputs": update()["outputs"],
    }


def test_cells_of_an_earlier_format_get_the_same_ids_each_time() -> None:
    books = [notebook(cell(None), cell(None, source), minor=4) for source in ("p", ["p"])]
    for book in books:
        add_ids(book)
    first, second = ([one["id"] for one in book["cells"]] for book in books)
    assert first == second
    assert len(set(first)) == 2
    assert [book["nbformat_minor"] for book in books] == [5, 5]


def test_notebook_of_an_earlier_format_gets_outputs_by_these_ids() -> None:
    book, shown = (notebook(cell(None), cell(None), minor=4) for _ in range(2))
    add_ids(shown)
    set_outputs(book, [update(shown["cells"][1]["id"])])
    assert [is_unchanged(one) for one in book["cells"]] == [True, False]


@pytest.mark.parametrize("book", [notebook(cell("a")), {**notebook(cell(None)), "nbformat": 3}])
def test_ids_are_added_to_earlier_versions_of_format_4_only(book: dict[str, Any]) -> None:
    before = copy.deepcopy(book)
    add_ids(book)
    assert book == before


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


@pytest.mark.parametrize(
    "content",
    [[], {}, {"nbformat": 3}, {"nbformat": 4, "cells": {}}, {"nbformat": 4, "cells": [1]}],
)
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
    digest = replace(file, {"b": 1, "a": "é"}, before)
    with file.open("rb") as content:
        assert digest == hash_of(content)
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
