"""Memory that a job used on one node, estimated from sacct's data on its steps.

Pure.

sacct reports the largest single task of each step. A node holds all tasks of a step that run on it,
and the tasks of every other step that runs there at the same time.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from spawner.slurm import parse

MAX_PARTS = 200_000  # pairs of step and node; with more there is no estimate
_MIN_DURATION = timedelta(milliseconds=500)  # of a step; sacct reports whole seconds
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Step:
    """One job step.

    `max_rss_bytes` is that of its largest task, `nodes` has Slurm's format, and `end` is None while
    it runs.
    """

    max_rss_bytes: int
    tasks: int
    node_count: int
    nodes: str
    start: datetime
    end: datetime | None

    @property
    def bytes_per_node(self) -> int:
        """Return the bytes on each of its nodes if all its tasks were as large as the largest."""
        return self.max_rss_bytes * math.ceil(self.tasks / max(1, self.node_count))


def most_on_a_node(steps: Iterable[Step]) -> int | None:
    """Return the highest memory use of any one node in bytes, estimated high rather than low.

    None if nothing was measured, or if there are too many steps.
    """
    by_node: dict[str, list[tuple[datetime, int]]] = defaultdict(list)
    parts = 0
    for step in steps:
        names = parse.expand_nodes(step.nodes) or ("",)
        parts += len(names)
        if parts > MAX_PARTS:
            return None
        for name in names:
            by_node[name] += _list_changes(step)
    return max((_find_peak(changes) for changes in by_node.values()), default=None)


def _list_changes(step: Step) -> Iterator[tuple[datetime, int]]:
    """Yield when a step takes its memory and when it releases it, with the change in bytes."""
    yield step.start, step.bytes_per_node
    yield max(step.end or _NEVER, step.start + _MIN_DURATION), -step.bytes_per_node


def _find_peak(changes: list[tuple[datetime, int]]) -> int:
    """Return the peak; a step that ends when another starts has released its memory first."""
    current = highest = 0
    for _, change in sorted(changes):
        current += change
        highest = max(highest, current)
    return highest
