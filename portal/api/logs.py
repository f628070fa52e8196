"""Log responses for sessions and jobs: a piece, a stream of pieces, and the whole log as a file."""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel

from portal.api.file_answer import CONFINED, OCTETS, Streamed, disposition
from portal.context import AppContext
from portal.services.slurm.logs import CHUNK, LogPlace, whole
from portal.streaming.sse import PING, sse
from portal.web.dependencies import Identity, still_open

Stream = Literal["stdout", "stderr"]
PieceBytes = Annotated[int, Query(ge=1, le=CHUNK)]
POLL_S = 1.0
RECHECK_S = 2.0  # plus the time of a poll, a disabled user reads on for at most three seconds
PING_EVERY = 15
BEHIND = 8 * CHUNK  # a reader who is farther behind skips to the end
AS_FILE: dict[int | str, dict[str, Any]] = {
    200: {"content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}}}
}


class LogPiece(BaseModel):
    """A piece of a log, from `offset` up to `next_offset`, in bytes.

    `end`: nothing will follow. Invalid UTF-8 is shown as U+FFFD.
    """

    text: str
    offset: int
    next_offset: int
    size: int
    end: bool


async def follow(
    context: AppContext,
    who: Identity,
    topic: str,
    read: Callable[[int], Awaitable[dict[str, Any]]],
    offset: int,
) -> AsyncIterator[bytes]:
    """Yield events `log` until the log's end, or until `who` may no longer read it; one piece is in
    memory at a time.
    """
    quiet, checked_s = 0, time.monotonic()
    async with context.notifier.listen(topic) as listener:
        while not context.notifier.closed:
            piece = await read(offset)
            if time.monotonic() - checked_s >= RECHECK_S:
                if not await still_open(context.db, context.settings, who):
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
                    yield PING  # detects a closed connection
                await listener.wait(POLL_S)


async def as_file(
    context: AppContext, who: Identity, username: str, log: LogPlace, name: str
) -> Streamed:
    """Return a log as a download with this name, byte for byte, as far as it is written now."""
    pieces = whole(context, username, log)
    first = await anext(pieces, b"")
    headers = {
        **CONFINED,
        "Content-Type": OCTETS,
        "Content-Disposition": disposition(name),
    }
    goes_on = partial(still_open, context.db, context.settings, who)
    return Streamed(
        _prepend(first, pieces), AsyncExitStack(), goes_on, status_code=200, headers=headers
    )


async def _prepend(first: bytes, rest: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    yield first
    async for piece in rest:
        yield piece
