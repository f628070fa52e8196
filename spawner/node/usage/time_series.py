"""Time series of the usage of a session or job since its start, with a bounded number of points.

Pure.

Measurements come every few seconds; a point covers a step of time. When there are too many points,
pairs of them are merged, and the step doubles.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from spawner.node.usage.meter import Use
from spawner.usage_file import (
    CPUS,
    FIRST_GPU,
    MAX_GPUS,
    MEMORY,
    GpuInfo,
    Header,
    Point,
    merge_groups,
    merge_points,
)

MAX_POINTS = 240
MB = 1 << 20


@dataclass
class Series:
    """Series of measurements, added every `interval_s` seconds.

    A `recent` series drops its oldest points instead of merging pairs.
    """

    interval_s: float
    most: int = MAX_POINTS
    recent: bool = False
    _points: list[Point] = field(default_factory=list)
    _samples_per_point: int = 1
    _names: list[str] | None = None
    _limit_bytes: int | None = None
    _totals: list[int | None] = field(default_factory=list)
    _kills: int = 0
    _killed_at: float | None = None

    def add(self, measured_at: float, use: Use) -> bool:
        """Add a measurement, at a time by any monotonic clock.

        Return whether a process was killed for lack of memory since the last measurement.
        """
        gpus = use.gpus[:MAX_GPUS] if use.gpus is not None else None
        if gpus is not None and self._names != [gpu.name for gpu in gpus]:
            self._names = [gpu.name for gpu in gpus]
            self._points = [Point(p.start, p.values[:FIRST_GPU], p.samples) for p in self._points]
        if gpus is not None:
            self._totals = [gpu.memory_bytes for gpu in gpus]
        if use.memory is not None:
            self._limit_bytes = use.memory.limit_bytes
        kills = use.memory.kills if use.memory is not None else self._kills
        killed, self._kills = kills > self._kills, kills
        if killed:
            self._killed_at = measured_at
        values: list[float | None] = [
            _mb_of(use.memory.used_bytes if use.memory else None),
            use.cpus,
        ]
        for gpu in gpus or ():
            values += [gpu.use_percent, _mb_of(gpu.memory_used_bytes)]
        self._append(Point(measured_at, tuple(values)))
        return killed

    def _append(self, point: Point) -> None:
        last = self._points[-1] if self._points else None
        if last is not None and last.samples < self._samples_per_point:
            self._points[-1] = merge_points(last, point)
            return
        self._points.append(point)
        if len(self._points) <= self.most:
            return
        if self.recent:
            del self._points[: -self.most]
        else:
            self._samples_per_point *= 2
            self._points = merge_groups(self._points, 2)

    @property
    def complete_points(self) -> list[Point]:
        """Return the points that further measurements leave as they are until pairs are merged."""
        last = self._points[-1] if self._points else None
        growing = last is not None and last.samples < self._samples_per_point
        return self._points[:-1] if growing else list(self._points)

    @property
    def header(self) -> Header:
        """Return the properties of the series, in the format of files."""
        gpus = None
        if self._names is not None:
            totals = [_round(_mb_of(total)) for total in self._totals]
            gpus = tuple(map(GpuInfo, (name[:100] for name in self._names), totals))
        limit = _round(_mb_of(self._limit_bytes))
        return Header(self._step_s, limit, self._killed_at, gpus)

    @property
    def _step_s(self) -> int:
        return max(1, round(self._samples_per_point * self.interval_s))

    def to_report(self, now: float) -> dict[str, Any]:
        """Return the series in the portal's format.

        Columns have equal length; `ages_s` are the seconds since each point, because the node's
        clock may be wrong. None is unknown. `killed_s` is the seconds since a process was last
        killed for lack of memory.
        """
        columns = {"memory_mb": self._column(MEMORY, 0), "cpus": self._column(CPUS, 2)}
        gpus = None
        if self._names is not None:
            gpus = [self._gpu_columns(index, name) for index, name in enumerate(self._names)]
        return {
            "ages_s": [max(0, round(now - point.start)) for point in self._points],
            "step_s": self._step_s,
            **columns,
            "memory_limit_mb": _round(_mb_of(self._limit_bytes)),
            "gpus": gpus,
            "killed_s": None if self._killed_at is None else round(now - self._killed_at),
        }

    def _gpu_columns(self, index: int, name: str) -> dict[str, Any]:
        total = self._totals[index] if index < len(self._totals) else None
        first = FIRST_GPU + 2 * index
        return {
            "name": name[:100],
            "use_percent": self._column(first, 0),
            "memory_mb": self._column(first + 1, 0),
            "memory_total_mb": _round(_mb_of(total)),
        }

    def _column(self, index: int, digits: int) -> list[float | None]:
        values = (p.values[index] if index < len(p.values) else None for p in self._points)
        return [None if value is None else round(value, digits or None) for value in values]


def _mb_of(size: int | None) -> float | None:
    return None if size is None else size / MB


def _round(value: float | None) -> int | None:
    return None if value is None else round(value)
