"""Polling in tests: long enough for slow machines, but bounded."""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

# everything takes longer on an emulated machine
PATIENCE_S = float(os.environ.get("PORTAL_TEST_PATIENCE_S", "120"))
PAUSE_S = 0.02
WHAT = "the condition holds"

T = TypeVar("T")


@overload
async def until(
    probe: Callable[[], Awaitable[T]],
    what: str = WHAT,
    timeout_s: float = PATIENCE_S,
    *,
    done: Callable[[T], object] = bool,
    pause_s: float = PAUSE_S,
) -> T: ...
@overload
async def until(
    probe: Callable[[], T],
    what: str = WHAT,
    timeout_s: float = PATIENCE_S,
    *,
    done: Callable[[T], object] = bool,
    pause_s: float = PAUSE_S,
) -> T: ...
async def until(
    probe: Callable[[], Any],
    what: str = WHAT,
    timeout_s: float = PATIENCE_S,
    *,
    done: Callable[[Any], object] = bool,
    pause_s: float = PAUSE_S,
) -> Any:
    """Poll until a result of `probe` is `done` (by default: true) and return it; other tasks run.

    Raises AssertionError with `what` and the last result.
    """
    end = time.monotonic() + timeout_s
    while True:
        result = probe()
        value = await result if inspect.isawaitable(result) else result
        if done(value):
            return value
        assert time.monotonic() < end, _describe(what, timeout_s, value)
        await asyncio.sleep(pause_s)


def wait_until(
    probe: Callable[[], T],
    what: str = WHAT,
    timeout_s: float = PATIENCE_S,
    *,
    done: Callable[[T], object] = bool,
    pause_s: float = PAUSE_S,
) -> T:
    """Poll like `until`, but block this thread."""
    end = time.monotonic() + timeout_s
    while not done(value := probe()):
        assert time.monotonic() < end, _describe(what, timeout_s, value)
        time.sleep(pause_s)
    return value


def _describe(what: str, timeout_s: float, value: object) -> str:
    return f"in {timeout_s:g} s never: {what}; last result: {str(value)[:2000]}"
