"""Writing of kept outputs into notebooks that no page has open.

While a page is connected to the kernel, it has the outputs and saves them, so the server writes
nothing. Otherwise the server writes them at intervals, before the notebook is opened, and before
the server ends.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spawner.node.jupyter.outputs.executions import Execution, Executions
from spawner.node.jupyter.outputs.headroom import WRITE_FACTOR, explain_missing_memory
from spawner.node.usage.meter import memory_of_job

log = logging.getLogger("portal")

TICK_S = 2.0
GRACE_S = 10.0
"""Time without a page after which the server writes: a page that reloads is back before."""
EVERY_S = 20.0
SHARE = 20
"""Writing takes at most one part in this many of the time: a large notebook is written rarely."""
FAILED_EVERY_S = 60.0
PROGRAM_S = 120.0
"""Longest time for writing one notebook; one of 230 MB takes 7 s on a local disk."""
END_S = 20.0
"""Time for writing when the server ends: Slurm kills its programs after 30 s (KillWait)."""
TERMINATE_S = 2.0
PROGRAM = "spawner.node.jupyter.outputs.notebook_file"

ListNotebooks = Callable[[], Awaitable[Sequence[tuple[str, str]]]]
"""Returns the kernel id and path, relative to the root folder, of each notebook with a kernel."""

RenameNotebooks = Callable[[str, str], Awaitable[None]]
"""Sets the paths of notebooks with a kernel after a rename of a notebook or a folder."""


class WriteFailed(Exception):
    """The outputs could not be written; the message has the reason."""


@dataclass
class Written:
    """The answer of the program: `cells` has the id of the cell for each execution's id.

    `before` and `after` are the file's hashes, `after` only if no code was changed.
    """

    cells: dict[str, str]
    before: str
    after: str | None


@dataclass
class _Kernel:
    """The notebooks of a kernel, when they may be written next, and the last failure."""

    next_write: float
    paths: frozenset[str] = frozenset()
    problem: str | None = None


@dataclass
class OutputWriter:
    """Task in the server's event loop; `lock` is held while a notebook's file is changed."""

    executions: Executions
    root: Path
    list_notebooks: ListNotebooks
    rename_notebooks: RenameNotebooks
    clock: Callable[[], float] = time.monotonic
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _kernels: dict[str, _Kernel] = field(default_factory=dict)

    async def run(self) -> None:
        """Write what is due, until cancelled."""
        while True:
            await asyncio.sleep(TICK_S)
            try:
                await self.write_due()
            except Exception:
                log.exception("outputs could not be written")

    async def write_due(self) -> None:
        """Write the outputs whose time has come."""
        if self.executions.kernel_ids():
            await self._update_paths()
        for kernel_id in self.executions.kernel_ids():
            if self._is_due(kernel_id):
                await self._try_write(kernel_id)

    async def prepare_to_open(self, path: str) -> None:
        """Write the outputs that the notebook lacks, unless a page has it open."""
        await self._update_paths()
        for kernel_id in self._kernels_of(path):
            await self._try_write(kernel_id)

    async def note_saved(self, path: str, cells: Iterable[Any]) -> None:
        """Compare the cells that a page has saved with the kept outputs."""
        await self._update_paths()
        valid = [cell for cell in cells if isinstance(cell, Mapping)]
        self._drop_superseded(path)
        for kernel_id in self._kernels_of(path):
            self.executions.note_saved(kernel_id, valid)

    async def note_renamed(self, old: str, new: str) -> None:
        """Follow a renamed notebook or folder, even if no page has it open."""
        await self.rename_notebooks(old, new)
        for kernel in self._kernels.values():
            kernel.paths = frozenset(renamed(path, old, new) for path in kernel.paths)

    async def write_all(self) -> None:
        """Write everything, because the server ends; Slurm kills it if that takes too long."""
        try:
            async with asyncio.timeout(END_S):
                await self._update_paths()
                for kernel_id in self.executions.kernel_ids():
                    await self._try_write(kernel_id, even_if_open=True)
        except TimeoutError:
            log.warning("outputs could not be written: the server ends, and they took too long")

    async def _update_paths(self) -> None:
        """Look up the notebooks of the kernels; those of ended kernels stay known."""
        found: dict[str, set[str]] = {}
        for kernel_id, path in await self.list_notebooks():
            found.setdefault(kernel_id, set()).add(path.strip("/"))
        for kernel_id, paths in found.items():
            self._kernel(kernel_id).paths = frozenset(paths)
        wanted = self.executions.kernel_ids() | found.keys()
        self._kernels = {
            kernel_id: kernel for kernel_id, kernel in self._kernels.items() if kernel_id in wanted
        }

    def _kernel(self, kernel_id: str) -> _Kernel:
        return self._kernels.setdefault(kernel_id, _Kernel(self.clock() + GRACE_S))

    def _kernels_of(self, path: str) -> list[str]:
        return [kernel_id for kernel_id, kernel in self._kernels.items() if path in kernel.paths]

    def _drop_superseded(self, path: str) -> None:
        """Drop outputs of cells that were run again on another kernel of the same notebook."""
        self.executions.drop_superseded(self._kernels_of(path))

    def _is_open(self, kernel_id: str) -> bool:
        """Return whether a page has one of the kernel's notebooks open, with any kernel."""
        beside = [self._kernels_of(path) for path in self._kernels[kernel_id].paths]
        return any(self.executions.is_watched(one) for one in {kernel_id}.union(*beside))

    def _is_due(self, kernel_id: str) -> bool:
        kernel, now = self._kernel(kernel_id), self.clock()
        if self._is_open(kernel_id):
            kernel.next_write = max(kernel.next_write, now + GRACE_S)
            return False
        return now >= kernel.next_write and bool(self.executions.unwritten(kernel_id))

    async def _try_write(self, kernel_id: str, *, even_if_open: bool = False) -> None:
        """Write a kernel's outputs. Unexpected errors are logged: other kernels' outputs follow."""
        kernel = self._kernel(kernel_id)
        async with self.lock:
            if self._is_open(kernel_id) and not even_if_open:
                return
            begin = self.clock()
            kernel.next_write = begin + FAILED_EVERY_S
            try:
                problem = await self._write(kernel_id, kernel)
            except Exception:
                log.exception("outputs could not be written")
                return
            if problem is None:
                now = self.clock()
                kernel.next_write = now + max(EVERY_S, SHARE * (now - begin))
            elif problem != kernel.problem:
                log.warning("outputs could not be written: %s", problem)
            kernel.problem = problem

    async def _write(self, kernel_id: str, kernel: _Kernel) -> str | None:
        """Write a kernel's outputs into its notebooks; return why a notebook failed, if one did."""
        for path in kernel.paths:
            self._drop_superseded(path)
        unwritten, version = self.executions.unwritten(kernel_id), self.executions.version
        if not unwritten or not kernel.paths:
            return None
        updates = [to_update(one, only=len(kernel.paths) == 1) for one in unwritten]
        places, problem = dict[str, str](), None
        for path in kernel.paths:
            try:
                written = await write_file(self.root / path, updates)
            except (OSError, WriteFailed) as error:
                problem = str(error)
                continue
            places.update(written.cells)
            if written.after is not None:
                self.executions.reported_hashes.add(written.before, written.after)
        for execution in unwritten:
            if execution.id in places:
                self.executions.note_written(execution, places[execution.id], version)
            elif problem is None:
                self._note_unplaced(execution, version, kernel.paths)
        return problem

    def _note_unplaced(self, execution: Execution, version: int, paths: Iterable[str]) -> None:
        if not execution.written:
            log.warning("outputs are not written: %r lacks the cell that was run", sorted(paths))
        self.executions.note_unplaced(execution, version)


