"""Server-sent events: their text, and the response that carries them."""

from collections.abc import AsyncIterator

from fastapi.responses import StreamingResponse

PING = b": ping\n\n"


def sse(event: str, data: str) -> bytes:
    """One event; `data` is JSON, which has no line breaks of its own."""
    return f"event: {event}\ndata: {data}\n\n".encode()


def sse_response(events: AsyncIterator[bytes]) -> StreamingResponse:
    """Events as a response that no proxy keeps or holds back."""
    return StreamingResponse(
        events,
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )
