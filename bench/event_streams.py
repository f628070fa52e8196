"""Clients of the portal's event streams: one connection each, read by a minimal parser."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from bench.load import BadResponse, Target

OPEN_S = 60.0
EVENT = b"event: "
DATA = b"\ndata: "


class EventStream(asyncio.Protocol):
    """One open stream, which passes the names and data of its events to `receive`."""

    def __init__(self, request: bytes, receive: Callable[[bytes, bytes], None]) -> None:
        self._request, self._receive = request, receive
        self._buffer = b""
        self._transport: asyncio.Transport | None = None
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done with the first event."""
        self.lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if not self.opened.done() and data.startswith(b"HTTP/1.1 ") and data[9:12] != b"200":
            self.opened.set_exception(BadResponse(data[:1000].decode(errors="replace")))
            self.close()
        # an event is never split over two chunks, so their lengths lie between events
        *blocks, self._buffer = (self._buffer + data).split(b"\n\n")
        for block in blocks:
            name, found, value = block[block.find(EVENT) + len(EVENT) :].partition(DATA)
            if not found:
                continue
            if not self.opened.done():
                self.opened.set_result(None)
            self._receive(name, value)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        if not self.opened.done():
            start = self._buffer[:1000].decode(errors="replace")
            self.opened.set_exception(exc or BadResponse(f"a stream ended at once: {start}"))

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()


async def open_stream(target: Target, receive: Callable[[bytes, bytes], None]) -> EventStream:
    """Open a stream and wait for its first event."""
    loop = asyncio.get_running_loop()
    _, stream = await loop.create_connection(
        lambda: EventStream(target.request, receive), target.host, target.port
    )
    try:
        async with asyncio.timeout(OPEN_S):
            await stream.opened
    except BaseException:
        stream.close()
        raise
    return stream
