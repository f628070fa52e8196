"""Executions of cells: who requested them, their state and outputs, and which the notebook lacks.

Pure.

The session's server keeps the last execution of each cell. One that is saved or written is the
first to go when there are too many. A *page* is one connection of JupyterLab to a kernel; its id is
that of the Jupyter client session, which every message names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from spawner.node.jupyter.outputs.cell_outputs import CellOutputs, is_same_output
from spawner.node.jupyter.outputs.notebook_file import source_of

KEPT_BYTES = 64_000_000
"""Size of all kept code and outputs; beyond it, executions in the file are dropped, then other done
ones shortened, then dropped."""
KEPT_EXECUTIONS = 1000
MAX_REPORTED_HASHES = 1000
CODE_CHARACTERS = 1_000_000
"""Longer code isn't kept: the outputs are only written if the file has the cell."""


@dataclass
class Execution:
    """One execution of a cell.

    - `target_cell` is the id of the cell in the notebook's file that gets the outputs. It differs
      from `cell`, the cell that the page ran, if `cell` has other code in the file.
    - `count` is the number in the prompt, once the execution has started.
    - `in_file`: the file had the cell with this code after the request. If the cell is missing
      now, it was deleted.
    - `saved`: a page has saved all outputs. `written`: the last version that the server wrote into
      the file.
    - `done`: no more outputs will come. `kernel_ended`: the kernel ended before the cell was done.
    - `lost_at` is the version at which the page's connection was lost, 0 if it never was. The page
      may lack messages since then, so the server sends it the outputs, as to other pages.
    - `gap`: the connection was lost while the cell ran, so the page may have the last outputs, but
      lack earlier ones.
    """

    id: str
    kernel_id: str
    page: str
    cell: str
    target_cell: str
    code: str
    changed: int
    outputs: CellOutputs = field(default_factory=CellOutputs)
    count: int | None = None
    done: bool = False
    in_file: bool = False
    saved: bool = False
    written: int = 0
    kernel_ended: bool = False
    lost_at: int = 0
    gap: bool = False

    @property
    def state(self) -> str:
        """Return `queued`, `running` or `done`."""
        if self.done:
            return "done"
        return "queued" if self.count is None else "running"

    @property
    def complete(self) -> bool:
        """Whether the notebook's file has all outputs, and no more will come."""
        return self.done and (self.saved or self.written >= self.changed)

    def to_json(self, page: str, since: int, *, connected: bool) -> dict[str, Any]:
        """Return what changed after a version, for a page.

        `whole`: the answer has all outputs, not only the changed ones. `own`: this page requested
        the execution. `connected`: the page that requested it is open, and saves the outputs.
        """
        own = self.page == page
        whole = since == 0 or since < self.outputs.reset_at or (own and since < self.lost_at)
        return {
            "id": self.id,
            "cell": self.cell if own else self.target_cell,
            "state": self.state,
            "count": self.count,
            "own": own,
            "connected": connected,
            "gap": self.gap,
            "whole": whole,
            "length": len(self.outputs.outputs),
            "outputs": self.outputs.changed_since(0 if whole else since),
        }

    @property
    def size(self) -> int:
        """About the memory that it takes."""
        return len(self.code) + self.outputs.size

    def is_in(self, cell: Mapping[str, Any]) -> bool:
        """Return whether a cell of a saved notebook has this execution's outputs, once it is done.

        A page sets the number once it has the last message. If its connection was never lost, it
        has more than is kept here: answers to `input()`, and what a bound leaves out. Without a
        number here, the kernel skipped the cell, or its first messages were not received.
        """
        if self.count is None:
            return self.in_file
        count = cell.get("execution_count")
        unanswered = self.kernel_ended and not self.gap and count is None
        if count != self.count and not unanswered:
            return False
        if not self.gap or self.outputs.truncated:
            return True
        outputs = cell.get("outputs")
        saved = [one for one in outputs if not is_answer(one)] if isinstance(outputs, list) else []
        own = self.outputs.to_json()
        return len(saved) == len(own) and all(map(is_same_output, saved, own))

    def note_saved(self, cells: Mapping[str, Mapping[str, Any]]) -> None:
        """Note that a page saved a notebook with these cells, by id.

        Only the code that was run shows that the page saved after the request: it may have sent a
        half typed cell before. What a page has saved completely stays as pages save it later.
        """
        run = cells.get(self.cell)
        if run is not None and source_of(run) == self.code:
            self.in_file, self.target_cell = True, self.cell
        cell = cells.get(self.target_cell)
        if cell is None or self.saved:
            return
        self.saved = self.done and self.is_in(cell)
        if not self.saved:
            self.written = 0

    def note_change(self, version: int) -> None:
        """Note that the outputs have changed; a page may have saved more than a bound leaves."""
        self.changed = version
        self.saved = self.saved and self.outputs.truncated


