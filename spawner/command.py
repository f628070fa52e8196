"""Runner for a site's own command, which keeps the end of its output.

The command gets an open, locked file as standard input. The lock lasts until the last process that
holds the file is gone, even through sudo and if the starting process was killed. So before the next
start it is known whether anything of the previous run is left.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from spawner import subprocesses
from spawner.containers.runtimes import SYSTEM_PATH

CHUNK_BYTES = 16 * 1024
GRACE_S = 5.0
ENVIRONMENT = {"PATH": SYSTEM_PATH, "LANG": "C.UTF-8"}


@dataclass(frozen=True)
class Ended:
    """Result of a command.

    `exit_code` is negative for a signal, and None if the command could not be started. `output` is
    the end of both its streams. `late` means that it exceeded its time limit.
    """

    exit_code: int | None
    output: str
    late: bool = False


class _Tail:
    """The last `most` bytes of a stream."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes = bytearray()

    async def follow(self, stream: asyncio.StreamReader) -> None:
        while chunk := await stream.read(CHUNK_BYTES):
            self._bytes += chunk
            del self._bytes[: -self._most]

    def text(self) -> str:
        """Return the text without NUL, which some databases reject."""
        return self._bytes.decode("utf-8", "replace").replace("\0", "")


async def run(arguments: Sequence[str], *, lock: int, timeout_s: float, output_bytes: int) -> Ended:
    """Run the command to its end.

    After the timeout it is terminated, then killed. If the portal may not kill it, because sudo
    changed its account, the call keeps waiting.
    """
    try:
        process = await subprocesses.start(
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
            await _terminate(process)
        if reading is not None:  # A process that it left behind may hold the pipe open.
            await asyncio.wait([reading], timeout=GRACE_S)
    finally:
        if reading is not None:
            reading.cancel()
        if process.returncode is None:
            _signal(process, signal.SIGKILL)
    return Ended(process.returncode, tail.text(), late)


async def _terminate(process: asyncio.subprocess.Process) -> None:
    _signal(process, signal.SIGTERM)
    try:
        await asyncio.wait_for(process.wait(), GRACE_S)
    except TimeoutError:
        _signal(process, signal.SIGKILL)
        await process.wait()


def _signal(process: asyncio.subprocess.Process, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
