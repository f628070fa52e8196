"""How tests wait for what must come: however slow the machine is, and not for ever."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

PATIENCE_S = 120.0
PAUSE_S = 0.01
WHAT = "what is waited for"


async def until(so: Callable[[], object], what: str = WHAT) -> None:
    """Let others go on until something is so."""
    end = time.monotonic() + PATIENCE_S
    while not so():
        assert time.monotonic() < end, f"in {PATIENCE_S} s never: {what}"
        await asyncio.sleep(PAUSE_S)


def wait_until(so: Callable[[], object], what: str = WHAT, patience_s: float = PATIENCE_S) -> None:
    """The same, where nobody else runs in this thread."""
    end = time.monotonic() + patience_s
    while not so():
        assert time.monotonic() < end, f"in {patience_s} s never: {what}"
        time.sleep(PAUSE_S)
