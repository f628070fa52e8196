"""The load generator's requests, and the parser of event streams."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench.event_streams import EventStream
from bench.load import BadResponse, Target

pytestmark = pytest.mark.anyio
HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_post_has_its_body_and_the_length_in_bytes() -> None:
    target = Target.post("http://127.0.0.1:8000/api/v1/login", {"name": "Zoë"}, {"Origin": "x"})
    head, _, body = target.request.partition(b"\r\n\r\n")
    assert head.startswith(b"POST /api/v1/login HTTP/1.1\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    assert b"Origin: x" in head
    assert json.loads(body) == {"name": "Zoë"}


async def test_stream_passes_events_on_however_they_are_split() -> None:
    received: list[tuple[bytes, bytes]] = []
    stream = EventStream(b"", lambda *event: received.append(event))
    sent = HEAD + b'18\r\nevent: job\ndata: {"a":1}\n\n\r\n14\r\nevent: ping\ndata: {}\n\n\r\n'
    for start in range(len(sent)):
        stream.data_received(sent[start : start + 1])
    assert received == [(b"job", b'{"a":1}'), (b"ping", b"{}")]
    assert stream.opened.done()


@pytest.mark.parametrize("answer", [b"HTTP/1.1 503 Busy\r\n\r\n", b""])
async def test_refused_stream_raises(answer: bytes) -> None:
    def receive(*_: Any) -> None:
        pytest.fail("a refused stream has no events")

    stream = EventStream(b"", receive)
    stream.data_received(answer)
    stream.connection_lost(None)
    with pytest.raises(BadResponse):
        await stream.opened
