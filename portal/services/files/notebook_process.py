"""Parsing of notebooks in a separate process.

Parsing JSON holds the interpreter's lock: a crafted file of 8 MiB would block the portal for
seconds, and use hundreds of megabytes of its memory.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from portal.services.concurrency import ConcurrencyLimit, RequestQueue
from portal.services.files import notebook_preview
from spawner import subprocesses

MAX_RUNNING = 2
PER_USER = 10
TOO_MANY = "Too many notebook previews are being prepared for you. Wait until they are shown."
TIMEOUT_S = 30.0
MAX_OUTPUT = 32 << 20
IMPORT_FROM = str(Path(__file__).resolve().parents[3])


class NotebookParser:
    """Queue that reads and parses one notebook per user at a time, and a few in total."""

    def __init__(self) -> None:
        self._running = asyncio.Semaphore(MAX_RUNNING)
        self._queue = RequestQueue(1, ConcurrencyLimit(PER_USER, PER_USER, TOO_MANY))

    async def cells(
        self, username: str, read: Callable[[], Awaitable[bytes]]
    ) -> dict[str, Any] | None:
        """Return the result of `notebook_preview.cells` for the file; None also if it takes
        too much time or memory.

        `read` is called when it is this request's turn, so that waiting files are not kept in
        memory. Raises TooManyRequests.
        """
        async with self._queue.wait_turn(username, "preview"):
            data = await read()
            async with self._running:
                output = await _run_parser(data)
        if output is None or len(output) > MAX_OUTPUT:
            return None
        parsed: dict[str, Any] | None = await asyncio.to_thread(json.loads, output)
        return parsed


async def _run_parser(data: bytes) -> bytes | None:
    """Return the program's output, or None if it failed."""
    process = await subprocesses.start(
        sys.executable,
        "-S",
        "-m",
        notebook_preview.__name__,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"PYTHONPATH": IMPORT_FROM, "PYTHONDONTWRITEBYTECODE": "1"},
        cwd="/",
    )
    try:
        async with asyncio.timeout(TIMEOUT_S):
            output, _ = await process.communicate(data)
    except TimeoutError:
        return None
    finally:
        await subprocesses.end(process)
    return output if process.returncode == 0 else None
