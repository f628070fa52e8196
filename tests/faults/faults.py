"""Faults of processes.

A fault takes the pids and a callback for when it has begun, and returns once it has ended.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress

STOP_S = float(os.environ.get("PORTAL_FAULTS_STOP_S", "60"))
SLOW_STOPPED_S, SLOW_RUNNING_S = 0.45, 0.05
Begun = Callable[[], None]
Fault = Callable[[set[int], Begun], Awaitable[None]]


def send(pids: Iterable[int], number: signal.Signals) -> int:
    """Send a signal to those that are still there, and return how many they are."""
    reached = 0
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
            reached += 1
    return reached


async def kill(pids: set[int], begun: Begun) -> None:
    assert send(pids, signal.SIGKILL), "the processes have been replaced before the fault"
    begun()


async def stop(pids: set[int], begun: Begun) -> None:
    """Stop the processes for a while, and let them continue."""
    async with stopped(pids):
        begun()
        await asyncio.sleep(STOP_S)


async def slow(pids: set[int], begun: Begun) -> None:
    """Let the processes run for a tenth of the time."""
    begun()
    end = asyncio.get_running_loop().time() + STOP_S
    while asyncio.get_running_loop().time() < end:
        async with stopped(pids):
            await asyncio.sleep(SLOW_STOPPED_S)
        await asyncio.sleep(SLOW_RUNNING_S)


@asynccontextmanager
async def stopped(pids: set[int]) -> AsyncIterator[None]:
    assert send(pids, signal.SIGSTOP), "the processes have been replaced"
    try:
        yield
    finally:
        send(pids, signal.SIGCONT)


FAULTS: dict[str, Fault] = {"kill": kill, "stop": stop, "slow": slow}
