"""The response with a file or an archive: its range, its headers, and its end when the browser, the
login or the file goes away.

The content of a file is never rendered as a page of the portal: it is always an attachment, of a
type that browsers do not execute, under a policy that would allow it nothing.
"""

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any
from urllib.parse import quote

import structlog
from fastapi import Response

from portal.streaming import proxy
from spawner.errors import SpawnerError
from spawner.launcher.file_names import from_text, readable

log = structlog.get_logger(__name__)

RECHECK_S = 5.0
CONFINED = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
}
OCTETS = "application/octet-stream"
BINARY_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}}}
}
"""The `responses` of a route that sends a file, for the API's description."""
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
_UNSAFE = re.compile(r"[^ !#-$&-\[\]-~]")


def disposition(name: str) -> str:
    """Return Content-Disposition (RFC 6266) for a name as the API shows it."""
    text = readable(from_text(name))
    return f"attachment; filename=\"{_UNSAFE.sub('_', text)}\"; filename*=UTF-8''{quote(text, '')}"


@dataclass(frozen=True)
class ByteRange:
    """The part of a file that is sent: `length` bytes from `offset`, of `size`."""

    status: int
    offset: int
    length: int
    size: int

    @property
    def headers(self) -> dict[str, str]:
        headers = {"Accept-Ranges": "bytes"}
        if self.status != 304:  # it would have to be the file's (RFC 9110, 8.6)
            headers["Content-Length"] = str(self.length)
        if self.status == 206:
            last = self.offset + self.length - 1
            headers["Content-Range"] = f"bytes {self.offset}-{last}/{self.size}"
        elif self.status == 416:
            headers["Content-Range"] = f"bytes */{self.size}"
        return headers


def parse_range(
    headers: Mapping[str, str], size: int, etag: str, modified_at: datetime
) -> ByteRange:
    """Return the part that Range, If-Range and If-None-Match request (RFC 9110, 13 and 14).

    For several ranges the whole file is sent.
    """
    if _matches_etag(headers.get("if-none-match", ""), etag):
        return ByteRange(304, 0, 0, size)
    match = _RANGE.fullmatch(headers.get("range", "").strip())
    if match is None or not _is_unchanged(headers.get("if-range"), etag, modified_at):
        return ByteRange(200, 0, size, size)
    first, last = (int(text[:20]) if text else None for text in match.groups())
    return _select_range(first, last, size)


def _select_range(first: int | None, last: int | None, size: int) -> ByteRange:
    if first is None and last is None:
        return ByteRange(200, 0, size, size)
    if first is None:  # a number of bytes at the end
        first, last = max(0, size - (last or 0)), None
    last = size - 1 if last is None else min(last, size - 1)
    if first >= size:
        return ByteRange(416, 0, 0, size)
    if last < first:  # an invalid range
        return ByteRange(200, 0, size, size)
    return ByteRange(206, first, last - first + 1, size)


def _matches_etag(condition: str, etag: str) -> bool:
    tags = {tag.strip().removeprefix("W/") for tag in condition.split(",")}
    return etag in tags or condition.strip() == "*"


def _is_unchanged(condition: str | None, etag: str, modified_at: datetime) -> bool:
    """Return whether the file is still the version of which the browser has a part."""
    if condition is None:
        return True
    if condition.startswith('"'):
        return condition == etag
    try:
        return parsedate_to_datetime(condition) == modified_at.replace(microsecond=0)
    except (ValueError, TypeError):
        return False


def last_modified(modified_at: datetime) -> str:
    return format_datetime(modified_at, usegmt=True)


class Streamed(Response):
    """A response that sends pieces as they arrive, and closes `resources` in any case.

    It ends early, and the connection with it, when the browser disconnects, when `still_open`
    returns false, or when the launcher fails: then the client cannot mistake the received part for
    the whole.
    """

    def __init__(
        self,
        pieces: AsyncGenerator[bytes] | None,
        resources: AsyncExitStack,
        still_open: proxy.Allowed,
        *,
        status_code: int,
        headers: Mapping[str, str],
    ) -> None:
        super().__init__(status_code=status_code)
        if "Content-Length" not in headers:
            del self.headers["content-length"]
        self.headers.update(headers)
        self._pieces, self._resources, self._still_open = pieces, resources, still_open

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await proxy.run_until(
                proxy.send_stream(send, self.status_code, self.raw_headers, self._pieces),
                proxy.wait_for_disconnect(receive),
                proxy.wait_until_forbidden(self._still_open, RECHECK_S),
            )
        except SpawnerError as error:
            log.info("a download ended early", cause=error.message[:300])
        finally:
            await self._resources.aclose()


def attachment(
    first: bytes,
    rest: AsyncGenerator[bytes],
    resources: AsyncExitStack,
    still_open: proxy.Allowed,
    name: str,
) -> Streamed:
    """Return a download of unknown length. `first` was read before the response began, so that an
    error at the start could still become an error response.
    """
    headers = {**CONFINED, "Content-Type": OCTETS, "Content-Disposition": disposition(name)}
    return Streamed(_prepend(first, rest), resources, still_open, status_code=200, headers=headers)


async def _prepend(first: bytes, rest: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    async with aclosing(rest):
        yield first
        async for piece in rest:
            yield piece
