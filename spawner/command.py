"""Runs a site's own command, and keeps the end of what it prints.

The command gets an open, locked file as standard input: the lock lasts until the last process that
has it is gone, through sudo too and though whoever started it was killed. That tells the next one
who would start it when nothing of the old one is left.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from spawner.pull import PATH

CHUNK_BYTES = 16 * 1024
GRACE_S = 5.0
ENVIRONMENT = {"PATH": PATH, "LANG": "C.UTF-8"}


@dataclass(frozen=True)
class Ended:
    """`exit_code`: negative for a signal, None if the command couldn't be started. `output`: the
    end of both its streams. `late`: it had to be ended."""

    exit_code: int | None
    output: str
    late: bool = False


class _Tail:
    """The last so many bytes of what goes by."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes = bytearray()

    async def follow(self, stream: asyncio.StreamReader) -> None:
        while chunk := await stream.read(CHUNK_BYTES):
            self._bytes += chunk
            del self._bytes[: -self._most]

    def text(self) -> str:
        """Without what some databases don't take."""
        return self._bytes.decode("utf-8", "replace").replace("\0", "")


async def run(arguments: Sequence[str], *, lock: int, timeout_s: float, output_bytes: int) -> Ended:
    """Run the command to its end. One that takes longer is asked to end, then killed; one that the
    portal may not kill, because sudo made it another account's, is waited for still."""
    try:
        process = await asyncio.create_subprocess_exec(
            *arguments,
            stdin=lock,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=ENVIRONMENT,
            cwd="/",
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        words = error.strerror if isinstance(error, OSError) else str(error)
        return Ended(None, f"The program {arguments[0]} can't be run: {words}.")
    tail = _Tail(output_bytes)
    stream = process.stdout
    reading = asyncio.ensure_future(tail.follow(stream)) if stream is not None else None
    late = False
    try:
        try:
            await asyncio.wait_for(process.wait(), timeout_s)
        except TimeoutError:
            late = True
            await _end(process)
        if reading is not None:  # what it left running may hold the pipe for ever
            await asyncio.wait([reading], timeout=GRACE_S)
    finally:
        if reading is not None:
            reading.cancel()
        if process.returncode is None:
            _signal(process, signal.SIGKILL)
    return Ended(process.returncode, tail.text(), late)


async def _end(process: asyncio.subprocess.Process) -> None:
    _signal(process, signal.SIGTERM)
    try:
        await asyncio.wait_for(process.wait(), GRACE_S)
    except TimeoutError:
        _signal(process, signal.SIGKILL)
        await process.wait()


def _signal(process: asyncio.subprocess.Process, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
