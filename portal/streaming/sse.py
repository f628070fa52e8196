"""Server-sent events: their text, and the response that carries them."""

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from typing import Any

from fastapi.responses import StreamingResponse

from portal.errors import TooManyRequests, problem_response


def sse(event: str, data: str) -> bytes:
    """Return one event; `data` is JSON, which contains no line breaks."""
    return f"event: {event}\ndata: {data}\n\n".encode()


PING = sse("ping", "{}")
"""Sent on a quiet stream. An event, because browsers don't report comments to the page, which takes
a silent connection for a broken one.
"""


class HeldStream(StreamingResponse):
    """A stream that counts against its user's limit for as long as it is sent."""

    def __init__(
        self, content: AsyncIterator[bytes], hold: AbstractContextManager[None], **options: Any
    ) -> None:
        super().__init__(content, **options)
        self._hold = hold

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            with self._hold:
                await super().__call__(scope, receive, send)
        except TooManyRequests as error:
            await problem_response(error)(scope, receive, send)


def sse_response(
    events: AsyncIterator[bytes], hold: AbstractContextManager[None]
) -> StreamingResponse:
    """Return the events as a response that proxies neither cache nor buffer; `hold` raises
    TooManyRequests.
    """
    return HeldStream(
        events,
        hold,
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )
