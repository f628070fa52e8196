"""A job's memory per node, from its steps."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from spawner.slurm import step_memory
from spawner.slurm.step_memory import Step, most_on_a_node

T0 = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
T1, T2 = T0 + timedelta(minutes=1), T0 + timedelta(minutes=2)
ONE = Step(10, tasks=1, node_count=1, nodes="node01", start=T0, end=T1)


@pytest.mark.parametrize(
    ("steps", "most"),
    [
        ([], None),
        ([ONE], 10),
        ([replace(ONE, tasks=4)], 40),
        ([replace(ONE, tasks=5, node_count=2, nodes="node[01-02]")], 30),  # three on one of them
        ([ONE, ONE], 20),
        ([ONE, replace(ONE, nodes="node02")], 10),
        ([ONE, replace(ONE, nodes="node[01-03]", tasks=3, node_count=3)], 20),
        ([ONE, replace(ONE, start=T1, end=T2)], 10),  # one after the other
        ([replace(ONE, end=None), replace(ONE, start=T1, end=T2)], 20),  # the first still runs
        ([replace(ONE, end=T0), replace(ONE, start=T1, end=T1)], 10),  # ended within a second
        ([replace(ONE, nodes=""), replace(ONE, nodes="")], 20),
    ],
)
def test_what_is_there_at_once_is_added(steps: list[Step], most: int | None) -> None:
    assert most_on_a_node(steps) == most


def test_too_many_steps_yield_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_memory, "MAX_PARTS", 3)
    assert most_on_a_node([ONE] * 3) == 30
    assert most_on_a_node([replace(ONE, nodes="node[01-04]")]) is None
