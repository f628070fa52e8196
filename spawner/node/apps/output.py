"""Bounded log of a program: the last part of its output.

It is in two files, of which the older is replaced. Standard library only.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from spawner.names import remove_invisible

FILE_BYTES = 128 * 1024
TAIL_BYTES = 8 * 1024
TAIL_LINES = 40
LINE_CHARS = 500
_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


class OutputLog:
    """The log that one process writes. Output of any length takes the space of two files at most.

    The folder is this user's alone.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("wb", buffering=0)
        self._size = 0

    def write(self, data: bytes) -> None:
        """Append output, of which only the end is kept if it is longer than a file."""
        kept = data[-FILE_BYTES:]
        if self._size + len(kept) > FILE_BYTES:
            self._file.close()
            self._path.replace(_older(self._path))
            self._file = self._path.open("wb", buffering=0)
            self._size = 0
        self._file.write(kept)
        self._size += len(kept)

    def close(self) -> None:
        self._file.close()


def read_tail(path: Path) -> list[str]:
    """Return the last lines, without control characters; none if there is no log."""
    data = b""
    for file in (_older(path), path):
        with suppress(OSError):
            data += file.read_bytes()
    text = data[-TAIL_BYTES:].decode(errors="replace")
    lines = [_to_plain(line) for line in text.split("\n")]
    return [line for line in lines if line][-TAIL_LINES:]


def _to_plain(line: str) -> str:
    """Return a line as a terminal shows it at its end, without colors and control characters."""
    shown = _SEQUENCE.sub("", line.rstrip("\r").rpartition("\r")[2]).expandtabs(4)
    return remove_invisible(shown)[:LINE_CHARS].rstrip()


def _older(path: Path) -> Path:
    return path.with_name(f"{path.name}.1")
