"""Answers with curves come from a program that runs as the user, so they may have any shape."""

from __future__ import annotations

import math
from typing import Any

import pytest

from spawner.errors import SpawnerError
from spawner.launcher import file_answers

CURVE = {
    "run": "", "tag": "loss", "count": 2, "not_finite": 1, "steps": [1, 2], "at": [1.0, 2.0],
    "values": [0.5, None],
}  # fmt: skip


def answer(**changed: Any) -> dict[str, Any]:
    return {"curves": [{**CURVE, **changed}], "left_out": 0, "complete": True}


def test_curves_are_parsed() -> None:
    (curve,) = file_answers.curves(answer()).curves
    assert vars(curve) == CURVE


@pytest.mark.parametrize(
    "changed",
    [
        {"steps": [1]}, {"steps": ["1", "2"]}, {"at": [1.0, None]}, {"at": [1.0, math.nan]},
        {"values": 7}, {"tag": None}, {"count": "2"}, {"run": 1},
    ],
)  # fmt: skip
def test_malformed_curves_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(SpawnerError):
        file_answers.curves(answer(**changed))


def test_values_that_json_cannot_hold_are_gaps() -> None:
    (curve,) = file_answers.curves(answer(values=[math.inf, 10**400])).curves
    assert curve.values == [None, None]


@pytest.mark.parametrize("time", [10**400, math.nan, math.inf, "0", True, None])
def test_an_impossible_time_of_a_file_is_refused(time: object) -> None:
    opened = {"size_bytes": 1, "version": "1", "modified_at": time}
    with pytest.raises(SpawnerError):
        file_answers.opened(opened)


def test_texts_can_be_stored_and_are_bounded() -> None:
    (curve,) = file_answers.curves(answer(tag="a\0" + "x" * 400, run="\0")).curves
    assert (curve.tag[:3], len(curve.tag), curve.run) == ("a\ufffdx", 300, "\ufffd")
    assert file_answers.scalars({"a\0b": 1, "c": math.nan}) == {"a\ufffdb": 1.0, "c": None}


def test_points_and_curves_are_bounded() -> None:
    many = [1] * 5000
    (curve,) = file_answers.curves(answer(steps=many, at=many, values=many)).curves
    assert len(curve.steps) == file_answers.MAX_CURVE_POINTS
    found = file_answers.curves({**answer(), "curves": [CURVE] * 99})
    assert len(found.curves) == file_answers.MAX_CURVES
