"""Writing of kept outputs into notebooks that no page has open.

While a page is connected to the kernel, it has the outputs and saves them: the server writes
nothing, so that no page finds its file changed. Otherwise the server writes them at intervals, when
the cells are done, before the notebook is opened, and before the server ends.
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
from spawner.node.jupyter.outputs.headroom import WRITE_FACTOR, describe_lack
from spawner.node.usage.meter import memory_of_job

log = logging.getLogger("portal")

TICK_S = 2.0
GRACE_S = 10.0
"""Time without a page after which the server writes: a page that reloads is back before."""
EVERY_S = 20.0
OPENING_S = 60.0
"""Time for a page that reads a notebook to connect to its kernel."""
SHARE = 20
"""Writing takes at most one part in this many of the time: a large notebook is written rarely."""
FAILED_EVERY_S = 60.0
PROGRAM = "spawner.node.jupyter.outputs.notebook_file"

ListNotebooks = Callable[[], Awaitable[Sequence[tuple[str, str]]]]
"""Returns the kernel id and path, relative to the root folder, of each notebook with a kernel."""


class WriteFailed(Exception):
    """The outputs could not be written; the message has the reason."""


@dataclass
class _Kernel:
    """The notebooks of a kernel, and when they may be written, by the clock."""

    paths: frozenset[str] = frozenset()
    unwatched_since: float | None = None
    opened_at: float = float("-inf")
    next_write: float = float("-inf")


@dataclass
class OutputWriter:
    """Task in the server's event loop; `lock` is held while a notebook's file is changed."""

    executions: Executions
    root: Path
    list_notebooks: ListNotebooks
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
                await self._write(kernel_id)

    async def prepare_to_open(self, path: str) -> None:
        """Write the outputs that the notebook lacks, unless a page has it open."""
        await self._update_paths()
        for kernel_id in self._kernels_of(path):
            self._kernels[kernel_id].opened_at = self.clock()
            if not self._is_open(kernel_id):
                await self._write(kernel_id)

    async def note_saved(self, path: str, cells: Iterable[Any]) -> None:
        """Compare the cells that a page has saved with the kept outputs."""
        await self._update_paths()
        valid = [cell for cell in cells if isinstance(cell, Mapping)]
        for kernel_id in self._kernels_of(path):
            only = len(self._kernels[kernel_id].paths) == 1
            self.executions.note_saved(kernel_id, valid, only=only)

    async def write_all(self) -> None:
        """Write everything, because the server ends."""
        await self._update_paths()
        for kernel_id in self.executions.kernel_ids():
            await self._write(kernel_id)

    async def _update_paths(self) -> None:
        """Look up the notebooks of the kernels; those of ended kernels stay known."""
        found: dict[str, set[str]] = {}
        for kernel_id, path in await self.list_notebooks():
            found.setdefault(kernel_id, set()).add(path.strip("/"))
        for kernel_id, paths in found.items():
            self._kernels.setdefault(kernel_id, _Kernel()).paths = frozenset(paths)
        wanted = self.executions.kernel_ids() | found.keys()
        self._kernels = {
            kernel_id: kernel for kernel_id, kernel in self._kernels.items() if kernel_id in wanted
        }

    def _kernels_of(self, path: str) -> list[str]:
        return [kernel_id for kernel_id, kernel in self._kernels.items() if path in kernel.paths]

    def _is_open(self, kernel_id: str) -> bool:
        """Return whether a page has one of the kernel's notebooks open, with any kernel."""
        beside = [self._kernels_of(path) for path in self._kernels[kernel_id].paths]
        return any(self.executions.is_watched(one) for one in {kernel_id}.union(*beside))

    def _is_due(self, kernel_id: str) -> bool:
        kernel, now = self._kernels.setdefault(kernel_id, _Kernel()), self.clock()
        if self._is_open(kernel_id):
            kernel.unwatched_since, kernel.opened_at = None, float("-inf")
            return False
        if kernel.unwatched_since is None:
            kernel.unwatched_since = now
        waited = now - kernel.unwatched_since >= GRACE_S and now - kernel.opened_at >= OPENING_S
        if not waited or not self.executions.unwritten(kernel_id):
            return False
        ended = all(one.done for one in self.executions.of_kernel(kernel_id))
        return now >= kernel.next_write - (EVERY_S if ended else 0)

    async def _write(self, kernel_id: str) -> None:
        """Write a kernel's outputs into its notebooks; a failure is logged, and tried again."""
        kernel = self._kernels.setdefault(kernel_id, _Kernel())
        unwritten, version = self.executions.unwritten(kernel_id), self.executions.version
        if not unwritten or not kernel.paths:
            return
        begin = self.clock()
        only = len(kernel.paths) == 1
        try:
            async with self.lock:
                updates = [to_update(one, only=only) for one in unwritten]
                for path in kernel.paths:
                    await write_file(self.root / path, updates)
        except (OSError, WriteFailed) as error:
            log.warning("outputs could not be written: %s", error)
            kernel.next_write = self.clock() + FAILED_EVERY_S
            return
        kernel.next_write = self.clock() + max(EVERY_S, SHARE * (self.clock() - begin))
        for execution in unwritten:
            self.executions.note_written(execution, version)


def to_update(execution: Execution, *, only: bool) -> dict[str, Any]:
    """Return the request of the program in notebook_file.py for an execution.

    `only` means that the kernel has no other notebook, to which the cell could belong.
    """
    return {
        "cell": execution.cell,
        "source": execution.file_code if only else execution.code,
        "count": execution.count or None,
        "outputs": execution.outputs.to_json(),
        "unsaved": only and not execution.in_file,
    }


async def write_file(path: Path, updates: list[dict[str, Any]]) -> None:
    """Write outputs into a file, by a program of its own. Raises OSError or WriteFailed."""
    size = (await asyncio.to_thread(path.stat)).st_size
    lack = describe_lack(size, WRITE_FACTOR, memory_of_job())
    if lack is not None:
        raise WriteFailed(f"{path}: {lack}")
    request = json.dumps({"path": str(path), "updates": updates}).encode()
    pipe = asyncio.subprocess.PIPE
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-m", PROGRAM, stdin=pipe, stdout=pipe, stderr=pipe
    )
    _, errors = await program.communicate(request)
    if program.returncode != 0:
        reason = errors.decode(errors="replace").strip().splitlines()
        raise WriteFailed(reason[-1] if reason else f"exit status {program.returncode}")
