"""Memory that a notebook needs, compared with what the session's job has left.

Pure.

Slurm ends a program of a job that exceeds its memory, and often the whole session. The factors are
measured: docs/decisions/0026-outputs.md has the numbers.
"""

from __future__ import annotations

from spawner.node.usage.meter import MB, Memory

OPEN_FACTOR = 8
"""Memory for opening and later saving a notebook in JupyterLab, per byte of its file."""
WRITE_FACTOR = 4
"""Memory for writing outputs into a notebook, per byte of its file."""
SMALL_BYTES = 10 * MB
"""Smaller notebooks are never refused."""


def explain_missing_memory(size: int, factor: int, memory: Memory | None) -> str | None:
    """Return why the job's memory doesn't suffice for a notebook; None if it does."""
    if size <= SMALL_BYTES or memory is None or memory.limit_bytes is None:
        return None
    free = max(0, memory.limit_bytes - memory.used_bytes)
    if size * factor <= free:
        return None
    return (
        f"This notebook has {size // MB} MB and needs about {size * factor // MB} MB of memory. "
        f"The session has {free // MB} MB left."
    )
