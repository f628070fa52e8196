"""How long somebody else took to answer: told to whoever counts it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Measure = Callable[[str, float, bool], None]
"""Hears what was asked (a word of ours), how many seconds it took, and whether an answer came."""


def unmeasured(_what: str, _seconds: float, _answered: bool) -> None:
    """For whoever doesn't count."""


@contextmanager
def measured(
    measure: Measure, what: str, no_answer: type[Exception] | tuple[type[Exception], ...]
) -> Iterator[None]:
    """Measure what is done in it. A refusal is an answer; `no_answer` are the errors that are none.
    What is cancelled is not counted."""
    began = time.perf_counter()
    try:
        yield
    except no_answer:
        measure(what, time.perf_counter() - began, False)
        raise
    except Exception:
        measure(what, time.perf_counter() - began, True)
        raise
    measure(what, time.perf_counter() - began, True)