def renamed(path: str, old: str, new: str) -> str:
    """Return the path of a file after a rename of it, or of a folder that contains it."""
    if path == old or path.startswith(f"{old}/"):
        return new + path[len(old) :]
    return path


def to_update(execution: Execution, *, only: bool) -> dict[str, Any]:
    """Return the request of the program in notebook_file.py for an execution.

    A cell gets its execution count only together with all of its outputs, as in JupyterLab, which
    `Execution.is_in` relies on. `only` means that the kernel has no other notebook, to which the
    cell could belong.
    """
    return {
        "id": execution.id,
        "cell": execution.target_cell,
        "code": execution.code,
        "count": execution.count if execution.done else None,
        "outputs": execution.outputs.to_json(),
        "unsaved": only and not execution.in_file,
    }


async def write_file(path: Path, updates: list[dict[str, Any]]) -> Written:
    """Write outputs into a file, by a program of its own.

    Raises OSError or WriteFailed.
    """
    size = (await asyncio.to_thread(path.stat)).st_size
    problem = explain_missing_memory(size, WRITE_FACTOR, memory_of_job())
    if problem is not None:
        raise WriteFailed(f"{path}: {problem}")
    # half of a surrogate pair is no text: a file with it could not be written
    request = json.dumps(updates, ensure_ascii=False).encode(errors="replace")
    try:
        async with asyncio.timeout(PROGRAM_S):
            answer = await run_program([sys.executable, "-I", "-m", PROGRAM, str(path)], request)
    except TimeoutError:
        raise WriteFailed(f"{path}: it took longer than {PROGRAM_S:.0f} seconds") from None
    result = json.loads(answer)
    return Written(result["written"], result["before"], result["after"])


async def run_program(command: Sequence[str], request: bytes) -> bytes:
    """Run a program and return its output; it never outlives the call. Raises WriteFailed."""
    pipe = asyncio.subprocess.PIPE
    program = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
    try:
        answer, errors = await program.communicate(request)
    finally:
        if program.returncode is None:
            program.terminate()
            await end_program(program)
    if program.returncode != 0:
        reason = errors.decode(errors="replace").strip().splitlines()
        raise WriteFailed(reason[-1] if reason else f"exit status {program.returncode}")
    return answer


async def end_program(program: asyncio.subprocess.Process) -> None:
    """Wait for a terminated program, which removes its temporary file, and kill it if needed."""
    try:
        async with asyncio.timeout(TERMINATE_S):
            await program.wait()
    except TimeoutError:
        program.kill()
        await program.wait()
