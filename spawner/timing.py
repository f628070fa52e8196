"""Timing of requests to other programs, reported to a callback."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Measure = Callable[[str, float, bool], None]
"""Called with an operation's name, its duration in seconds, and whether an answer came."""


def unmeasured(_what: str, _seconds: float, _answered: bool) -> None:
    """Ignore the measurement."""


@contextmanager
def measured(
    measure: Measure, operation: str, no_answer: type[Exception] | tuple[type[Exception], ...]
) -> Iterator[None]:
    """Measure the enclosed operation.

    A refusal counts as an answer; `no_answer` lists the errors that mean no answer. A cancelled
    operation is not counted.
    """
    began = time.perf_counter()
    try:
        yield
    except no_answer:
        measure(operation, time.perf_counter() - began, False)
        raise
    except Exception:
        measure(operation, time.perf_counter() - began, True)
        raise
    measure(operation, time.perf_counter() - began, True)
