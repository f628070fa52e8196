"""What a session has used since it began, in so many points at most. Pure.

A look comes every few seconds; a point stands for a step of time. When there are too many points,
each two of them become one, and the step is twice as long. Of memory a point keeps the most that
was held, for that is what ends a job; of CPUs and GPUs how busy they were on the average.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from spawner.node.meter import Use

MOST_POINTS = 240
MOST_GPUS = 16
MB = 1 << 20

Values = tuple[float | None, ...]


@dataclass(frozen=True)
class _Point:
    """`at` is when it begins, in seconds. `values` are memory in MB, the CPUs that were busy, and
    for each GPU its use in percent and its memory in MB; `looks` is how many it was made of."""

    at: float
    values: Values
    looks: int = 1


@dataclass
class Series:
    """`looks_every_s` is how often something is added."""

    looks_every_s: float
    most: int = MOST_POINTS
    _points: list[_Point] = field(default_factory=list)
    _looks_each: int = 1
    _names: list[str] | None = None
    _limit_bytes: int | None = None
    _totals: list[int | None] = field(default_factory=list)

    def add(self, at: float, use: Use) -> None:
        """One look, at a time by any clock that never goes back."""
        gpus = use.gpus[:MOST_GPUS] if use.gpus is not None else None
        if gpus is not None and self._names != [gpu.name for gpu in gpus]:
            self._names = [gpu.name for gpu in gpus]
            self._points = [_Point(p.at, p.values[:2], p.looks) for p in self._points]
        if gpus is not None:
            self._totals = [gpu.memory_bytes for gpu in gpus]
        if use.memory is not None:
            self._limit_bytes = use.memory.limit_bytes
        values: list[float | None] = [_mb(use.memory.used_bytes if use.memory else None), use.cpus]
        for gpu in gpus or ():
            values += [gpu.use_percent, _mb(gpu.memory_used_bytes)]
        self._put(_Point(at, tuple(values)))

    def _put(self, point: _Point) -> None:
        last = self._points[-1] if self._points else None
        if last is not None and last.looks < self._looks_each:
            self._points[-1] = _joined(last, point)
            return
        self._points.append(point)
        if len(self._points) > self.most:
            self._looks_each *= 2
            pairs = range(0, len(self._points), 2)
            self._points = [_all_joined(self._points[at : at + 2]) for at in pairs]

    def told(self, now: float) -> dict[str, Any]:
        """As the portal is told: columns of equal length, with `ages_s` the seconds since each
        point, for the node's clock may be wrong. None is what nobody knows."""
        columns = {"memory_mb": self._column(0, 0), "cpus": self._column(1, 2)}
        gpus = None
        if self._names is not None:
            gpus = [self._gpu(index, name) for index, name in enumerate(self._names)]
        return {
            "ages_s": [max(0, round(now - point.at)) for point in self._points],
            "step_s": max(1, round(self._looks_each * self.looks_every_s)),
            **columns,
            "memory_limit_mb": _whole(_mb(self._limit_bytes)),
            "gpus": gpus,
        }

    def _gpu(self, index: int, name: str) -> dict[str, Any]:
        total = self._totals[index] if index < len(self._totals) else None
        return {
            "name": name[:100],
            "use_percent": self._column(2 + 2 * index, 0),
            "memory_mb": self._column(3 + 2 * index, 0),
            "memory_total_mb": _whole(_mb(total)),
        }

    def _column(self, index: int, digits: int) -> list[float | None]:
        found = (p.values[index] if index < len(p.values) else None for p in self._points)
        return [None if value is None else round(value, digits or None) for value in found]


def _joined(one: _Point, other: _Point) -> _Point:
    """Two points that follow each other as one."""
    width = max(len(one.values), len(other.values))
    values = tuple(_join(index, one, other) for index in range(width))
    return _Point(one.at, values, one.looks + other.looks)


def _join(index: int, one: _Point, other: _Point) -> float | None:
    pairs = [(p.values[index], p.looks) for p in (one, other) if index < len(p.values)]
    known = [(value, looks) for value, looks in pairs if value is not None]
    return (_most if _is_memory(index) else _mean)(known) if known else None


def _is_memory(index: int) -> bool:
    return index == 0 or (index > 1 and index % 2 == 1)


def _most(known: list[tuple[float, int]]) -> float:
    return max(value for value, _ in known)


def _mean(known: list[tuple[float, int]]) -> float:
    return sum(value * looks for value, looks in known) / sum(looks for _, looks in known)


def _all_joined(points: list[_Point]) -> _Point:
    first, *others = points
    for other in others:
        first = _joined(first, other)
    return first


def _mb(size: int | None) -> float | None:
    return None if size is None else size / MB


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
