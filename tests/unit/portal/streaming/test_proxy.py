"""The end of a streamed response: its own, or that of what it depends on."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from portal.api.file_answer import attachment
from portal.streaming.proxy import run_until, send_stream, wait_until_forbidden

pytestmark = pytest.mark.anyio


async def never() -> None:
    await asyncio.Event().wait()


async def test_run_until_main_done_cancels_the_rest() -> None:
    async def main() -> str:
        return "result"

    before = asyncio.all_tasks()
    assert await run_until(main(), never(), never()) == "result"
    assert asyncio.all_tasks() == before


async def test_run_until_access_lost_cancels_main() -> None:
    async def main() -> str:
        await never()
        return "result"

    async def forbidden() -> bool:
        return False

    assert await run_until(main(), never(), wait_until_forbidden(forbidden, 0)) is None


@pytest.mark.parametrize("main_fails", [True, False])
async def test_run_until_raises_the_error_that_ended_it(main_fails: bool) -> None:
    async def fail() -> None:
        raise OSError("the database is away")

    tasks = (fail(), never()) if main_fails else (never(), fail())
    with pytest.raises(OSError, match="away"):
        await run_until(*tasks)


async def test_send_stream_with_a_failing_source_stays_incomplete() -> None:
    sent: list[Any] = []
    closed = False

    async def pieces() -> AsyncGenerator[bytes]:
        nonlocal closed
        try:
            yield b"half"
            raise OSError("broken")
        finally:
            closed = True

    async def send(message: Any) -> None:
        sent.append(message)

    with pytest.raises(OSError, match="broken"):
        await send_stream(send, 200, [], pieces())
    assert closed
    assert [message.get("more_body") for message in sent] == [None, True]


async def test_send_stream_closes_its_source_when_the_client_cannot_be_reached() -> None:
    closed = False

    async def pieces() -> AsyncGenerator[bytes]:
        nonlocal closed
        try:
            yield b"half"
        finally:
            closed = True

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        await send_stream(send, 200, [], pieces())
    assert closed


async def test_cut_download_closes_its_source() -> None:
    closed = asyncio.Event()

    async def source() -> AsyncGenerator[bytes]:
        try:
            yield b"first"
            yield b"second"
        finally:
            closed.set()

    async def send(message: Any) -> None:
        if message.get("body"):
            await never()

    async def receive() -> dict[str, str]:
        return {"type": "http.disconnect"}

    async def open_still() -> bool:
        return True

    rest = source()
    first = await anext(rest)
    await attachment(first, rest, AsyncExitStack(), open_still, "a.log")({}, receive, send)
    assert closed.is_set()
