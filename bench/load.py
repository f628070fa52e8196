"""HTTP/1.1 load generator on persistent connections, counting and timing requests.

It has no knowledge of the portal. Written for small responses, so that the client uses little CPU
on a machine with few cores.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import urlsplit

from bench.figure import median, percentile
from spawner.tasks import end_all

RESPONSE_TIMEOUT_S = 30.0
MAX_HEAD = 2048
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CLOSES = re.compile(rb"\r\nconnection: *close", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)


class BadResponse(Exception):
    """A response that is not a 2xx, or that this minimal parser does not support."""


@dataclass(frozen=True)
class Target:
    """One request, serialized once and sent repeatedly."""

    host: str
    port: int
    request: bytes

    @classmethod
    def get(cls, url: str, headers: Mapping[str, str] | None = None) -> Target:
        return cls._serialize("GET", url, headers or {}, "")

    @classmethod
    def post(cls, url: str, body: object, headers: Mapping[str, str]) -> Target:
        """Return a request with a JSON body."""
        text = json.dumps(body)
        fields = {"Content-Type": "application/json", "Content-Length": str(len(text.encode()))}
        return cls._serialize("POST", url, {**fields, **headers}, text)

    @classmethod
    def _serialize(cls, method: str, url: str, headers: Mapping[str, str], body: str) -> Target:
        parts = urlsplit(url)
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        host, port = parts.hostname or "", parts.port or 80
        fields = {"Host": f"{host}:{port}", "Accept": "*/*", **headers}
        lines = [f"{method} {path} HTTP/1.1", *(f"{key}: {value}" for key, value in fields.items())]
        return cls(host, port, ("\r\n".join(lines) + f"\r\n\r\n{body}").encode())


@dataclass
class Load:
    """The duration and the latencies of one run, and the server's processor time for each request
    where that was measured.
    """

    seconds: float = 0.0
    latencies_ms: list[float] = field(default_factory=list)
    processor_ms: float | None = None

    @property
    def rate(self) -> float:
        """Requests per second."""
        return len(self.latencies_ms) / self.seconds

    @property
    def median_ms(self) -> float:
        return median(self.latencies_ms)

    @property
    def p99_ms(self) -> float:
        return percentile(self.latencies_ms, 99)

    def summarize(self) -> dict[str, float | None]:
        return {
            "requests": len(self.latencies_ms),
            "median_ms": self.median_ms,
            "p99_ms": self.p99_ms,
            "max_ms": max(self.latencies_ms),
            "processor_ms": self.processor_ms,
        }


class ResponseConnection(asyncio.Protocol):
    """One connection that hands each response to the coroutine awaiting it."""

    def __init__(self) -> None:
        self._buffer = b""
        self._waiting: asyncio.Future[bytes] | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = response_end(self._buffer)
        if end is not None and self._waiting is not None:
            response, self._buffer = self._buffer[:end], self._buffer[end:]
            self._deliver(response)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(exc or ConnectionResetError("closed before the response"))

    async def send(self, request: bytes) -> bytes:
        """Send a request and wait for the complete response."""
        assert self._transport is not None  # noqa: S101 - connected
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._waiting

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _deliver(self, response: bytes) -> None:
        assert self._waiting is not None  # noqa: S101 - a request was sent
        if response[9:10] == b"2":
            self._waiting.set_result(response)
        else:
            self._waiting.set_exception(BadResponse(response[:1000].decode(errors="replace")))


def response_end(buffer: bytes) -> int | None:
    """Return the offset at which the first response in the buffer ends, None if it is
    incomplete."""
    head = buffer.find(b"\r\n\r\n")
    if head < 0:
        return None
    body = head + 4
    fields = buffer[: head + 2]
    if length := _LENGTH.search(fields):
        end = body + int(length[1])
        return end if len(buffer) >= end else None
    if _CHUNKED.search(fields):
        return _find_chunks_end(buffer, body)
    if buffer[9:12] == b"204":
        return body
    raise BadResponse("a response without a length")


def _find_chunks_end(buffer: bytes, offset: int) -> int | None:
    while True:
        line = buffer.find(b"\r\n", offset)
        if line < 0:
            return None
        size = int(buffer[offset:line].split(b";")[0], 16)
        offset = line + 2 + size + 2
        if len(buffer) < offset:
            return None
        if size == 0:
            return offset


async def hammer(
    target: Target, connections: int, seconds: float, pause_s: float = 0.0, warm_s: float = 0.0
) -> Load:
    """Send as many requests as the server answers, one at a time per connection.

    Each connection waits `pause_s` between a response and its next request. The first `warm_s`
    seconds are not counted.
    """
    if warm_s:
        await hammer(target, connections, warm_s, pause_s)
    load = Load()
    began = time.perf_counter()
    until = began + seconds
    async with asyncio.timeout(seconds + RESPONSE_TIMEOUT_S):
        await asyncio.gather(*(_repeat(target, load, until, pause_s) for _ in range(connections)))
    load.seconds = time.perf_counter() - began
    return load


async def _repeat(target: Target, load: Load, until: float, pause_s: float) -> None:
    latencies, clock = load.latencies_ms, time.perf_counter
    connection = await _connect(target)
    try:
        while (began := clock()) < until:
            response = await connection.send(target.request)
            latencies.append((clock() - began) * 1000)
            if pause_s:
                await asyncio.sleep(pause_s)
            if _CLOSES.search(response, 0, MAX_HEAD):  # nginx closes after 1000 requests
                connection.close()
                connection = await _connect(target)
    finally:
        connection.close()


async def send_spread(targets: Sequence[Target], seconds: float) -> Load:
    """Send each request once, at even intervals over this time, whether the earlier ones have been
    answered or not, and each on a connection of its own.
    """
    load = Load()
    began = time.perf_counter()
    interval = seconds / len(targets)
    tasks = [
        asyncio.create_task(_send_at(target, load, began + number * interval))
        for number, target in enumerate(targets)
    ]
    try:
        async with asyncio.timeout(seconds + RESPONSE_TIMEOUT_S):
            await asyncio.gather(*tasks)
    finally:
        await end_all(tasks)
    load.seconds = time.perf_counter() - began
    return load


async def _send_at(target: Target, load: Load, moment: float) -> None:
    await asyncio.sleep(max(0.0, moment - time.perf_counter()))
    began = time.perf_counter()
    connection = await _connect(target)
    try:
        await connection.send(target.request)
    finally:
        connection.close()
    load.latencies_ms.append((time.perf_counter() - began) * 1000)


async def _connect(target: Target) -> ResponseConnection:
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(ResponseConnection, target.host, target.port)
    return connection
