"""The file with the operator's table of nodes, which is read again when it changes.

If it cannot be read or parsed, the last good contents remain. The problems are reported in the log
and by `portal check`; the status page names only the lines, because others see it too.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import structlog

from portal.services.cluster.node_table import (
    ParsedTable,
    TableAddresses,
    TableProblem,
    parse_csv,
    parse_yaml,
    unread,
)

log = structlog.get_logger(__name__)

POLL_S = 5.0
MAX_BYTES = 8 * 1024**2


def read(file: Path) -> ParsedTable:
    """Read a file as CSV or YAML, by its name. Raises nothing: problems are in the table."""
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
    except OSError as error:
        return unread(f"it can't be read: {error.strerror}")
    if len(data) > MAX_BYTES:
        return unread(f"it is larger than {MAX_BYTES // 1024**2} MiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return unread("it isn't UTF-8 text")
    return parse_csv(text) if file.suffix.lower() == ".csv" else parse_yaml(text)


class NodeTable:
    """The type of `context.node_table`: `nodes` by name, and `problems` of the current file."""

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self.nodes: Mapping[str, TableAddresses] = {}
        self.problems: tuple[TableProblem, ...] = ()
        self._last_stamp: tuple[int, ...] | None = None

    async def refresh(self) -> None:
        """Read the file again if it has changed."""
        if self.file is None:
            return
        stamp = await asyncio.to_thread(_read_stamp, self.file)
        if stamp == self._last_stamp:
            return
        table = await asyncio.to_thread(read, self.file)
        self._last_stamp = stamp
        if table.complete:
            self.nodes = table.nodes
        if table.problems and table.problems != self.problems:
            texts = [str(problem) for problem in table.problems[:20]]
            log.warning("the table of nodes has mistakes", file=str(self.file), problems=texts)
        self.problems = table.problems


def _read_stamp(file: Path) -> tuple[int, ...]:
    try:
        state = file.stat()
    except OSError as error:
        return (error.errno or 0,)
    return state.st_mtime_ns, state.st_size, state.st_ino
