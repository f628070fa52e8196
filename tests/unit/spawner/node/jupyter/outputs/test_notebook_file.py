"""Outputs in a notebook's file: which cells get them, and what is left alone."""

from __future__ import annotations

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
    made = {"cell": cell, "code": "print(1)", "count": 7, "outputs": outputs, "unsaved": unsaved}
    return {**made, **over}


def test_cell_with_the_id_gets_the_outputs() -> None:
    book = notebook(cell("b"), cell("a", "changed since"), cell("a", kind="markdown"))
    assert set_outputs(book, [update()]) == ["a"]
    assert book["cells"][0]["outputs"] == ["old"]
    assert book["cells"][1]["outputs"] == update()["outputs"]
    assert book["cells"][1]["execution_count"] == 7
    assert book["cells"][1]["source"] == "changed since"
    assert book["cells"][2]["outputs"] == ["old"]


@pytest.mark.parametrize("source", ["print(1)", ["print", "(1)"]])
def test_cell_of_an_old_notebook_is_found_by_its_code(source: Any) -> None:
    book = notebook(cell(None, "other"), cell(None, source), cell(None, source), minor=4)
    assert set_outputs(book, [update()]) == ["a"]
    assert [one["outputs"] == ["old"] for one in book["cells"]] == [True, False, True]


def test_cell_that_was_not_saved_since_it_was_run_gets_its_code() -> None:
    book = notebook(cell("a", ""))
    set_outputs(book, [update(unsaved=True)])
    assert book["cells"][0]["source"] == "print(1)"


def test_deleted_cell_stays_deleted() -> None:
    book = notebook(cell("b"))
    assert set_outputs(book, [update()]) == []
    assert len(book["cells"]) == 1


def test_cell_that_was_never_saved_is_added_at_the_end() -> None:
    book, old = notebook(cell("b")), notebook(cell(None, "other"), minor=4)
    assert set_outputs(book, [update(unsaved=True)]) == ["a"]
    assert book["cells"][1] == {
        "cell_type": "code",
        "id": "a",
        "metadata": {},
        "source": "print(1)",
        "execution_count": 7,
        "outputs": update()["outputs"],
    }
    set_outputs(old, [update(unsaved=True)])
    assert "id" not in old["cells"][1]


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


def test_file_is_replaced_in_one_step(tmp_path: Any) -> None:
    file = tmp_path / "a.ipynb"
    file.write_text("old")
    file.chmod(0o640)
    replace(file, {"b": 1, "a": "é"})
    assert file.read_text() == '{\n "a": "é",\n "b": 1\n}\n'
    assert file.stat().st_mode & 0o777 == 0o640
    with pytest.raises(TypeError):
        replace(file, {"a": object()})
    assert file.read_text().endswith("}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["a.ipynb"]
