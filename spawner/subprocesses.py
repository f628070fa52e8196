"""Start and end of other programs, without leaks when the caller is cancelled."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

END_S = 5.0


async def start(*arguments: str, **options: Any) -> asyncio.subprocess.Process:
    """Start a program as `asyncio.create_subprocess_exec` does.

    If the caller is cancelled, the program that has just been started is ended first. asyncio
    itself leaves its pipes open if it is cancelled repeatedly, as anyio's cancel scopes do, or if
    the loop ends before the pipes are connected (https://github.com/python/cpython/issues/103847).
    """
    starting = asyncio.ensure_future(asyncio.create_subprocess_exec(*arguments, **options))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await _completed(asyncio.ensure_future(_end_started(starting)))
        raise


async def _end_started(starting: asyncio.Future[asyncio.subprocess.Process]) -> None:
    await asyncio.wait([starting])
    if not starting.cancelled() and starting.exception() is None:
        await end(starting.result())


async def end(process: asyncio.subprocess.Process) -> None:
    """Kill the program if it runs, and read its pipes, as asyncio notices its end only then.

    This completes even if the caller is cancelled repeatedly, as by a server that is shutting
    down. A program that cannot be killed, because it hangs in a driver or a file system or has
    changed its account, is not waited for.
    """
    if process.returncode is None:
        await _completed(asyncio.ensure_future(_kill(process)))


async def _completed(task: asyncio.Future[None]) -> None:
    """Wait until a task is done, and be cancelled only then."""
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
    task.result()


async def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        process.kill()
    if process.stdin is not None:
        process.stdin.close()
    deadline = asyncio.get_running_loop().time() + END_S
    with contextlib.suppress(TimeoutError):
        while not await _has_ended(process, deadline):
            pass


async def _has_ended(process: asyncio.subprocess.Process, deadline: float) -> bool:
    """Wait for the program's end; return False if cancelled, as asyncio.run does at shutdown."""
    try:
        async with asyncio.timeout_at(deadline):
            await process.communicate()
    except asyncio.CancelledError:
        return False
    return True
