"""Executions of cells: what pages are shown, and what the notebook's file lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from spawner.node.jupyter.outputs import cell_outputs
from spawner.node.jupyter.outputs import executions as module
from spawner.node.jupyter.outputs.executions import Executions, ReportedHashes, cell_of_request

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

    def write(self, index: int = 0) -> None:
        """Note that the server wrote an execution into its cell."""
        one = self.all.of_kernel(K)[index]
        self.all.note_written(one, one.target_cell, self.all.version)

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
    return {**ran(cell), "execution_count": count, "outputs": outputs}


def ran(cell: str) -> dict[str, Any]:
    """Return a cell that was saved after it was run."""
    return {"id": cell, "cell_type": "code", "source": f"code of {cell}"}


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


@pytest.mark.parametrize("saved_first", [True, False])
def test_skipped_cell_leaves_the_file_as_it_is(session: Session, saved_first: bool) -> None:
    session.request("a")
    if saved_first:
        session.all.note_saved(K, [ran("a")])
    session.say("status", execution_state="busy")
    session.finish()
    if not saved_first:
        assert session.unwritten() == ["a"]  # the file lacks its code
        session.all.note_saved(K, [ran("a")])
    assert session.unwritten() == []


def test_file_lacks_outputs_until_they_are_written(session: Session) -> None:
    session.request("a")
    assert session.unwritten() == ["a"]  # the file may lack the cell itself
    session.all.note_saved(K, [ran("a")])
    assert session.unwritten() == []
    session.start()
    assert session.unwritten() == ["a"]
    session.write()
    (one,) = session.all.of_kernel(K)
    assert (session.unwritten(), one.complete) == ([], False)
    session.finish()
    assert session.unwritten() == ["a"]
    session.write()
    assert (session.unwritten(), one.complete) == ([], True)
    assert session.shown() == []


@pytest.mark.parametrize(
    ("source", "in_file"), [("code of a", True), ("code o", False), ("edited", False)]
)
def test_only_the_code_that_ran_shows_that_the_page_has_saved_it(
    session: Session, source: str, in_file: bool
) -> None:
    session.request("a")
    session.all.note_saved(K, [{"id": "a", "source": [source]}])
    (one,) = session.all.of_kernel(K)
    assert one.in_file == in_file
    session.all.note_saved(K, [ran("a")])
    session.all.note_saved(K, [{"id": "a", "source": "edited"}])
    assert one.in_file


def test_outputs_in_an_added_cell_are_shown_there(session: Session) -> None:
    session.run("a")
    (one,) = session.all.of_kernel(K)
    session.all.disconnect(K, "page")
    version = session.all.version
    session.all.note_written(one, "added", version)
    session.say("stream", name="stdout", text="late")
    assert [shown["cell"] for shown in session.shown()] == ["added"]
    assert [shown["cell"] for shown in session.shown("page")] == ["a"]
    session.all.note_saved(K, [{**saved_cell("added"), "source": "code of a"}])
    assert one.saved
    session.all.note_saved(K, [saved_cell()])  # the page had not lost it
    assert one.target_cell == "a"


def test_added_cell_that_is_run_replaces_the_execution(session: Session) -> None:
    session.run("a")
    session.all.note_written(session.all.of_kernel(K)[0], "added", session.all.version)
    session.request("added")
    assert [one.cell for one in session.all.of_kernel(K)] == ["added"]


@pytest.mark.parametrize(
    ("cell", "lacks"),
    [
        (saved_cell(), []),
        (saved_cell(text="only the page has this"), []),
        ({**ran("a"), "execution_count": 1, "outputs": []}, []),  # captured by a widget
        ({"id": "a", "source": "edited", "execution_count": 1, "outputs": []}, []),
        (saved_cell(count=None), ["a"]),
        (saved_cell(count=7), ["a"]),
        (ran("b"), ["a"]),
    ],
)
def test_page_that_has_the_end_has_saved_all(
    session: Session, cell: dict[str, Any], lacks: Any
) -> None:
    session.run("a")
    session.all.note_saved(K, [cell])
    assert session.unwritten() == lacks


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


def print_too_much_without_a_page(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a cell whose page is gone, and of whose output the server keeps a part."""
    monkeypatch.setattr(cell_outputs, "TEXT_CHARACTERS", 100)
    session.request("a")
    session.start("a")
    session.all.disconnect(K, "page")
    for number in range(100):
        session.say("stream", name="stdout", text=f"line {number}\n")