@dataclass
class ReportedHashes:
    """The hash that pages get for a notebook: the one from before the server wrote outputs into it.

    JupyterLab compares hashes before it saves, and asks the user if the file has changed. With the
    hash from before, it saves without asking. Nothing is lost: the outputs are still kept, and are
    written again if the page has saved without them.
    """

    _before: dict[str, str] = field(default_factory=dict)

    def add(self, before: str, after: str) -> None:
        """Note a write: pages continue to get the hash from before it."""
        self._before[after] = self.hash_for_pages(before)
        while len(self._before) > MAX_REPORTED_HASHES:
            del self._before[next(iter(self._before))]

    def hash_for_pages(self, actual: str) -> str:
        """Return the hash that pages compare."""
        return self._before.get(actual, actual)

    def clear(self) -> None:
        """Report the actual hashes again, because some outputs are not kept any more."""
        self._before.clear()


@dataclass
class Executions:
    """All kept executions of a session's server, oldest request first."""

    version: int = 0
    reported_hashes: ReportedHashes = field(default_factory=ReportedHashes)
    _by_id: dict[str, Execution] = field(default_factory=dict)
    _pages: dict[tuple[str, str], int] = field(default_factory=dict)
    _size: int = 0

    def connect(self, kernel_id: str, page: str) -> None:
        """Note that a page has connected to a kernel, maybe before its last connection closed."""
        number = self._pages.get((kernel_id, page), 0)
        self._pages[kernel_id, page] = number + 1
        if number > 0:
            self._lose(kernel_id, page)

    def disconnect(self, kernel_id: str, page: str) -> None:
        """Note that a connection of a page has closed."""
        number = self._pages.get((kernel_id, page), 0)
        if number > 1:
            self._pages[kernel_id, page] = number - 1
        else:
            self._pages.pop((kernel_id, page), None)
            self._lose(kernel_id, page)

    def _lose(self, kernel_id: str, page: str) -> None:
        """Note that the page may miss messages, sent before its connection was known to be lost."""
        for execution in self.of_kernel(kernel_id):
            if execution.page == page and not execution.complete:
                self.version += 1
                execution.lost_at = self.version
                execution.gap |= not execution.done

    def is_watched(self, kernel_id: str) -> bool:
        """Return whether any page is connected to the kernel."""
        return any(kernel == kernel_id for kernel, _ in self._pages)

    def request(self, kernel_id: str, header: Mapping[str, Any], cell: str, code: str) -> None:
        """Note a page's request to execute a cell."""
        for execution in self.of_kernel(kernel_id):
            if cell in {execution.cell, execution.target_cell}:
                self._remove(execution)
        self.version += 1
        request_id, page = str(header.get("msg_id")), str(header.get("session"))
        kept = code if len(code) <= CODE_CHARACTERS else ""
        execution = Execution(request_id, kernel_id, page, cell, cell, kept, self.version)
        self._by_id[request_id] = execution
        self._size += execution.size
        self._bound()

    def add_message(
        self, kernel_id: str, parent_id: str, kind: str, content: Mapping[str, Any]
    ) -> None:
        """Add a message of a kernel about one of its requests."""
        self.version += 1
        if kind == "update_display_data":
            self._update_displays(kernel_id, content)
            return
        execution = self._by_id.get(parent_id)
        if execution is None:
            return
        before = execution.outputs.size
        if kind == "execute_input":
            count = content.get("execution_count")
            execution.count = count if isinstance(count, int) else 0
        elif kind == "status":
            if content.get("execution_state") != "idle":
                return
            if execution.count is None:  # an earlier cell failed, and the kernel skipped this one
                execution.saved = execution.in_file
            execution.done = True
        elif execution.outputs.add_message(kind, content, self.version):
            execution.note_change(self.version)
        else:
            return
        execution.changed = self.version
        self._size += execution.outputs.size - before
        self._bound()

    def end(self, kernel_id: str, *, page_open: bool = False) -> None:
        """Mark all executions as done, because the kernel ended or restarted.

        With `page_open`, their pages have the outputs and save them.
        """
        for execution in self.of_kernel(kernel_id):
            if not execution.done:
                self.version += 1
                execution.done = execution.kernel_ended = True
                execution.changed = self.version
                execution.saved |= execution.count is None and execution.in_file
            has_all = self._is_connected(execution) and not execution.lost_at
            execution.saved |= page_open and has_all

    def of_kernel(self, kernel_id: str) -> list[Execution]:
        """Return the executions of a kernel, oldest request first."""
        return [one for one in self._by_id.values() if one.kernel_id == kernel_id]

    def kernel_ids(self) -> set[str]:
        """Return the kernels that have executions."""
        return {one.kernel_id for one in self._by_id.values()}

    def to_json(self, kernel_id: str, page: str, since: int) -> dict[str, Any]:
        """Return what changed after a version in executions that the page does not show itself."""
        chosen = []
        for one in self.of_kernel(kernel_id):
            own = one.page == page
            changed = max(one.changed, one.lost_at if own else 0) > since
            if (own and not one.lost_at) or not changed:
                continue
            if since > 0 or own or not one.complete:
                connected = self._is_connected(one) and not one.lost_at
                chosen.append(one.to_json(page, since, connected=connected))
        return {"version": self.version, "executions": chosen}

    def unwritten(self, kernel_id: str) -> list[Execution]:
        """Return the executions whose outputs, or whose cells, the notebook's file lacks."""
        return [
            one
            for one in self.of_kernel(kernel_id)
            if not one.saved
            and one.written < one.changed
            and (one.count is not None or not one.in_file)
        ]

    def note_written(self, execution: Execution, target_cell: str, version: int) -> None:
        """Note that the server wrote an execution into this cell of the file, as of a version."""
        execution.written, execution.in_file, execution.target_cell = version, True, target_cell

    def note_unplaced(self, execution: Execution, version: int) -> None:
        """Note that the file has no certain cell for an execution, until a page saves it again."""
        execution.written = version

    def drop_superseded(self, kernel_ids: Collection[str]) -> None:
        """Drop the executions of cells that were run again since, on another kernel of these."""
        chosen = [one for one in self._by_id.values() if one.kernel_id in kernel_ids]
        latest = {one.target_cell: one for one in chosen}
        for execution in chosen:
            if latest[execution.target_cell] is not execution:
                self._remove(execution)

    def note_saved(self, kernel_id: str, cells: Iterable[Mapping[str, Any]]) -> None:
        """Note that a page saved a notebook with these cells."""
        by_id = {str(cell.get("id")): cell for cell in cells}
        for execution in self.of_kernel(kernel_id):
            execution.note_saved(by_id)

    def forget(self, kernel_id: str, cells: Iterable[str]) -> None:
        """Drop the executions that are done, of cells whose outputs the user has cleared."""
        cleared = set(cells)
        for execution in self.of_kernel(kernel_id):
            if execution.done and not cleared.isdisjoint({execution.cell, execution.target_cell}):
                self._remove(execution)

    def _is_connected(self, execution: Execution) -> bool:
        return (execution.kernel_id, execution.page) in self._pages

    def _update_displays(self, kernel_id: str, content: Mapping[str, Any]) -> None:
        transient = content.get("transient")
        display_id = transient.get("display_id") if isinstance(transient, Mapping) else None
        if display_id is None:
            return
        for execution in self.of_kernel(kernel_id):
            before = execution.outputs.size
            if execution.outputs.update_display(str(display_id), content, self.version):
                execution.note_change(self.version)
                self._size += execution.outputs.size - before
        self._bound()

    def _remove(self, execution: Execution) -> None:
        del self._by_id[execution.id]
        self._size -= execution.size

    def _fits(self) -> bool:
        return self._size <= KEPT_BYTES and len(self._by_id) <= KEPT_EXECUTIONS

    def _bound(self) -> None:
        """Drop executions that are done and in the file, then shorten other done ones, then drop
        them."""
        if self._fits():
            return
        done = [one for one in self._by_id.values() if one.done]
        for drop in (False, True):
            for execution in sorted(done, key=lambda one: not one.complete):
                if self._fits():
                    return
                if execution.id not in self._by_id:
                    continue
                if drop or execution.complete or self._size <= KEPT_BYTES:
                    self._remove(execution)
                    if not execution.saved:
                        self.reported_hashes.clear()
                else:
                    self._shorten(execution)

    def _shorten(self, execution: Execution) -> None:
        """Shorten outputs, not as a change: pages and the file may have more."""
        before = execution.outputs.size
        self.version += 1
        execution.outputs.shorten(self.version)
        self._size += execution.outputs.size - before


def is_answer(output: Any) -> bool:
    """Return whether JupyterLab, not the kernel, added an output: an answer to `input()`."""
    return isinstance(output, Mapping) and output.get("name") == "stdin"


def cell_of_request(metadata: Mapping[str, Any]) -> str | None:
    """Return the id of a notebook's cell from the metadata of the request to execute it.

    JupyterLab's code consoles send an id too, but only notebooks send the cells deleted before.
    """
    cell = metadata.get("cellId")
    from_notebook = isinstance(metadata.get("deletedCells"), list)
    return cell if isinstance(cell, str) and from_notebook else None
