"""When the server writes outputs into a notebook: only while no page has it open."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from spawner.node.jupyter.outputs import writer as module
from spawner.node.jupyter.outputs.executions import Executions
from spawner.node.jupyter.outputs.writer import (
    EVERY_S,
    FAILED_EVERY_S,
    GRACE_S,
    OutputWriter,
    WriteFailed,
    Written,
    renamed,
    run_program,
    write_file,
)

pytestmark = pytest.mark.anyio
K, PATH = "kernel", "folder/a.ipynb"


class Session:
    """A server with a kernel whose notebook the page `page` has open."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.executions = Executions()
        self.executions.connect(K, "page")
        self.notebooks: list[tuple[str, str]] = [(K, PATH)]
        self.written: list[tuple[Path, list[dict[str, Any]]]] = []
        self.failures: dict[str, Exception] = {}
        self.places: dict[str, str] | None = None
        self.after: str | None = "after"
        self.takes_s = 0.0
        self.renamed: list[tuple[str, str]] = []
        self.writer = OutputWriter(
            self.executions,
            Path("/home/alice"),
            self.list_notebooks,
            self.rename_notebooks,
            lambda: self.now,
        )

    async def list_notebooks(self) -> Sequence[tuple[str, str]]:
        return self.notebooks

    async def rename_notebooks(self, old: str, new: str) -> None:
        self.renamed.append((old, new))

    async def write_file(self, path: Path, updates: list[dict[str, Any]]) -> Written:
        """Write all cells, or those in `places`."""
        if path.name in self.failures:
            raise self.failures[path.name]
        self.now += self.takes_s
        self.written.append((path, updates))
        cells = {update["id"]: update["cell"] for update in updates}
        return Written(cells if self.places is None else self.places, "before", self.after)

    def run_cell(self, cell: str = "a", *, done: bool = True) -> None:
        header = {"msg_id": f"run-{cell}", "session": "page"}
        self.executions.request(K, header, cell, "code")
        self.say("execute_input", cell, execution_count=1)
        self.say("stream", cell, name="stdout", text="text")
        if done:
            self.say("status", cell, execution_state="idle")

    def say(self, kind: str, cell: str = "a", **content: Any) -> None:
        self.executions.add_message(K, f"run-{cell}", kind, content)

    def close_page(self) -> None:
        self.executions.disconnect(K, "page")

    async def pass_time(self, seconds: float) -> int:
        """Let the task run once now and once later; return how often it wrote by then."""
        for wait in (0.0, seconds):
            self.now += wait
            await self.writer.write_due()
        return len(self.written)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    made = Session()
    monkeypatch.setattr(module, "write_file", made.write_file)
    return made


async def test_open_notebook_is_never_written(session: Session) -> None:
    session.run_cell()
    assert await session.pass_time(3600) == 0
    session.close_page()
    assert await session.pass_time(GRACE_S - 1) == 0
    assert await session.pass_time(2) == 1
    path, (update,) = session.written[0]
    assert path == Path("/home/alice", PATH)
    assert (update["cell"], update["count"], update["unsaved"]) == ("a", 1, True)
    assert update["outputs"][0]["text"] == "text"
    assert await session.pass_time(3600) == 1


async def test_running_cell_is_written_at_intervals_and_at_its_end(session: Session) -> None:
    session.run_cell(done=False)
    session.close_page()
    assert await session.pass_time(GRACE_S) == 1
    session.say("stream", name="stdout", text=" more")
    assert await session.pass_time(EVERY_S - 1) == 1
    assert await session.pass_time(1) == 2
    session.say("status", execution_state="idle")
    assert await session.pass_time(EVERY_S - 1) == 2
    assert await session.pass_time(1) == 3
    counts = [update["count"] for _, (update,) in session.written]
    assert counts == [None, None, 1]  # a number means that the outputs are complete


async def test_notebook_that_takes_long_is_written_rarely(session: Session) -> None:
    session.takes_s = 10.0
    session.run_cell(done=False)
    session.close_page()
    assert await session.pass_time(GRACE_S) == 1
    session.say("stream", name="stdout", text=" more")
    assert await session.pass_time(10 * EVERY_S - 1) == 1
    assert await session.pass_time(1) == 2


async def test_notebook_gets_its_outputs_before_it_is_opened(session: Session) -> None:
    session.run_cell(done=False)
    await session.writer.prepare_to_open(PATH)
    assert session.written == []
    session.close_page()
    await session.writer.prepare_to_open("other.ipynb")
    assert session.written == []
    await session.writer.prepare_to_open(PATH)
    assert len(session.written) == 1


async def test_page_that_reloads_finds_its_file_unchanged(session: Session) -> None:
    session.run_cell()
    await session.pass_time(0)
    session.close_page()
    assert await session.pass_time(GRACE_S - 1) == 0
    session.executions.connect(K, "page")
    assert await session.pass_time(3600) == 0


@pytest.mark.parametrize(("after", "known"), [("after", "before"), (None, "after")])
async def test_write_is_hidden_from_pages_unless_it_changes_code(
    session: Session, after: str | None, known: str
) -> None:
    session.after = after
    session.run_cell()
    await session.writer.write_all()
    assert session.executions.reported_hashes.hash_for_pages("after") == known


async def test_outputs_follow_a_renamed_notebook(session: Session) -> None:
    session.run_cell()
    await session.pass_time(0)
    session.notebooks = []  # its kernel has ended
    await session.writer.note_renamed("folder", "moved")
    await session.writer.write_all()
    assert [path for path, _ in session.written] == [Path("/home/alice/moved/a.ipynb")]
    assert session.renamed == [("folder", "moved")]