def test_complete_outputs_of_a_page_are_not_shortened(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    print_too_much_without_a_page(session, monkeypatch)
    session.finish("a")
    session.all.note_saved(K, [saved_cell(text="complete")])
    assert session.unwritten() == []
    session.say("stream", name="stdout", text="late\n")
    assert session.unwritten() == []


def test_page_that_lost_an_ended_cell_has_not_saved_it(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    print_too_much_without_a_page(session, monkeypatch)
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
    session.write()
    assert session.unwritten() == []
    session.all.note_saved(K, [saved_cell(count=None)])
    assert session.unwritten() == ["a"]


def test_what_a_page_has_saved_stays_as_pages_save_it_later(session: Session) -> None:
    session.run("a")
    session.all.note_saved(K, [saved_cell()])
    session.all.note_saved(K, [saved_cell(count=None)])  # the user has reverted the notebook
    assert session.unwritten() == []


def test_page_open_when_the_kernel_restarts_saves_what_it_has(session: Session) -> None:
    session.request("a")
    session.start("a")
    session.say("stream", name="stdout", text="begin")
    session.all.end(K)
    session.all.note_saved(K, [saved_cell(text="begin", count=None)])
    assert session.unwritten() == []


def test_very_long_code_is_not_kept(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CODE_CHARACTERS", 3)
    session.run("a")
    (one,) = session.all.of_kernel(K)
    assert one.code == ""


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
    session.write()
    session.run("b")
    version = session.all.version
    session.all.disconnect(K, "page")
    assert [one["cell"] for one in session.shown()] == ["b"]
    assert session.shown(since=version) == []


def test_kernel_that_ends_ends_its_executions(session: Session) -> None:
    session.request("a")
    session.request("b")
    session.start()
    session.all.note_saved(K, [ran("a"), ran("b")])
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
    session.write()
    session.run("b")
    session.say("update_display_data", "b", data={"text/plain": "1"}, transient={"display_id": "d"})
    assert session.unwritten() == ["a", "b"]


def test_kept_outputs_are_bounded(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_BYTES", 50_000)
    for number in range(10):
        session.run(f"cell-{number}", "x" * 10_000 + "end")
        if number == 5:
            session.write(5)
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


def test_code_counts(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_BYTES", 5000)
    for cell in ("b", "c"):
        session.all.request(K, {"msg_id": f"run-{cell}", "session": "page"}, cell, "z" * 3000)
        session.start(cell)
        session.finish(cell)
    assert [one.cell for one in session.all.of_kernel(K)] == ["c"]


def test_pages_get_the_hash_from_before_the_writes() -> None:
    writes = ReportedHashes()
    writes.add("saved", "written")
    writes.add("written", "again")
    assert [writes.hash_for_pages(one) for one in ("saved", "written", "again")] == ["saved"] * 3
    assert writes.hash_for_pages("of another program") == "of another program"


def test_reported_hashes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_REPORTED_HASHES", 1)
    writes = ReportedHashes()
    writes.add("a", "b")
    writes.add("c", "d")
    assert [writes.hash_for_pages(one) for one in "bd"] == ["b", "c"]


@pytest.mark.parametrize(("saved", "known"), [(True, "before"), (False, "after")])
def test_write_is_hidden_only_while_its_outputs_are_kept(
    session: Session, monkeypatch: pytest.MonkeyPatch, saved: bool, known: str
) -> None:
    monkeypatch.setattr(module, "KEPT_EXECUTIONS", 1)
    session.run("a")
    session.write()
    session.all.reported_hashes.add("before", "after")
    if saved:
        session.all.note_saved(K, [saved_cell()])
    session.run("b")
    assert [one.cell for one in session.all.of_kernel(K)] == ["b"]
    assert session.all.reported_hashes.hash_for_pages("after") == known


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
