"""Polling in tests: long enough for slow machines, but bounded."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable

# everything takes longer on an emulated machine
PATIENCE_S = float(os.environ.get("PORTAL_TEST_PATIENCE_S", "120"))
PAUSE_S = 0.01
WHAT = "what is waited for"


async def until(so: Callable[[], object], what: str = WHAT) -> None:
    """Poll until a condition holds, while other tasks run."""
    end = time.monotonic() + PATIENCE_S
    while not so():
        assert time.monotonic() < end, f"in {PATIENCE_S} s never: {what}"
        await asyncio.sleep(PAUSE_S)


def wait_until(so: Callable[[], object], what: str = WHAT, patience_s: float = PATIENCE_S) -> None:
    """Poll until a condition holds, blocking this thread."""
    end = time.monotonic() + patience_s
    while not so():
        assert time.monotonic() < end, f"in {patience_s} s never: {what}"
        time.sleep(PAUSE_S)
