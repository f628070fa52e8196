"""A file or an archive on its way to a browser: which part of it, under which headers, and how its
stream ends when the browser, the login or the file goes.

Whatever a file holds, nothing of it is ever a page of ours: it is always an attachment, of no type
that a browser would run, under a policy that would let it do nothing.
"""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any
from urllib.parse import quote

import structlog
from fastapi import Response

from spawner.errors import SpawnerError
from spawner.filenames import meant, readable

log = structlog.get_logger(__name__)

STILL_EVERY_S = 5.0
CONFINED = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
}
OCTETS = "application/octet-stream"
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
_PLAIN = re.compile(r"[^ !#-$&-\[\]-~]")


def disposition(name: str) -> str:
    """Content-Disposition (RFC 6266) for a name as pages have it."""
    text = readable(meant(name))
    return f"attachment; filename=\"{_PLAIN.sub('_', text)}\"; filename*=UTF-8''{quote(text, '')}"


@dataclass(frozen=True)
class Part:
    """What of a file is sent: `length` bytes from `offset`, of `size`."""

    status: int
    offset: int
    length: int
    size: int

    @property
    def headers(self) -> dict[str, str]:
        found = {"Accept-Ranges": "bytes", "Content-Length": str(self.length)}
        if self.status == 206:
            last = self.offset + self.length - 1
            found["Content-Range"] = f"bytes {self.offset}-{last}/{self.size}"
        elif self.status == 416:
            found["Content-Range"] = f"bytes */{self.size}"
        return found


def part_wanted(headers: Mapping[str, str], size: int, etag: str, modified_at: datetime) -> Part:
    """What Range, If-Range and If-None-Match ask for (RFC 9110, 13 and 14). Of several ranges the
    whole file is sent."""
    if _matches(headers.get("if-none-match", ""), etag):
        return Part(304, 0, 0, size)
    wanted = _RANGE.fullmatch(headers.get("range", "").strip())
    if wanted is None or not _still(headers.get("if-range"), etag, modified_at):
        return Part(200, 0, size, size)
    first, last = (int(text[:20]) if text else None for text in wanted.groups())
    return _range(first, last, size)


def _range(first: int | None, last: int | None, size: int) -> Part:
    if first is None and last is None:
        return Part(200, 0, size, size)
    if first is None:  # so many bytes at the end
        first, last = max(0, size - (last or 0)), None
    last = size - 1 if last is None else min(last, size - 1)
    if first >= size:
        return Part(416, 0, 0, size)
    if last < first:  # it makes no sense
        return Part(200, 0, size, size)
    return Part(206, first, last - first + 1, size)


def _matches(wanted: str, etag: str) -> bool:
    tags = {tag.strip().removeprefix("W/") for tag in wanted.split(",")}
    return etag in tags or wanted.strip() == "*"


def _still(wanted: str | None, etag: str, modified_at: datetime) -> bool:
    """Whether a part still belongs to what the browser has of the file."""
    if wanted is None:
        return True
    if wanted.startswith('"'):
        return wanted == etag
    try:
        return parsedate_to_datetime(wanted) == modified_at.replace(microsecond=0)
    except (ValueError, TypeError):
        return False


def last_modified(modified_at: datetime) -> str:
    return format_datetime(modified_at, usegmt=True)


class Streamed(Response):
    """Sends pieces as they come, and closes `held` whatever happens.

    It ends early, and the connection with it, when the browser goes, when `still_open` says no, or
    when the launcher can't go on: nobody takes what came for the whole."""

    def __init__(
        self,
        pieces: AsyncGenerator[bytes] | None,
        held: AsyncExitStack,
        still_open: Callable[[], Awaitable[bool]],
        *,
        status_code: int,
        headers: Mapping[str, str],
    ) -> None:
        super().__init__(status_code=status_code)
        if "Content-Length" not in headers:
            del self.headers["content-length"]
        self.headers.update(headers)
        self._pieces, self._held, self._still_open = pieces, held, still_open

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        sending = asyncio.ensure_future(self._send(send))
        watching = asyncio.ensure_future(_gone(receive))
        try:
            await asyncio.wait({sending, watching}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            watching.cancel()
            sending.cancel()
            await asyncio.wait({sending, watching})
            await self._held.aclose()
        if not sending.cancelled():
            sending.result()

    async def _send(self, send: Any) -> None:
        start = {"type": "http.response.start", "status": self.status_code}
        await send({**start, "headers": self.raw_headers})
        if self._pieces is not None:
            try:
                if not await self._all(self._pieces, send):
                    return
            except SpawnerError as error:
                log.info("a download ended early", cause=error.message[:300])
                return
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _all(self, pieces: AsyncGenerator[bytes], send: Any) -> bool:
        asked_s = time.monotonic()
        async with aclosing(pieces):
            async for piece in pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                if time.monotonic() - asked_s > STILL_EVERY_S:
                    if not await self._still_open():
                        return False
                    asked_s = time.monotonic()
        return True


async def _gone(receive: Any) -> None:
    """Return when the browser has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
