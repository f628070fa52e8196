"""Logs of sessions and jobs on the wire: a piece, pieces as they come, and the whole as a file."""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel

from portal.api.deps import Identity, still_open
from portal.api.file_answer import CONFINED, OCTETS, Streamed, disposition
from portal.api.streams import PING, sse
from portal.parts import Parts
from portal.services.jobs.logs import CHUNK, LogPlace, whole

Stream = Literal["stdout", "stderr"]
PieceBytes = Annotated[int, Query(ge=1, le=CHUNK)]
POLL_S = 1.0
RECHECK_S = 2.0  # with what a poll takes, whoever was disabled reads on for three seconds at most
PING_EVERY = 15
BEHIND = 8 * CHUNK  # farther behind than this, a reader is brought to the end
AS_FILE: dict[int | str, dict[str, Any]] = {
    200: {"content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}}}
}


class LogPiece(BaseModel):
    """A piece of a log, from `offset` up to `next_offset`, in bytes. `end` says that nothing will
    follow. What is no UTF-8 is shown as U+FFFD."""

    text: str
    offset: int
    next_offset: int
    size: int
    end: bool


async def follow(
    parts: Parts,
    who: Identity,
    topic: str,
    read: Callable[[int], Awaitable[dict[str, Any]]],
    offset: int,
) -> AsyncIterator[bytes]:
    """Events `log` until the log's end, or until `who` may not see them any more; one piece is
    held at a time."""
    quiet, checked_s = 0, time.monotonic()
    async with parts.changes.listen(topic) as listener:
        while not parts.changes.closed:
            piece = await read(offset)
            if time.monotonic() - checked_s >= RECHECK_S:
                if not await still_open(parts.db, parts.settings, who):
                    return
                checked_s = time.monotonic()
            offset = piece["next_offset"]
            if piece["text"] or piece["end"]:
                quiet = 0
                yield sse("log", LogPiece(**piece).model_dump_json())
            if piece["end"]:
                return
            if piece["size"] - offset > BEHIND:
                offset = -CHUNK
            elif offset >= piece["size"] or not piece["text"]:
                quiet += 1
                if quiet % PING_EVERY == 0:
                    yield PING  # finds out whether anyone still listens
                await listener.wait(POLL_S)


async def as_file(parts: Parts, who: Identity, username: str, log: LogPlace, name: str) -> Streamed:
    """A log to be saved under this name, byte for byte, as far as it is written by now."""
    pieces = whole(parts, username, log)
    first = await anext(pieces, b"")
    headers = {
        **CONFINED,
        "Content-Type": OCTETS,
        "Content-Disposition": disposition(name),
    }
    goes_on = partial(still_open, parts.db, parts.settings, who)
    return Streamed(
        _with(first, pieces), AsyncExitStack(), goes_on, status_code=200, headers=headers
    )


async def _with(first: bytes, rest: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    yield first
    async for piece in rest:
        yield piece
