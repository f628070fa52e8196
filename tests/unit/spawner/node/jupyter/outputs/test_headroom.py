"""Notebooks that need more memory than the session has left."""

from __future__ import annotations

import pytest

from spawner.node.jupyter.outputs.headroom import describe_lack
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
    assert describe_lack(size_mb * MB, 8, memory) is None


def test_notebook_that_is_too_large_is_described() -> None:
    lack = describe_lack(200 * MB, 8, TIGHT)
    assert lack is not None
    assert "has 200 MB and needs about 1600 MB" in lack
    assert "1000 MB left" in lack
    assert "The session has 0 MB left" in str(describe_lack(20 * MB, 8, Memory(5, 4)))
