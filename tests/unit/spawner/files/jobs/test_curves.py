"""Curves in event files: reduced, with gaps, bounded."""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spawner.files.jobs.curves import MAX_CURVES, MAX_TOTAL_POINTS, Curve, fit_points
from spawner.files.jobs.scalars import CurveReader, read_events
from tests.unit.spawner.files.jobs.event_files import scalar_event


def read(folder: Path, points: int = 1000) -> CurveReader:
    reader = CurveReader(str(folder), points, time.monotonic() + 60)
    reader.read()
    return reader


def rows(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    return {key: curve.to_row() for key, curve in read(folder).curves.items()}


def write(file: Path, *events: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"".join(events))


def test_short_curve_is_kept_whole(tmp_path: Path) -> None:
    events = [scalar_event(step, "loss", 1 / (step + 1), 1000.0 + step) for step in range(3)]
    write(tmp_path / "events.out.tfevents.1", *events)
    assert rows(tmp_path) == {
        ("", "loss"): {
            "run": "", "tag": "loss", "count": 3, "not_finite": 0, "steps": [0, 1, 2],
            "at": [1000.0, 1001.0, 1002.0], "values": [1.0, 0.5, 0.3333333],
        }
    }  # fmt: skip


def test_runs_are_the_folders_of_the_files(tmp_path: Path) -> None:
    write(tmp_path / "train" / "events.out.tfevents.1", scalar_event(1, "loss", 1))
    write(tmp_path / "validation" / "events.out.tfevents.1", scalar_event(1, "loss", 2))
    assert sorted(rows(tmp_path)) == [("train", "loss"), ("validation", "loss")]


def test_values_that_are_not_finite_are_gaps_and_counted(tmp_path: Path) -> None:
    values = [1.0, math.nan, math.inf, -math.inf, 2.0]
    write(
        tmp_path / "events.out.tfevents.1",
        *[scalar_event(step, "loss", value) for step, value in enumerate(values)],
    )
    row = rows(tmp_path)["", "loss"]
    assert row["values"] == [1.0, None, None, None, 2.0]
    assert (row["count"], row["not_finite"]) == (5, 3)
    json.dumps(row, allow_nan=False)


def test_restart_from_a_checkpoint_replaces_the_repeated_steps(tmp_path: Path) -> None:
    for number, start in enumerate((0, 3)):
        file = tmp_path / f"events.out.tfevents.{number}"
        write(file, *[scalar_event(start + n, "loss", number) for n in range(5)])
        os.utime(file, (number, number))
    row = rows(tmp_path)["", "loss"]
    assert row["steps"] == [0, 1, 2, 3, 4, 5, 6, 7]
    assert row["values"] == [0, 0, 0, 1, 1, 1, 1, 1]


def test_negative_and_huge_steps_stay_exact_in_json(tmp_path: Path) -> None:
    events = [scalar_event(step, "loss", 1) for step in (-1, 1 << 60)]
    write(tmp_path / "events.out.tfevents.1", *events)
    assert rows(tmp_path)["", "loss"]["steps"] == [-1, (1 << 53) - 1]


def test_curves_are_bounded_in_number_and_the_rest_is_counted(tmp_path: Path) -> None:
    events = [scalar_event(1, f"tag {number}", 1) for number in range(MAX_CURVES + 3)] * 2
    write(tmp_path / "events.out.tfevents.1", *events)
    reader = read(tmp_path)
    assert (len(reader.curves), len(reader.left_out)) == (MAX_CURVES, 3)


def test_long_tags_are_cut(tmp_path: Path) -> None:
    write(tmp_path / "events.out.tfevents.1", scalar_event(1, "長" * 400, 1))
    assert [len(tag) for _, tag in rows(tmp_path)] == [300]


def test_reading_stops_at_the_deadline(tmp_path: Path) -> None:
    write(tmp_path / "events.out.tfevents.1", scalar_event(1, "loss", 1))
    reader = CurveReader(str(tmp_path), 1000, time.monotonic() - 1)
    reader.read()
    assert reader.curves == {}
    assert not reader.complete


def test_a_file_without_scalars_is_not_read_past_the_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zeros are records of length 0, of which one file has millions."""
    now = iter(range(1_000_000))
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(bytes(1 << 20))
    assert list(read_events(str(path), 1 << 20, deadline=5)) == []
    assert next(now) == 7, "it stopped at the first look after the deadline"


def test_files_beyond_the_limit_of_bytes_are_incomplete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spawner.files.jobs.scalars.MAX_EVENT_BYTES", 500)
    events = [scalar_event(step, "loss", 1) for step in range(100)]
    write(tmp_path / "events.out.tfevents.1", *events)
    reader = read(tmp_path)
    assert not reader.complete
    assert 0 < reader.curves["", "loss"].count < 100


# --- reduction ----------------------------------------------------------------------------------


def test_reduction_keeps_peaks_and_the_last_value() -> None:
    curve = Curve("", "loss", 100)
    for step in range(100_000):
        peak = {31_415: 50.0, 27_182: -50.0}.get(step, math.sin(step / 1000))
        curve.add(step, float(step), peak)
    points = curve.points()
    assert len(points) <= 100
    values = {step: value for step, _, value in points}
    assert values[31_415] == 50.0
    assert values[27_182] == -50.0
    assert points[-1][0] == 99_999
    assert [step for step, _, _ in points] == sorted(values)


@given(st.lists(st.floats(width=32), min_size=1, max_size=400), st.integers(3, 40))
def test_reduction_keeps_extremes_of_anything(values: list[float], most: int) -> None:
    curve = Curve("", "x", most)
    for step, value in enumerate(values):
        curve.add(step, float(step), value)
    finite = [value for value in values if math.isfinite(value)]
    kept = [value for _, _, value in curve.points() if value is not None]
    assert len(curve.points()) <= most
    assert curve.not_finite == len(values) - len(finite)
    if finite:
        assert (min(kept), max(kept)) == (min(finite), max(finite))


def test_all_curves_together_are_bounded() -> None:
    curves = [Curve("", str(number), 1000) for number in range(MAX_CURVES)]
    for curve in curves:
        for step in range(3000):
            curve.add(step, float(step), float(step % 7))
    assert sum(len(curve.points()) for curve in fit_points(curves)) <= MAX_TOTAL_POINTS
