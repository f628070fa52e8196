"""How much memory a job held on one node, from what sacct says of its steps. Pure.

sacct names the largest single task of each step. A node holds all of a step's tasks that are on it,
and those of every other step that runs there at the same time.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from spawner import parse

MOST_PARTS = 200_000  # a step on a node each: of more nothing is said
_SOONEST = timedelta(milliseconds=500)  # sacct knows whole seconds
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Step:
    """One step: `max_rss_bytes` of its largest task, `nodes` as Slurm writes them; `end` is None
    while it runs."""

    max_rss_bytes: int
    tasks: int
    node_count: int
    nodes: str
    start: datetime
    end: datetime | None

    @property
    def on_a_node(self) -> int:
        """Bytes on each of its nodes, were all its tasks as large as the largest."""
        return self.max_rss_bytes * math.ceil(self.tasks / max(1, self.node_count))


def most_on_a_node(steps: Iterable[Step]) -> int | None:
    """The most that one node held at any time, in bytes, as far as sacct tells it: rather more than
    less. None where nothing was measured, or too many steps to say."""
    by_node: dict[str, list[tuple[datetime, int]]] = defaultdict(list)
    parts = 0
    for step in steps:
        names = parse.expand_nodes(step.nodes) or ("",)
        parts += len(names)
        if parts > MOST_PARTS:
            return None
        for name in names:
            by_node[name] += _changes(step)
    return max((_highest(changes) for changes in by_node.values()), default=None)


def _changes(step: Step) -> Iterator[tuple[datetime, int]]:
    """When it takes its memory, and when it gives it back."""
    yield step.start, step.on_a_node
    yield max(step.end or _NEVER, step.start + _SOONEST), -step.on_a_node


def _highest(changes: list[tuple[datetime, int]]) -> int:
    """Where a step ends as another starts, the first has given back what it had."""
    held = highest = 0
    for _, change in sorted(changes):
        held += change
        highest = max(highest, held)
    return highest
