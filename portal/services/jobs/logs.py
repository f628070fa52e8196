"""Pieces of a log, read as its owner, each of a bounded size however long the log is."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

from portal.parts import Parts
from portal.services.slurm import launch
from spawner.errors import SpawnerError

CHUNK = 128 * 1024
_CONTINUES = range(0x80, 0xC0)
_LONGEST_CHARACTER = 4


@dataclass(frozen=True)
class LogPlace:
    """A log's file: below the jobs' folder of its owner, or, if `absolute`, wherever it is."""

    path: str
    absolute: bool = False


async def read_piece(
    parts: Parts, username: str, log: LogPlace, offset: int, *, ended: bool, limit: int = CHUNK
) -> dict[str, Any]:
    """A piece of a log of at most `limit` bytes; a negative offset counts from the end.

    Text is decoded leniently: whatever a job prints can be shown. Characters aren't cut in two
    between pieces. `end` says that nothing more will come.
    """
    limit = min(limit, CHUNK)
    wanted = max(offset, -limit)
    reader = parts.agents.read_file if log.absolute else parts.agents.read
    try:
        data, size, following = await reader(username, log.path, offset=wanted, limit=limit)
    except SpawnerError as error:
        raise launch.explained(error) from error
    skipped = _skip(data) if wanted < 0 and following > len(data) else 0
    cut = _cut(data) if following < size or not ended else 0
    whole = data[skipped : len(data) - cut]
    following -= cut
    return {
        "text": whole.decode("utf-8", "replace"),
        "offset": following - len(whole),
        "next_offset": following,
        "size": size,
        "end": ended and following >= size,
    }


async def whole(parts: Parts, username: str, log: LogPlace) -> AsyncGenerator[bytes]:
    """All of a log as it lies there, up to where it ends at the beginning of reading: what is being
    written has an end, too. A log that nobody has begun is empty.

    The first piece is empty if there is nothing; it comes before anything is promised, so that what
    can't be read is refused. Raises PortalError then, and SpawnerError later.
    """
    reader = parts.agents.read_file if log.absolute else parts.agents.read
    try:
        data, size, offset = await reader(username, log.path, offset=0, limit=CHUNK)
    except SpawnerError as error:
        raise launch.explained(error) from error
    yield data
    while data and offset < size:
        limit = min(CHUNK, size - offset)
        data, _, offset = await reader(username, log.path, offset=offset, limit=limit)
        yield data


def _skip(data: bytes) -> int:
    """How many bytes at the beginning are the rest of a character that began before."""
    start = data[: _LONGEST_CHARACTER - 1]
    return next((at for at, byte in enumerate(start) if byte not in _CONTINUES), 0)


def _cut(data: bytes) -> int:
    """How many bytes at the end are the beginning of a character whose rest is still to come."""
    for back in range(1, min(_LONGEST_CHARACTER, len(data) + 1)):
        byte = data[-back]
        if byte in _CONTINUES:
            continue
        return back if _length(byte) > back else 0
    return 0


def _length(first: int) -> int:
    """How many bytes a character has that begins with this one (RFC 3629)."""
    for below, length in ((0xC2, 1), (0xE0, 2), (0xF0, 3), (0xF5, 4)):
        if first < below:
            return length
    return 1
