"""Notebooks designed to stop the program that parses them."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest

from portal.errors import TooManyRequests
from portal.services.files import notebook_preview
from portal.services.files.notebook_process import PER_USER, NotebookParser
from tests.polling import PATIENCE_S

pytestmark = pytest.mark.anyio
NOTEBOOK = json.dumps({"cells": [{"cell_type": "code", "source": "x = 'ä'"}]}).encode()
HOSTILE = b'{"cells":[' + b"[[[[]]]]," * (900 * 1024) + b"[]]}"


def file_of(data: bytes) -> Callable[[], Awaitable[bytes]]:
    async def read() -> bytes:
        return data

    return read


async def test_a_notebook_is_parsed() -> None:
    assert await NotebookParser().cells("alice", file_of(NOTEBOOK)) == notebook_preview.cells(
        NOTEBOOK
    )
    assert await NotebookParser().cells("alice", file_of(b"{}")) is None


async def test_others_are_served_while_one_is_parsed() -> None:
    """The event loop continues; parsed in its own process, one such file would block it until
    the end."""
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.005)
            turns += 1

    turning = asyncio.create_task(turn())
    parser = NotebookParser()
    async with asyncio.timeout(PATIENCE_S):
        found = await asyncio.gather(*(parser.cells("alice", file_of(HOSTILE)) for _ in range(3)))
        assert turns >= 20
        assert await parser.cells("bob", file_of(NOTEBOOK)) is not None
    turning.cancel()
    assert found == [None] * 3  # too much memory


async def test_another_user_does_not_wait_for_all_of_one_users() -> None:
    parser = NotebookParser()
    async with asyncio.timeout(PATIENCE_S):
        attack = [asyncio.create_task(parser.cells("alice", file_of(HOSTILE))) for _ in range(8)]
        await asyncio.sleep(0)
        assert await parser.cells("bob", file_of(NOTEBOOK)) is not None
        assert not all(one.done() for one in attack)
        for one in attack:
            one.cancel()
        await asyncio.wait(attack)


async def test_a_notebook_that_waits_is_not_in_memory() -> None:
    """A user's notebook is read once the one before it is shown; more than a few are refused."""
    parser, may_go_on, read = NotebookParser(), asyncio.Event(), list[int]()

    async def slow() -> bytes:
        read.append(len(read))
        await may_go_on.wait()
        return NOTEBOOK

    async with asyncio.timeout(PATIENCE_S):
        previews = [asyncio.create_task(parser.cells("alice", slow)) for _ in range(PER_USER)]
        await asyncio.sleep(0)
        with pytest.raises(TooManyRequests):
            await parser.cells("alice", slow)
        # another user is not blocked, although a file on alice's file system hangs
        assert await parser.cells("bob", file_of(NOTEBOOK)) is not None
        assert read == [0]
        may_go_on.set()
        assert None not in await asyncio.gather(*previews)
        assert await parser.cells("alice", slow) is not None
