"""Pieces of a log, read as its owner; each piece is bounded, however long the log is."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

from portal.context import AppContext
from portal.services.slurm import launch
from spawner.errors import SpawnerError

CHUNK = 128 * 1024
_CONTINUATION_BYTES = range(0x80, 0xC0)
_LONGEST_CHARACTER = 4


@dataclass(frozen=True)
class LogPlace:
    """The path of a log: relative to the owner's jobs folder, or anywhere if `absolute`."""

    path: str
    absolute: bool = False


async def read_piece(
    context: AppContext,
    username: str,
    log: LogPlace,
    offset: int,
    *,
    ended: bool,
    limit: int = CHUNK,
) -> dict[str, Any]:
    """Return a piece of a log of at most `limit` bytes; a negative offset counts from the end.

    Text is decoded leniently, so that any output of a job can be shown. Characters are not split
    between pieces. `end` means that no more output will come.
    """
    limit = min(limit, CHUNK)
    start = max(offset, -limit)
    reader = context.launchers.read_file if log.absolute else context.launchers.read
    try:
        data, size, following = await reader(username, log.path, offset=start, limit=limit)
    except SpawnerError as error:
        raise launch.to_launch_error(error) from error
    skipped = _count_continued(data) if start < 0 and following > len(data) else 0
    cut = _count_incomplete(data) if following < size or not ended else 0
    complete = data[skipped : len(data) - cut]
    following -= cut
    return {
        "text": complete.decode("utf-8", "replace"),
        "offset": following - len(complete),
        "next_offset": following,
        "size": size,
        "end": ended and following >= size,
    }


async def stream_log(context: AppContext, username: str, log: LogPlace) -> AsyncGenerator[bytes]:
    """Yield a whole log, up to its size when reading begins, so that reading ends also for a log
    that is being written. A log that does not exist yet is empty.

    The first piece is for the caller to await before it starts the response, so that the response
    can be an error if the log cannot be read; it is empty if the log is. Raises PortalError for the
    first piece, SpawnerError later.
    """
    reader = context.launchers.read_file if log.absolute else context.launchers.read
    try:
        data, size, offset = await reader(username, log.path, offset=0, limit=CHUNK)
    except SpawnerError as error:
        raise launch.to_launch_error(error) from error
    yield data
    while data and offset < size:
        limit = min(CHUNK, size - offset)
        data, _, offset = await reader(username, log.path, offset=offset, limit=limit)
        yield data


def _count_continued(data: bytes) -> int:
    """Count the bytes at the beginning that belong to a character that began before."""
    start = data[: _LONGEST_CHARACTER - 1]
    return next((index for index, byte in enumerate(start) if byte not in _CONTINUATION_BYTES), 0)


def _count_incomplete(data: bytes) -> int:
    """Count the bytes at the end that begin a character whose rest is still to come."""
    for back in range(1, min(_LONGEST_CHARACTER, len(data) + 1)):
        byte = data[-back]
        if byte in _CONTINUATION_BYTES:
            continue
        return back if _count_character_bytes(byte) > back else 0
    return 0


def _count_character_bytes(first: int) -> int:
    """Return the length in bytes of a character with this first byte (RFC 3629)."""
    for below, length in ((0xC2, 1), (0xE0, 2), (0xF0, 3), (0xF5, 4)):
        if first < below:
            return length
    return 1
