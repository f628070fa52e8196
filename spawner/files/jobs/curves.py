"""Curves of logged scalars, reduced while they are read.

Pure. Consecutive points share a bucket, of which the smallest and the largest value are kept, so
that no peak is lost. When there are too many buckets, they are merged in pairs, and each then
covers twice as many points.
"""

from __future__ import annotations

import math
from typing import Any

MAX_CURVES = 32
MAX_TOTAL_POINTS = 16_000
"""Points of all curves together: an answer of the files program has at most 1 MiB."""
LARGEST_STEP = (1 << 53) - 1
"""Larger integers are not exact in JavaScript."""
LATEST_S = 253_402_300_799.0
"""The end of the year 9999."""

Point = tuple[int, float, float | None]
"""Step, time in seconds since 1970, and value; None if it is not finite."""
Bucket = tuple[Point, Point]
"""The points with the smallest and the largest value; of gaps, the first and the last one."""


class Curve:
    """The values of one tag in one run. `count` and `not_finite` are numbers of logged values."""

    def __init__(self, run: str, tag: str, most_points: int) -> None:
        self.run, self.tag = run, tag
        self.count = self.not_finite = 0
        self._buckets: list[Bucket] = []
        self._most = max(1, (most_points - 1) // 2)
        self._width = 1
        self._filled = 0
        self._last: Point | None = None

    def add(self, step: int, wall: float, value: float) -> None:
        finite = math.isfinite(value)
        point = (step, wall, value if finite else None)
        self.count += 1
        self.not_finite += not finite
        self._last = point
        if not self._buckets or self._filled >= self._width:
            self._buckets.append((point, point))
            self._filled = 1
            if len(self._buckets) > self._most:
                self._halve()
            return
        self._filled += 1
        low, high = self._buckets[-1]
        if low[2] is None or high[2] is None or not finite:
            self._buckets[-1] = merge_buckets((low, high), (point, point))
        elif value < low[2]:
            self._buckets[-1] = point, high
        elif value > high[2]:
            self._buckets[-1] = low, point

    def restart(self, step: int) -> None:
        """Drop the points from this step on: a newer file, of a job that was started again from a
        checkpoint, repeats them.
        """
        self._buckets = [b for b in self._buckets if max(b[0][0], b[1][0]) < step]
        self._filled = self._width

    def shrink(self, most_points: int) -> None:
        """Reduce the curve to at most this many points."""
        self._most = max(1, (most_points - 1) // 2)
        while len(self._buckets) > self._most:
            self._halve()

    def points(self) -> list[Point]:
        """Return the points in the order of logging; the last value is one of them."""
        points = [point for bucket in self._buckets for point in dict.fromkeys(_in_order(bucket))]
        if self._last is not None and (not points or points[-1] != self._last):
            points.append(self._last)
        return points

    def to_row(self) -> dict[str, Any]:
        """Return the curve as JSON, with the points as columns."""
        points = self.points()
        return {
            "run": self.run,
            "tag": self.tag,
            "count": self.count,
            "not_finite": self.not_finite,
            "steps": [_to_safe_step(step) for step, _, _ in points],
            "at": [_to_safe_time(wall) for _, wall, _ in points],
            "values": [None if value is None else _round(value) for _, _, value in points],
        }

    def _halve(self) -> None:
        buckets = self._buckets
        pairs = range(0, len(buckets) - 1, 2)
        merged = [merge_buckets(buckets[index], buckets[index + 1]) for index in pairs]
        if len(buckets) % 2:
            merged.append(buckets[-1])
        else:
            self._filled += self._width
        self._buckets = merged
        self._width *= 2


def fit_points(curves: list[Curve]) -> list[Curve]:
    """Reduce the curves so that they have at most MAX_TOTAL_POINTS together."""
    share = MAX_TOTAL_POINTS // max(1, len(curves))
    for curve in curves:
        curve.shrink(share)
    return curves


def merge_buckets(first: Bucket, second: Bucket) -> Bucket:
    """Merge two buckets; a gap remains only if neither has a value."""
    if first[0][2] is None:
        return second if second[0][2] is not None else (first[0], second[1])
    if second[0][2] is None:
        return first
    low = min(first[0], second[0], key=_value_of)
    return low, max(first[1], second[1], key=_value_of)


def _value_of(point: Point) -> float:
    return 0.0 if point[2] is None else point[2]


def _in_order(bucket: Bucket) -> Bucket:
    """Return the bucket's points by time: the step may be the same for all."""
    low, high = bucket
    return bucket if (low[1], low[0]) <= (high[1], high[0]) else (high, low)


def _to_safe_step(step: int) -> int:
    signed = step - (1 << 64) if step >= 1 << 63 else step  # a negative int64
    return max(-LARGEST_STEP, min(LARGEST_STEP, signed))


def _to_safe_time(wall: float) -> float:
    return round(min(max(wall, 0.0), LATEST_S), 2) if math.isfinite(wall) else 0.0


def _round(value: float) -> float:
    """Round to the digits of a 32-bit number, which is how most programs log."""
    return float(f"{value:.7g}")
