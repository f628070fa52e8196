"""The file with the operator's table of nodes, read again when it changes.

One that can't be read, or that is no YAML, leaves what was known before; what is wrong is told in
the log and by `portal check`; the status page tells which lines, for others see that too.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import structlog

from portal.services.cluster.node_table import (
    Addresses,
    Problem,
    Table,
    parse_csv,
    parse_yaml,
    unread,
)

log = structlog.get_logger(__name__)

LOOK_EVERY_S = 5.0
MOST_BYTES = 8 * 1024**2


def read(file: Path) -> Table:
    """A file, by its name CSV or YAML. Nothing is raised: what is wrong is in the table."""
    try:
        with file.open("rb") as opened:
            data = opened.read(MOST_BYTES + 1)
    except OSError as error:
        return unread(f"it can't be read: {error.strerror}")
    if len(data) > MOST_BYTES:
        return unread(f"it is larger than {MOST_BYTES // 1024**2} MiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return unread("it isn't UTF-8 text")
    return parse_csv(text) if file.suffix.lower() == ".csv" else parse_yaml(text)


class NodeTable:
    """What `parts.node_table` is: `nodes` by name, and `problems` of the file as it is now."""

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self.nodes: Mapping[str, Addresses] = {}
        self.problems: tuple[Problem, ...] = ()
        self._stamp: tuple[int, ...] | None = None

    async def run(self) -> None:
        """Keep up with the file until cancelled."""
        while True:
            await self.refresh()
            await asyncio.sleep(LOOK_EVERY_S)

    async def refresh(self) -> None:
        """Read the file again if it isn't what it was."""
        if self.file is None:
            return
        stamp = await asyncio.to_thread(_stamp, self.file)
        if stamp == self._stamp:
            return
        table = await asyncio.to_thread(read, self.file)
        self._stamp = stamp
        if table.complete:
            self.nodes = table.nodes
        if table.problems and table.problems != self.problems:
            told = [str(one) for one in table.problems[:20]]
            log.warning("the table of nodes has mistakes", file=str(self.file), problems=told)
        self.problems = table.problems


def _stamp(file: Path) -> tuple[int, ...]:
    try:
        state = file.stat()
    except OSError as error:
        return (error.errno or 0,)
    return state.st_mtime_ns, state.st_size, state.st_ino
