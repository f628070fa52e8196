"""Executions of cells: what pages are shown, and what the notebook's file lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from spawner.node.jupyter.outputs import cell_outputs
from spawner.node.jupyter.outputs import executions as module
from spawner.node.jupyter.outputs.executions import SAVED_CHARACTERS, Executions, cell_of_request

K = "kernel"


class Session:
    """A kernel with cells that the page `page` has run."""

    def __init__(self) -> None:
        self.all = Executions()
        self.all.connect(K, "page")

    def request(self, cell: str, name: str = "", page: str = "page") -> None:
        header = {"msg_id": name or f"run-{cell}", "session": page}
        self.all.request(K, header, cell, f"code of {cell}")

    def say(self, kind: str, cell: str = "a", **content: Any) -> None:
        self.all.add_message(K, f"run-{cell}", kind, content)

    def run(self, cell: str = "a", text: str | None = None, *, page: str = "page") -> None:
        self.request(cell, page=page)
        self.start(cell)
        self.say("stream", cell, name="stdout", text=text or f"output of {cell}")
        self.finish(cell)

    def start(self, cell: str = "a", count: int = 1) -> None:
        self.say("status", cell, execution_state="busy")
        self.say("execute_input", cell, execution_count=count)

    def finish(self, cell: str = "a") -> None:
        self.say("status", cell, execution_state="idle")

    def unwritten(self) -> list[str]:
        return [one.cell for one in self.all.unwritten(K)]

    def shown(self, page: str = "other", since: int = 0) -> list[dict[str, Any]]:
        chosen: list[dict[str, Any]] = self.all.to_json(K, page, since)["executions"]
        return chosen


@pytest.fixture
def session() -> Session:
    return Session()


def saved_cell(cell: str = "a", text: str = "output of a", count: int | None = 1) -> dict[str, Any]:
    outputs = [{"output_type": "stream", "name": "stdout", "text": [text]}]
    return {"id": cell, "execution_count": count, "outputs": outputs}


def test_execution_goes_from_queued_to_done(session: Session) -> None:
    states = []
    steps: list[Callable[[], Any]] = [lambda: session.request("a"), session.start, session.finish]
    for step in steps:
        step()
        states.append(session.shown()[0]["state"])
    assert states == ["queued", "running", "done"]


def test_page_is_shown_the_executions_of_other_pages_only(session: Session) -> None:
    session.run("a")
    session.run("b", page="other")
    assert [one["cell"] for one in session.shown("page")] == ["b"]
    assert [one["cell"] for one in session.shown("other")] == ["a"]
    assert session.shown("other")[0]["connected"]
    session.all.disconnect(K, "page")
    assert not session.shown("other")[0]["connected"]
    assert session.all.to_json("another kernel", "other", 0)["executions"] == []


def test_page_is_shown_only_what_changed(session: Session) -> None:
    session.run("a")
    version = session.all.version
    assert session.shown(since=version) == []
    session.request("b")
    session.start("b")
    session.say("display_data", "b", data={"text/plain": "1"})
    version = session.all.version
    session.say("display_data", "b", data={"text/plain": "2"})
    (one,) = session.shown(since=version)
    assert (one["cell"], one["whole"], one["length"]) == ("b", False, 2)
    assert [index for index, _ in one["outputs"]] == [1]
    session.say("clear_output", "b", wait=False)
    (one,) = session.shown(since=version)
    assert (one["whole"], one["length"], one["outputs"]) == (True, 0, [])


def test_repeated_cell_replaces_its_execution(session: Session) -> None:
    session.run("a", "old")
    session.request("a", "again")
    (one,) = session.shown()
    assert (one["id"], one["outputs"]) == ("again", [])


def test_skipped_cell_leaves_the_file_as_it_is(session: Session) -> None:
    session.request("a")
    session.all.note_saved(K, [{"id": "a"}])
    session.say("status", execution_state="busy")
    session.finish()
    assert session.unwritten() == []


def test_file_lacks_outputs_until_they_are_written(session: Session) -> None:
    session.request("a")
    assert session.unwritten() == ["a"]  # the file may lack the cell itself
    session.all.note_saved(K, [{"id": "a"}])
    assert session.unwritten() == []
    session.start()
    assert session.unwritten() == ["a"]
    (one,) = session.all.unwritten(K)
    session.all.note_written(one, session.all.version)
    assert (session.unwritten(), one.saved) == ([], False)
    session.finish()
    assert session.unwritten() == ["a"]
    session.all.note_written(one, session.all.version)
    assert (session.unwritten(), one.saved) == ([], True)
    assert session.shown() == []


@pytest.mark.parametrize(
    ("cell", "lacks"),
    [
        (saved_cell(), []),
        (saved_cell(text="only the page has this"), []),
        ({"id": "a", "execution_count": 1, "outputs": []}, []),  # captured by a widget
        (saved_cell(count=None), ["a"]),
        (saved_cell(count=7), ["a"]),
        ({"id": "b"}, ["a"]),
    ],
)
def test_page_that_has_the_end_has_saved_all(
    session: Session, cell: dict[str, Any], lacks: Any
) -> None:
    session.run("a")
    session.all.note_saved(K, [cell])
    assert session.unwritten() == lacks
    assert session.all.of_kernel(K)[0].in_file == (cell["id"] == "a")


def run_with_gap(session: Session) -> None:
    """Run a cell whose page loses its connection before the end."""
    session.request("a")
    session.start("a")
    session.say("stream", name="stdout", text="output of a")
    session.all.disconnect(K, "page")
    session.all.connect(K, "page")
    session.say("display_data", data={"text/plain": "1"})
    session.say("stream", name="stdout", text="end")
    session.finish("a")


SHOWN = {"output_type": "display_data", "data": {"text/plain": ["1"]}, "metadata": {"more": 1}}
ANSWER = {"output_type": "stream", "name": "stdin", "text": "answer"}


def text_output(text: Any) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": text}


@pytest.mark.parametrize(
    ("outputs", "lacks"),
    [
        ([text_output(["output", " of a\n"]), SHOWN, text_output("end")], []),
        ([text_output("output of a"), ANSWER, SHOWN, text_output("end")], []),
        ([text_output("output"), SHOWN, text_output("end")], ["a"]),
        ([text_output("output of a"), {**SHOWN, "data": {}}, text_output("end")], ["a"]),
        ([SHOWN, text_output("end")], ["a"]),
        ([], ["a"]),
        ("broken", ["a"]),
        ([1, 2, 3], ["a"]),
    ],
)
def test_outputs_of_a_page_with_a_gap_are_compared(
    session: Session, outputs: Any, lacks: Any
) -> None:
    run_with_gap(session)
    session.all.note_saved(K, [{**saved_cell(), "outputs": outputs}])
    assert session.unwritten() == lacks


def test_complete_outputs_of_a_page_are_not_shortened(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cell_outputs, "TEXT_CHARACTERS", 100)
    session.request("a")
    session.start("a")
    session.all.disconnect(K, "page")
    for number in range(100):
        session.say("stream", name="stdout", text=f"line {number}\n")
    session.finish("a")
    session.all.note_saved(K, [saved_cell(text="complete")])
    assert session.unwritten() == []
    session.say("stream", name="stdout", text="late\n")
    assert session.unwritten() == []


def test_page_that_lost_an_ended_cell_has_not_saved_it(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cell_outputs, "TEXT_CHARACTERS", 100)
    session.request("a")
    session.start("a")
    session.all.disconnect(K, "page")
    for number in range(100):
        session.say("stream", name="stdout", text=f"line {number}\n")
    session.all.end(K)
    session.all.note_saved(K, [saved_cell(text="", count=None)])
    assert session.unwritten() == ["a"]


def test_output_after_the_page_has_saved_is_lacking_again(session: Session) -> None:
    session.run("a")
    session.all.note_saved(K, [saved_cell()])
    session.say("stream", name="stdout", text="from a thread")
    assert session.unwritten() == ["a"]


def test_page_that_overwrites_what_was_written_makes_the_file_lack_it(session: Session) -> None:
    session.run("a")
    session.all.note_written(session.all.of_kernel(K)[0], session.all.version)
    assert session.unwritten() == []
    session.all.note_saved(K, [saved_cell(count=None)], only=False)
    assert session.unwritten() == []  # it may be the cell of the kernel's other notebook
    session.all.note_saved(K, [saved_cell(count=None)])
    assert session.unwritten() == ["a"]


def test_page_open_when_the_kernel_restarts_saves_what_it_has(session: Session) -> None:
    session.request("a")
    session.start("a")
    session.say("stream", name="stdout", text="begin")
    session.all.end(K)
    session.all.note_saved(K, [saved_cell(text="begin", count=None)])
    assert session.unwritten() == []


def old_cell(code: str = "code of a", count: int = 1) -> dict[str, Any]:
    """Return a cell as notebooks without ids have it."""
    cell = {**saved_cell(count=count), "cell_type": "code", "source": code}
    del cell["id"]
    return cell


def test_cell_without_id_is_found_by_its_code(session: Session) -> None:
    session.run("a")
    session.all.note_saved(K, [old_cell("other"), old_cell(), {"cell_type": "raw"}])
    assert session.unwritten() == []
    assert session.all.of_kernel(K)[0].in_file


def test_two_cells_with_the_same_code_are_not_confused(session: Session) -> None:
    session.run("a")
    session.all.note_saved(K, [old_cell(), old_cell()])
    assert not session.all.of_kernel(K)[0].in_file


def test_cell_without_id_that_another_page_ran_again_is_kept_once(session: Session) -> None:
    session.request("a")
    session.start("a")
    header = {"msg_id": "run-again", "session": "other"}
    session.all.request(K, header, "id of the other page", "code of a")
    session.start("again", count=2)
    session.say("stream", "again", name="stdout", text="output of a")
    session.finish("again")
    session.all.note_saved(K, [old_cell(count=2)])
    assert session.unwritten() == []
    assert [one.id for one in session.all.of_kernel(K)] == ["run-again"]


def test_code_that_the_page_saved_last_is_known(session: Session) -> None:
    session.run("a")
    assert session.all.of_kernel(K)[0].file_code == "code of a"
    session.all.note_saved(K, [{**saved_cell(), "source": ["edited ", "since"]}])
    assert session.all.of_kernel(K)[0].file_code == "edited since"


def test_very_long_code_is_not_kept(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CODE_CHARACTERS", 3)
    session.run("a")
    session.all.note_saved(K, [{**saved_cell(), "source": "long"}])
    (one,) = session.all.of_kernel(K)
    assert (one.code, one.file_code) == ("", "")


def test_cleared_outputs_are_forgotten(session: Session) -> None:
    session.run("a")
    session.request("b")
    session.start("b")
    session.all.forget(K, ["a", "b"])
    assert session.unwritten() == ["b"]


def test_page_that_lost_its_connection_is_shown_what_it_may_miss(session: Session) -> None:
    session.run("a")
    session.all.note_saved(K, [saved_cell()])
    session.run("b")
    session.request("c")
    session.start("c")
    version = session.all.version
    session.all.disconnect(K, "page")
    session.finish("c")
    session.all.connect(K, "page")
    session.run("d")
    for since in (0, version):
        shown = session.shown("page", since)
        assert [(one["cell"], one["gap"]) for one in shown] == [("b", False), ("c", True)]
        for one in shown:
            assert (one["own"], one["connected"], one["whole"]) == (True, False, True)


def test_replaced_connection_may_have_lost_messages(session: Session) -> None:
    session.request("a")
    session.start("a")
    session.all.connect(K, "page")  # the server does not know yet that the other is dead
    session.request("b")
    session.start("b")
    session.all.disconnect(K, "page")
    assert [one["cell"] for one in session.shown("page")] == ["a"]


def test_lost_page_changes_nothing_for_others(session: Session) -> None:
    session.run("a")
    session.all.note_written(session.all.of_kernel(K)[0], session.all.version)
    session.run("b")
    version = session.all.version
    session.all.disconnect(K, "page")
    assert [one["cell"] for one in session.shown()] == ["b"]
    assert session.shown(since=version) == []


def test_kernel_that_ends_ends_its_executions(session: Session) -> None:
    session.request("a")
    session.request("b")
    session.start()
    session.all.note_saved(K, [{"id": "a"}, {"id": "b"}])
    session.all.end(K)
    assert {one["state"] for one in session.shown(since=1)} == {"done"}
    assert session.unwritten() == ["a"]
    session.all.end(K, page_open=True)
    assert session.unwritten() == []


def test_page_that_may_miss_outputs_does_not_save_them(session: Session) -> None:
    run_with_gap(session)
    session.all.end(K, page_open=True)
    assert session.unwritten() == ["a"]


def test_display_of_an_earlier_cell_is_updated(session: Session) -> None:
    session.request("a")
    session.start()
    session.say("display_data", data={"text/plain": "0"}, transient={"display_id": "d"})
    session.finish()
    session.all.note_written(session.all.of_kernel(K)[0], session.all.version)
    session.run("b")
    session.say("update_display_data", "b", data={"text/plain": "1"}, transient={"display_id": "d"})
    assert session.unwritten() == ["a", "b"]


def test_kept_outputs_are_bounded(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_BYTES", 50_000)
    for number in range(10):
        session.run(f"cell-{number}", "x" * 10_000 + "end")
        if number == 5:
            session.all.note_written(session.all.of_kernel(K)[5], session.all.version)
    kept = session.all.of_kernel(K)
    assert [one.cell for one in kept] == [f"cell-{n}" for n in range(10) if n != 5]
    assert sum(one.size for one in kept) <= 50_000
    text = kept[0].outputs.to_json()[0]["text"]
    assert "9003 characters left out" in text
    assert text.startswith("xxx")
    assert text.endswith("xend")
    assert kept[0].outputs.truncated
    assert kept[-1].outputs.to_json()[0]["text"] == "x" * 10_000 + "end"


def test_shortened_outputs_are_no_change_for_pages(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.run("a", "x" * 10_000)
    version = session.all.version
    monkeypatch.setattr(module, "KEPT_BYTES", 5000)
    session.run("b")
    assert [one["cell"] for one in session.shown(since=version)] == ["b"]
    assert session.unwritten() == ["a", "b"]


def test_code_and_its_saved_version_count(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "KEPT_BYTES", 5000)
    session.run("a")
    session.all.note_saved(K, [{**saved_cell(count=None), "source": "y" * 4000}])
    for cell in ("b", "c"):
        session.all.request(K, {"msg_id": f"run-{cell}", "session": "page"}, cell, "z" * 3000)
        session.start(cell)
        session.finish(cell)
    assert [one.cell for one in session.all.of_kernel(K)] == ["c"]


@pytest.mark.parametrize(
    ("metadata", "cell"),
    [
        ({"cellId": "a", "deletedCells": [], "trusted": True}, "a"),
        ({"cellId": "a", "trusted": True}, None),  # a code console
        ({"cellId": 1, "deletedCells": []}, None),
        ({}, None),
    ],
)
def test_only_cells_of_notebooks_are_kept(metadata: dict[str, Any], cell: str | None) -> None:
    assert cell_of_request(metadata) == cell


def test_code_that_a_page_saved_half_typed_is_known_when_the_cell_is_run(session: Session) -> None:
    session.all.note_saved(K, [{**saved_cell(), "source": "code o"}])
    session.request("a")
    (execution,) = session.all.of_kernel(K)
    assert (execution.code, execution.file_code) == ("code of a", "code o")
    assert not execution.in_file


@pytest.mark.parametrize(
    ("length", "only"), [(SAVED_CHARACTERS + 1, True), (10, False)], ids=["too long", "two books"]
)
def test_code_of_a_long_notebook_or_of_several_is_not_kept(
    session: Session, length: int, only: bool
) -> None:
    session.all.note_saved(K, [{**saved_cell(), "source": "x" * length}], only=only)
    session.request("a")
    (execution,) = session.all.of_kernel(K)
    assert execution.file_code == "code of a"
