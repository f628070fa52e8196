"""Notebooks that need more memory than the session has left."""

from __future__ import annotations

import pytest

from spawner.node.jupyter.outputs.headroom import explain_missing_memory
from spawner.node.usage.meter import MB, Memory

TIGHT = Memory(used_bytes=3000 * MB, limit_bytes=4000 * MB)


@pytest.mark.parametrize(
    ("size_mb", "memory"),
    [
        (100, TIGHT),
        (9, Memory(4000 * MB, 4000 * MB)),
        (900, None),
        (900, Memory(3000 * MB, None)),
    ],
)
def test_notebook_that_fits_is_accepted(size_mb: int, memory: Memory | None) -> None:
    assert explain_missing_memory(size_mb * MB, 8, memory) is None


def test_notebook_that_is_too_large_is_described() -> None:
    problem = explain_missing_memory(200 * MB, 8, TIGHT)
    assert problem is not None
    assert "has 200 MB and needs about 1600 MB" in problem
    assert "1000 MB left" in problem
    assert "The session has 0 MB left" in str(explain_missing_memory(20 * MB, 8, Memory(5, 4)))
