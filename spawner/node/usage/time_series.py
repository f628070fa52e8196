"""Time series of a session's usage since its start, with a bounded number of points.

Pure.

Measurements come every few seconds; a point covers a step of time. When there are too many points,
pairs of them are merged, and the step doubles. Memory is merged by maximum, because exceeding the
limit ends a job; CPU and GPU use by average.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from spawner.node.usage.meter import Use

MOST_POINTS = 240
MOST_GPUS = 16
MB = 1 << 20

Values = tuple[float | None, ...]


@dataclass(frozen=True)
class _Point:
    """Point of the series.

    `at` is its start in seconds. `values` are memory in MB, busy CPUs, and for each GPU its use in
    percent and its memory in MB; `looks` is the number of measurements merged into it.
    """

    at: float
    values: Values
    looks: int = 1


@dataclass
class Series:
    """Series of measurements, added every `looks_every_s` seconds."""

    looks_every_s: float
    most: int = MOST_POINTS
    _points: list[_Point] = field(default_factory=list)
    _looks_each: int = 1
    _names: list[str] | None = None
    _limit_bytes: int | None = None
    _totals: list[int | None] = field(default_factory=list)
    _kills: int = 0
    _killed_at: float | None = None

    def add(self, at: float, use: Use) -> bool:
        """Add a measurement, at a time by any monotonic clock.

        Return whether a process was killed for lack of memory since the last measurement.
        """
        gpus = use.gpus[:MOST_GPUS] if use.gpus is not None else None
        if gpus is not None and self._names != [gpu.name for gpu in gpus]:
            self._names = [gpu.name for gpu in gpus]
            self._points = [_Point(p.at, p.values[:2], p.looks) for p in self._points]
        if gpus is not None:
            self._totals = [gpu.memory_bytes for gpu in gpus]
        if use.memory is not None:
            self._limit_bytes = use.memory.limit_bytes
        kills = use.memory.kills if use.memory is not None else self._kills
        killed, self._kills = kills > self._kills, kills
        if killed:
            self._killed_at = at
        values: list[float | None] = [
            _mb_of(use.memory.used_bytes if use.memory else None),
            use.cpus,
        ]
        for gpu in gpus or ():
            values += [gpu.use_percent, _mb_of(gpu.memory_used_bytes)]
        self._append(_Point(at, tuple(values)))
        return killed

    def _append(self, point: _Point) -> None:
        last = self._points[-1] if self._points else None
        if last is not None and last.looks < self._looks_each:
            self._points[-1] = _merge(last, point)
            return
        self._points.append(point)
        if len(self._points) > self.most:
            self._looks_each *= 2
            pairs = range(0, len(self._points), 2)
            self._points = [_merge_all(self._points[at : at + 2]) for at in pairs]

    def to_report(self, now: float) -> dict[str, Any]:
        """Return the series in the portal's format.

        Columns have equal length; `ages_s` are the seconds since each point, because the node's
        clock may be wrong. None is unknown. `killed_s` is the seconds since a process was last
        killed for lack of memory.
        """
        columns = {"memory_mb": self._column(0, 0), "cpus": self._column(1, 2)}
        gpus = None
        if self._names is not None:
            gpus = [self._gpu_columns(index, name) for index, name in enumerate(self._names)]
        return {
            "ages_s": [max(0, round(now - point.at)) for point in self._points],
            "step_s": max(1, round(self._looks_each * self.looks_every_s)),
            **columns,
            "memory_limit_mb": _round(_mb_of(self._limit_bytes)),
            "gpus": gpus,
            "killed_s": None if self._killed_at is None else round(now - self._killed_at),
        }

    def _gpu_columns(self, index: int, name: str) -> dict[str, Any]:
        total = self._totals[index] if index < len(self._totals) else None
        return {
            "name": name[:100],
            "use_percent": self._column(2 + 2 * index, 0),
            "memory_mb": self._column(3 + 2 * index, 0),
            "memory_total_mb": _round(_mb_of(total)),
        }

    def _column(self, index: int, digits: int) -> list[float | None]:
        found = (p.values[index] if index < len(p.values) else None for p in self._points)
        return [None if value is None else round(value, digits or None) for value in found]


def _merge(one: _Point, other: _Point) -> _Point:
    """Merge two consecutive points."""
    width = max(len(one.values), len(other.values))
    values = tuple(_merge_value(index, one, other) for index in range(width))
    return _Point(one.at, values, one.looks + other.looks)


def _merge_value(index: int, one: _Point, other: _Point) -> float | None:
    pairs = [(p.values[index], p.looks) for p in (one, other) if index < len(p.values)]
    known = [(value, looks) for value, looks in pairs if value is not None]
    return (_maximum if _is_memory(index) else _mean)(known) if known else None


def _is_memory(index: int) -> bool:
    return index == 0 or (index > 1 and index % 2 == 1)


def _maximum(known: list[tuple[float, int]]) -> float:
    return max(value for value, _ in known)


def _mean(known: list[tuple[float, int]]) -> float:
    return sum(value * looks for value, looks in known) / sum(looks for _, looks in known)


def _merge_all(points: list[_Point]) -> _Point:
    first, *others = points
    for other in others:
        first = _merge(first, other)
    return first


def _mb_of(size: int | None) -> float | None:
    return None if size is None else size / MB


def _round(value: float | None) -> int | None:
    return None if value is None else round(value)
