"""Detection of an idle session and its duration, reported only where it is certain."""

from __future__ import annotations

from typing import Any

import pytest

from spawner.node.jupyter.idle import (
    BUSY_CPUS,
    LONGEST_GAP_S,
    SHORT_S,
    ActivitySnapshot,
    IdleTime,
    nothing_runs,
)
from spawner.node.usage.meter import Gpu, Use

NONE = ActivitySnapshot()
QUIET = Use(None, BUSY_CPUS / 2, None)
STEP_S = 10.0


def gpu(percent: int | None) -> Gpu:
    return Gpu("V100", percent, None, None)


def kernel(state: str, last_activity: str = "10:00") -> dict[str, Any]:
    return {"id": "k1", "execution_state": state, "last_activity": last_activity}


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (QUIET, True),
        (Use(None, 0.0, [gpu(0)]), True),
        (Use(None, 0.0, [gpu(None)]), True),
        (Use(None, 0.0, [gpu(0), gpu(3)]), False),
        (Use(None, 0.0, [gpu(None), gpu(3)]), False),
        (Use(None, BUSY_CPUS, None), False),
        (Use(None, 1.0, [gpu(0)]), False),
        (Use(None, None, None), False),
        (Use(None, None, [gpu(0)]), False),
    ],
)
def test_what_is_not_known_is_not_taken_for_rest(use: Use, expected: bool) -> None:
    assert nothing_runs(use, NONE, NONE) is expected


@pytest.mark.parametrize(
    ("now", "before", "expected"),
    [
        ([kernel("idle")], [kernel("idle")], True),
        ([kernel("dead")], [kernel("dead")], True),
        # it may be waiting, but the cell has not ended
        ([kernel("busy")], [kernel("busy")], False),
        ([kernel("idle", "10:01")], [kernel("idle")], False),  # a cell between two measurements
        ([kernel("idle")], [], False),
        ([], [kernel("idle")], False),
    ],
)
def test_what_kernels_do_is_no_rest(
    now: list[dict[str, Any]], before: list[dict[str, Any]], expected: bool
) -> None:
    assert nothing_runs(QUIET, ActivitySnapshot.of(now), ActivitySnapshot.of(before)) is expected


def rested(looks: int) -> tuple[IdleTime, float]:
    """Return the state after so many idle measurements, and the time of the last one."""
    idle, at = IdleTime(), 1000.0
    for _ in range(looks):
        at += STEP_S
        assert not idle.add_measurement(at, QUIET, NONE)
    return idle, at


def test_a_rest_is_as_long_as_the_looks_that_found_it() -> None:
    idle, at = rested(1)
    assert idle.lasts_s(at) is None, "of the time before the first look nothing is known"
    idle, at = rested(4)
    assert idle.lasts_s(at) == 3 * STEP_S
    assert idle.lasts_s(at + 4) == 3 * STEP_S + 4


@pytest.mark.parametrize("use", [Use(None, 1.0, None), Use(None, None, None)])
def test_idle_time_restarts_after_activity_or_unknown_usage(use: Use) -> None:
    idle, at = rested(30)
    idle.kept = True
    assert idle.add_measurement(at + STEP_S, use, NONE), "reported at once"
    assert (idle.lasts_s(at + STEP_S), idle.kept) == (None, False)
    assert not idle.add_measurement(at + 2 * STEP_S, use, NONE), "once"
    idle.add_measurement(at + 3 * STEP_S, QUIET, NONE)
    assert idle.lasts_s(at + 3 * STEP_S) == STEP_S


def test_who_keeps_it_is_asked_no_more_while_it_rests() -> None:
    idle, at = rested(30)
    idle.kept = True
    idle.add_measurement(at + STEP_S, QUIET, NONE)
    assert idle.kept


def test_the_end_of_a_short_rest_is_no_news() -> None:
    idle, at = rested(int(SHORT_S / STEP_S) - 2)
    assert not idle.add_measurement(at + STEP_S, Use(None, 1.0, None), NONE)


def test_a_job_that_was_suspended_did_not_rest() -> None:
    idle, at = rested(30)
    later = at + LONGEST_GAP_S + 1
    idle.add_measurement(later, QUIET, NONE)
    assert idle.lasts_s(later) is None
