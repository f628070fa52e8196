"""Relay in front of a server without TLS: forwards connections to a socket or a port on this node.

It can run in a thread, so that the program can wait for its child in parallel. It needs only its
certificate (none: plain forwarding) and the address, and does not interpret the data.
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

Inner = Path | int
"""Path of a Unix socket, or a port on the loopback interface."""


def serve_in_background(
    listener: socket.socket, context: ssl.SSLContext | None, inner: Inner
) -> None:
    """Accept connections on `listener` until the process ends."""
    loop = asyncio.new_event_loop()

    def run() -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(serve(listener, context, inner))

    threading.Thread(target=run, name="tls", daemon=True).start()


async def serve(listener: socket.socket, context: ssl.SSLContext | None, inner: Inner) -> None:
    """Accept connections on `listener` until cancelled."""

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _relay(reader, writer, inner)

    patience = HANDSHAKE_S if context is not None else None
    server = await asyncio.start_server(
        relay, sock=listener, ssl=context, ssl_handshake_timeout=patience, limit=CHUNK_BYTES
    )
    async with server:
        await server.serve_forever()


async def _relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, inner: Inner) -> None:
    """Forward one connection in both directions, until either side ends.

    TLS has no half-closed connections.
    """
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(_close, writer)
        try:
            inner_reader, inner_writer = await _connect(inner)
        except OSError as error:
            log.warning("a connection can't be forwarded: %s", error)
            return
        stack.push_async_callback(_close, inner_writer)
        directions = [
            asyncio.ensure_future(_pump(reader, inner_writer)),
            asyncio.ensure_future(_pump(inner_reader, writer)),
        ]
        try:
            await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for direction in directions:
                direction.cancel()
            await asyncio.gather(*directions, return_exceptions=True)


async def _connect(inner: Inner) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to the server. Raises OSError."""
    if isinstance(inner, Path):
        return await asyncio.open_unix_connection(inner)
    try:
        return await asyncio.open_connection("127.0.0.1", inner)
    except OSError:
        return await asyncio.open_connection("::1", inner)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy data until there is no more; either side may close at any time."""
    with contextlib.suppress(OSError):
        while chunk := await reader.read(CHUNK_BYTES):
            writer.write(chunk)
            await writer.drain()


async def _close(writer: asyncio.StreamWriter) -> None:
    """Close the connection after sending pending data; the other side may be gone already."""
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