@pytest.mark.parametrize(
    ("path", "expected"), [("a", "b"), ("a/x.ipynb", "b/x.ipynb"), ("ab", "ab"), ("c/a", "c/a")]
)
def test_renamed_path(path: str, expected: str) -> None:
    assert renamed(path, "a", "b") == expected


async def test_page_on_another_kernel_counts_as_open(session: Session) -> None:
    session.run_cell()
    session.close_page()
    session.notebooks = [(K, PATH), ("new kernel", PATH)]
    session.executions.connect("new kernel", "page")
    assert await session.pass_time(3600) == 0


async def test_failed_writing_is_tried_again(session: Session) -> None:
    session.run_cell()
    session.close_page()
    session.failures["a.ipynb"] = WriteFailed("no space left")
    assert await session.pass_time(GRACE_S) == 0
    session.failures.clear()
    assert await session.pass_time(FAILED_EVERY_S - 1) == 0
    assert await session.pass_time(1) == 1


async def test_notebook_that_is_missing_gets_its_outputs_when_it_is_back(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    session.run_cell()
    session.close_page()
    session.failures["a.ipynb"] = FileNotFoundError("it is missing")
    for _ in range(3):
        assert await session.pass_time(FAILED_EVERY_S) == 0
    assert caplog.text.count("it is missing") == 1
    session.failures.clear()
    assert await session.pass_time(FAILED_EVERY_S) == 1


async def test_failure_of_one_notebook_does_not_stop_others(session: Session) -> None:
    session.notebooks.append((K, "b.ipynb"))
    session.run_cell()
    session.failures["a.ipynb"] = PermissionError("read-only")
    await session.writer.write_all()
    assert [path.name for path, _ in session.written] == ["b.ipynb"]
    assert session.executions.unwritten(K) == []


async def test_mistake_with_one_kernel_does_not_stop_others(session: Session) -> None:
    session.run_cell()
    session.close_page()
    session.executions.request("second", {"msg_id": "run-b", "session": "page"}, "b", "code")
    session.notebooks.append(("second", "b.ipynb"))
    session.failures["a.ipynb"] = ValueError("not expected")
    await session.writer.write_all()
    assert [path.name for path, _ in session.written] == ["b.ipynb"]


async def test_outputs_without_a_place_wait_for_a_save(session: Session) -> None:
    session.places = {}
    session.run_cell()
    session.close_page()
    assert await session.pass_time(GRACE_S) == 1
    assert await session.pass_time(3600) == 1
    (execution,) = session.executions.of_kernel(K)
    await session.writer.note_saved(PATH, [{"id": "a", "source": "code", "outputs": []}])
    session.places = None
    assert await session.pass_time(3600) == 2
    assert execution.complete


async def test_cell_run_again_on_a_new_kernel_is_not_overwritten(session: Session) -> None:
    session.run_cell()
    session.close_page()
    session.notebooks = [(K, PATH), ("new kernel", PATH)]
    header = {"msg_id": "run-again", "session": "page"}
    session.executions.request("new kernel", header, "a", "code")
    await session.writer.write_all()
    assert [len(updates) for _, updates in session.written] == [1]
    assert session.executions.of_kernel(K) == []


async def test_server_that_ends_does_not_wait_for_ever(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(*_: Any) -> None:
        await anyio.sleep_forever()

    monkeypatch.setattr(module, "write_file", hang)
    monkeypatch.setattr(module, "END_S", 0.01)
    session.run_cell()
    await session.writer.write_all()
    assert len(session.executions.unwritten(K)) == 1
    assert not session.writer.lock.locked()


async def test_program_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    program = f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2):
            await run_program([sys.executable, "-I", "-c", program], b"")
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


async def test_saved_notebook_is_not_written(session: Session) -> None:
    session.run_cell()
    outputs = [{"output_type": "stream", "name": "stdout", "text": "text"}]
    cells = [{"id": "a", "source": "code", "execution_count": 1, "outputs": outputs}, "broken"]
    await session.writer.note_saved(PATH, cells)
    session.close_page()
    await session.writer.write_all()
    assert session.written == []


async def test_server_that_ends_writes_all(session: Session) -> None:
    session.run_cell(done=False)
    await session.pass_time(0)
    session.notebooks = []  # its kernel has just died
    await session.writer.write_all()
    assert [path for path, _ in session.written] == [Path("/home/alice", PATH)]


async def test_shared_kernel_changes_no_code(session: Session) -> None:
    session.notebooks.append((K, "b.ipynb"))
    session.run_cell()
    await session.writer.write_all()
    assert [update["unsaved"] for _, (update,) in session.written] == [False, False]


async def test_half_of_a_surrogate_pair_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[Any] = []

    async def run(command: Sequence[str], request: bytes) -> bytes:
        requests.extend([command[-1], json.loads(request)])
        return b'{"written": {"run": "a"}, "before": "b", "after": null}'

    monkeypatch.setattr(module, "run_program", run)
    file = tmp_path / "é.ipynb"
    file.write_text("{}")
    assert await write_file(file, [{"text": "é \ud83d."}]) == Written({"run": "a"}, "b", None)
    assert requests == [str(file), [{"text": "é ?."}]]


async def test_program_that_takes_too_long_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.ipynb"
    file.write_text("{}")
    monkeypatch.setattr(module, "PROGRAM_S", 0.0)
    with pytest.raises(WriteFailed, match="it took longer than 0 seconds"):
        await write_file(file, [])


async def test_program_that_fails_reports_why(tmp_path: Path) -> None:
    file = tmp_path / "a.ipynb"
    file.write_text("{}")
    with pytest.raises(WriteFailed):
        await write_file(file, [])
    with pytest.raises(OSError, match="No such file"):
        await write_file(tmp_path / "none.ipynb", [])
