"""Streaming of responses: from another server, or as a generator yields them.

Which requests and headers may pass is decided by the callers.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

import aiohttp
from starlette.types import Receive, Send
from yarl import URL

from spawner.tasks import end_all

Headers = list[tuple[bytes, bytes]]
Allowed = Callable[[], Awaitable[bool]]
"""Returns whether the client still has access."""
Result = TypeVar("Result")

# Without `connect`: connections are not limited, so there is no wait for one.
TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=5, sock_read=120)


def open_client() -> aiohttp.ClientSession:
    """Return a client for proxied requests: without cookies or decompression.

    It has no limit of connections, because one slow server could use it up for all.
    """
    return aiohttp.ClientSession(
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        connector=aiohttp.TCPConnector(limit=0),
    )


async def send_request(
    client: aiohttp.ClientSession,
    method: str,
    url: URL,
    headers: list[tuple[str, str]],
    body: Any,
    **tls: Any,
) -> aiohttp.ClientResponse:
    """Send a request with these headers and no others, and return its response, whose body is not
    read yet. Redirects are not followed.
    """
    return await client.request(
        method,
        url,
        headers=headers,
        data=body,
        skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        allow_redirects=False,
        timeout=TIMEOUT,
        **tls,
    )


async def send_stream(
    send: Send, status: int, headers: Headers, pieces: AsyncGenerator[bytes] | None
) -> None:
    """Send a response piece by piece. An error of `pieces` leaves it incomplete, so that the client
    cannot mistake the received part for the whole.
    """
    await send({"type": "http.response.start", "status": status, "headers": headers})
    if pieces is not None:
        async with aclosing(pieces):
            async for piece in pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def run_until(
    main: Coroutine[Any, Any, Result], *ends: Coroutine[Any, Any, None]
) -> Result | None:
    """Run `main` until it, or one of `ends`, is done; the rest is cancelled.

    Return the result of `main`, or None if it was cancelled. Raises the error that ended it: one in
    the middle of a response must end the connection, not the body.
    """
    running = asyncio.create_task(main)
    ending = [asyncio.create_task(end) for end in ends]
    try:
        await asyncio.wait({running, *ending}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await end_all((running, *ending))
    if not running.cancelled():
        return running.result()
    for task in ending:
        if not task.cancelled():
            task.result()
    return None


async def wait_for_disconnect(receive: Receive) -> None:
    """Return when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def wait_until_forbidden(allowed: Allowed, every_s: float) -> None:
    """Return when the client has lost access."""
    while True:
        await asyncio.sleep(every_s)
        if not await allowed():
            return
