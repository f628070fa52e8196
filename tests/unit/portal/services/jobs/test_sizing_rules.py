"""Suggested resources for a job: rules based on the usage of earlier jobs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.models import BatchJob
from portal.services.jobs.sizing import to_run
from portal.services.jobs.sizing_rules import RequestedSize, Run, SizingFigure, compute_sizing
from spawner.slurm.model import Outcome

BASE = RequestedSize(cpus=8, memory_gb=16, time_limit_minutes=240)
RUN = Run(Outcome.COMPLETED, BASE, elapsed_s=1200, cpus=1.2, memory_gb=3.1)


def test_far_too_much_is_lowered_with_room_to_spare() -> None:
    found = compute_sizing([RUN, replace(RUN, cpus=0.9, memory_gb=2.0, elapsed_s=600)], BASE)
    assert found.runs == 2
    assert found.cpus == SizingFigure(1.2, 8, 2)
    assert found.memory_gb == SizingFigure(3.1, 16, 4)
    assert found.time_limit_minutes == SizingFigure(20, 240, 45)


def test_near_enough_is_left_alone() -> None:
    found = compute_sizing([replace(RUN, cpus=5.0, memory_gb=11.0, elapsed_s=3 * 3600)], BASE)
    assert found.cpus == SizingFigure(5, 8, None)
    assert found.memory_gb == SizingFigure(11, 16, None)
    assert found.time_limit_minutes == SizingFigure(180, 240, None)


def test_nothing_is_known_without_runs() -> None:
    found = compute_sizing([], BASE)
    assert (found.runs, found.cpus, found.memory_gb, found.time_limit_minutes) == (0,) + 3 * (None,)


def test_short_run_suggests_only_a_time_limit() -> None:
    found = compute_sizing([replace(RUN, elapsed_s=9)], BASE)
    assert (found.cpus, found.memory_gb) == (None, None)
    assert found.time_limit_minutes == SizingFigure(0.15, 240, 15)


def test_out_of_memory_asks_for_twice_as_much() -> None:
    """Even if it was never measured: it used all of its memory."""
    found = compute_sizing(
        [replace(RUN, outcome=Outcome.OUT_OF_MEMORY, elapsed_s=2, memory_gb=None)], BASE
    )
    assert found.memory_gb == SizingFigure(16, 16, 32, exceeded=True)


def test_or_for_what_has_been_shown_to_do() -> None:
    short = replace(RUN, outcome=Outcome.OUT_OF_MEMORY, memory_gb=15.0)
    enough = replace(RUN, asked=replace(BASE, memory_gb=24), memory_gb=18.5)
    found = compute_sizing([enough, short], BASE)
    assert found.memory_gb == SizingFigure(18.5, 16, 24, exceeded=True)
    again = compute_sizing([enough, short], replace(BASE, memory_gb=24))
    assert again.memory_gb is not None
    assert again.memory_gb.suggested is None


def test_time_that_was_up_is_doubled() -> None:
    found = compute_sizing([replace(RUN, outcome=Outcome.TIMEOUT, elapsed_s=4 * 3600)], BASE)
    assert found.time_limit_minutes == SizingFigure(240, 240, 480, exceeded=True)


def test_where_nothing_is_asked_for_there_is_a_suggestion() -> None:
    asked = RequestedSize(cpus=1, memory_gb=None, time_limit_minutes=None)
    found = compute_sizing([replace(RUN, asked=asked)], asked)
    assert found.memory_gb == SizingFigure(3.1, None, 4)
    assert found.time_limit_minutes == SizingFigure(20, None, 45)


RUNS = st.builds(
    Run,
    outcome=st.sampled_from([Outcome.COMPLETED, Outcome.OUT_OF_MEMORY, Outcome.TIMEOUT]),
    asked=st.builds(
        RequestedSize,
        cpus=st.integers(1, 512),
        memory_gb=st.none() | st.floats(0.1, 4096),
        time_limit_minutes=st.none() | st.integers(1, 525_600),
    ),
    elapsed_s=st.none() | st.integers(0, 10**7),
    cpus=st.none() | st.floats(0, 512),
    memory_gb=st.none() | st.floats(0, 4096),
)


@given(st.lists(RUNS, max_size=5), RUNS.map(lambda run: run.asked))
def test_a_suggestion_is_never_less_than_was_used(runs: list[Run], base: RequestedSize) -> None:
    """It lowers the request, unless a run failed for lack of the resource."""
    found = compute_sizing(runs, base)
    for figure in (found.cpus, found.memory_gb, found.time_limit_minutes):
        if figure is None or figure.suggested is None:
            continue
        assert figure.suggested >= figure.used - 0.001
        if figure.asked is not None:
            assert (figure.suggested > figure.asked) == figure.exceeded


@pytest.mark.parametrize(
    ("columns", "elapsed_s", "cpus"),
    [
        ({"usage": {"elapsed_s": 100, "longest_s": 100, "cpu_s": 50.0}}, 100, 0.5),
        # two nodes: usage of half
        ({"usage": {"elapsed_s": 100, "cpu_s": 50.0}, "resources": {"nodes": 2}}, 100, 0.25),
        # four consecutive tasks: the time of the longest
        (
            {"usage": {"elapsed_s": 400, "longest_s": 130, "cpu_s": 400.0}, "array_size": 4},
            130,
            1.0,
        ),
        # recorded before this value existed: the sum is meaningless
        ({"usage": {"elapsed_s": 400, "cpu_s": 400.0}, "array_size": 4}, None, 1.0),
        ({"usage": {"elapsed_s": 0, "cpu_s": 0.0}}, 0, None),
    ],
)
def test_run_is_built_from_a_row(
    columns: dict[str, object], elapsed_s: int | None, cpus: float | None
) -> None:
    run = to_run(BatchJob(outcome=Outcome.COMPLETED, **({"resources": {}} | columns)))
    assert (run.elapsed_s, run.cpus) == (elapsed_s, cpus)
