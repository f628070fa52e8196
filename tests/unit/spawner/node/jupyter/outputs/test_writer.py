"""When the server writes outputs into a notebook: only while no page has it open."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from spawner.node.jupyter.outputs import writer as module
from spawner.node.jupyter.outputs.executions import Executions
from spawner.node.jupyter.outputs.writer import (
    EVERY_S,
    FAILED_EVERY_S,
    GRACE_S,
    OPENING_S,
    OutputWriter,
    WriteFailed,
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
        self.failure: Exception | None = None
        self.takes_s = 0.0
        self.writer = OutputWriter(
            self.executions, Path("/home/alice"), self.list_notebooks, lambda: self.now
        )

    async def list_notebooks(self) -> Sequence[tuple[str, str]]:
        return self.notebooks

    async def write_file(self, path: Path, updates: list[dict[str, Any]]) -> None:
        if self.failure is not None:
            raise self.failure
        self.now += self.takes_s
        self.written.append((path, updates))

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
    assert await session.pass_time(0) == 3


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


async def test_notebook_being_opened_is_not_changed(session: Session) -> None:
    session.run_cell(done=False)
    session.close_page()
    await session.pass_time(GRACE_S)
    await session.writer.prepare_to_open(PATH)
    session.say("status", execution_state="idle")
    assert await session.pass_time(OPENING_S - 1) == 1
    session.executions.connect(K, "new page")
    assert await session.pass_time(3600) == 1
    session.executions.disconnect(K, "new page")
    assert await session.pass_time(GRACE_S) == 2


async def test_page_on_another_kernel_counts_as_open(session: Session) -> None:
    session.run_cell()
    session.close_page()
    session.notebooks = [(K, PATH), ("new kernel", PATH)]
    session.executions.connect("new kernel", "page")
    assert await session.pass_time(3600) == 0


async def test_failed_writing_is_tried_again(session: Session) -> None:
    session.run_cell()
    session.close_page()
    session.failure = WriteFailed("no space left")
    assert await session.pass_time(GRACE_S) == 0
    session.failure = None
    assert await session.pass_time(FAILED_EVERY_S - EVERY_S - 1) == 0
    assert await session.pass_time(1) == 1


async def test_saved_notebook_is_not_written(session: Session) -> None:
    session.run_cell()
    outputs = [{"output_type": "stream", "name": "stdout", "text": "text"}]
    cells = [{"id": "a", "execution_count": 1, "outputs": outputs}, "broken"]
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


async def test_program_that_fails_reports_why(tmp_path: Path) -> None:
    file = tmp_path / "a.ipynb"
    file.write_text("{}")
    with pytest.raises(WriteFailed):
        await write_file(file, [])
    with pytest.raises(OSError, match="No such file"):
        await write_file(tmp_path / "none.ipynb", [])
