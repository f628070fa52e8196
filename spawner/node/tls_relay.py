"""TLS in front of a server that knows none: what comes in is passed to a socket on this node.

In a thread of its own, so that the program can wait for its child meanwhile. It knows the
certificate that it shows (none: it only passes on) and the path of the socket, and nothing of what
passes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
import threading
from pathlib import Path

log = logging.getLogger("portal")

CHUNK_BYTES = 64 * 1024
HANDSHAKE_S = 10.0


def serve_in_background(
    listener: socket.socket, context: ssl.SSLContext | None, inner: Path
) -> None:
    """Take connections on `listener` until the process ends."""
    loop = asyncio.new_event_loop()

    def run() -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(serve(listener, context, inner))

    threading.Thread(target=run, name="tls", daemon=True).start()


async def serve(listener: socket.socket, context: ssl.SSLContext | None, inner: Path) -> None:
    """Take connections on `listener` until cancelled."""

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _relay(reader, writer, inner)

    patience = HANDSHAKE_S if context is not None else None
    server = await asyncio.start_server(
        relay, sock=listener, ssl=context, ssl_handshake_timeout=patience, limit=CHUNK_BYTES
    )
    async with server:
        await server.serve_forever()


async def _relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, inner: Path) -> None:
    """One connection, both ways. TLS has no half-closed one, so it is over when either side is."""
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(_closed, writer)
        try:
            inner_reader, inner_writer = await asyncio.open_unix_connection(inner)
        except OSError as error:
            log.warning("a connection can't be passed on: %s", error)
            return
        stack.push_async_callback(_closed, inner_writer)
        ways = [
            asyncio.ensure_future(_pump(reader, inner_writer)),
            asyncio.ensure_future(_pump(inner_reader, writer)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what comes until there is no more; either side may go away at any moment."""
    with contextlib.suppress(OSError):
        while chunk := await reader.read(CHUNK_BYTES):
            writer.write(chunk)
            await writer.drain()


async def _closed(writer: asyncio.StreamWriter) -> None:
    """Closed, what was written sent; the other side may be gone already."""
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
