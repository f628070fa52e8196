"""Format of the files with a job's measured usage: one file for each node, task and restart.

Pure. Used by the sampler on the node, which writes them, and by the files program and the portal,
which read them. The files belong to the user, so every reader validates all of it.

A file has one JSON value per line. An object is the header; the last one counts. An array is a
point: its start in seconds since 1970, the number of measurements merged into it, memory in MB,
busy CPUs, and for each GPU its use in percent and its memory in MB. Points ascend. Lines that are
malformed are skipped, because a full disk can truncate one.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NoReturn

FOLDER = "usage"
"""Folder of these files in the job's folder."""
NAME = re.compile(r"(\d{1,7})-(\d{1,5})-([A-Za-z0-9][A-Za-z0-9._-]{0,62})\.jsonl", re.ASCII)
"""Names of files: task, restart, node."""
MAX_POINTS = 2000
MAX_GPUS = 16
MAX_BYTES = 1 << 20
MAX_LINE = 4096
MAX_NAME = 100
MAX_SECONDS = 32_503_680_000.0
"""The year 3000."""
MAX_MB = float(1 << 30)
MAX_CPUS = 65_536.0
MEMORY, CPUS, FIRST_GPU = 0, 1, 2
"""Indexes of a point's values. Each GPU has two, its use and its memory, from FIRST_GPU on."""

Values = tuple[float | None, ...]


@dataclass(frozen=True)
class Point:
    """Point of a series; `samples` measurements from `start` on were merged into it.

    `values` are memory in MB, busy CPUs, and for each GPU its use in percent and its memory in MB;
    None is unknown.
    """

    start: float
    values: Values
    samples: int = 1


@dataclass(frozen=True)
class GpuInfo:
    name: str
    memory_total_mb: float | None


@dataclass(frozen=True)
class Header:
    """Properties of a series; `gpus` is None if there is no data about GPUs.

    `step_s` is the longest time between two points while the sampler ran. `killed_at` is when a
    process was last killed for lack of memory, in seconds since 1970.
    """

    step_s: float
    memory_limit_mb: float | None = None
    killed_at: float | None = None
    gpus: tuple[GpuInfo, ...] | None = None


@dataclass(frozen=True)
class NodeSeries:
    """Measurements on one node."""

    node: str
    header: Header
    points: tuple[Point, ...]


def file_name(task: str, restart: str, node: str) -> str:
    """Return the name of a file. Raises ValueError if the parts make no such name."""
    name = f"{task}-{restart}-{node}.jsonl"
    if NAME.fullmatch(name) is None:
        raise ValueError(f"not a name of a usage file: {name!r}")
    return name


def encode_header(header: Header) -> str:
    return json.dumps(asdict(header), separators=(",", ":")) + "\n"


def encode_point(point: Point) -> str:
    return json.dumps(point_row(point), separators=(",", ":")) + "\n"


def point_row(point: Point) -> list[float | None]:
    """Return the array of a point; values are rounded to what a chart can show."""
    start = round(point.start, 1)
    return [start, point.samples, *(_round(index, v) for index, v in enumerate(point.values))]


def _round(index: int, value: float | None) -> float | None:
    if value is None:
        return None
    return round(value, 2) if index == CPUS else round(value)


# --- reading ------------------------------------------------------------------------------------


def parse_file(text: str) -> tuple[Header | None, list[Point]]:
    """Return the header and the valid points in ascending order; at most 2 * MAX_POINTS."""
    header: Header | None = None
    points: list[Point] = []
    for value in _parse_lines(text):
        if isinstance(value, dict):
            header = parse_header(value) or header
        elif (point := parse_point(value)) and (not points or point.start > points[-1].start):
            points.append(point)
            if len(points) >= 2 * MAX_POINTS:
                break
    return header, points


def _parse_lines(text: str) -> Iterator[Any]:
    for line in text.split("\n"):
        if 0 < len(line) <= MAX_LINE:
            try:
                yield json.loads(line, parse_constant=_refuse_constant)
            except (ValueError, RecursionError):
                continue


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"not a number in JSON: {text}")


def parse_header(value: object) -> Header | None:
    """Return a header from its JSON; None if it is malformed."""
    if not isinstance(value, dict):
        return None
    step_s = _number(value.get("step_s"), MAX_SECONDS)
    if step_s is None or step_s <= 0:
        return None
    gpus = value.get("gpus")
    return Header(
        step_s=step_s,
        memory_limit_mb=_number(value.get("memory_limit_mb"), MAX_MB),
        killed_at=_number(value.get("killed_at"), MAX_SECONDS),
        gpus=tuple(map(_parse_gpu, gpus[:MAX_GPUS])) if isinstance(gpus, list) else None,
    )


def _parse_gpu(value: object) -> GpuInfo:
    fields = value if isinstance(value, dict) else {}
    name = fields.get("name")
    return GpuInfo(
        name=_printable(name) if isinstance(name, str) else "",
        memory_total_mb=_number(fields.get("memory_total_mb"), MAX_MB),
    )


def _printable(text: str) -> str:
    return "".join(
        letter for letter in text[:MAX_NAME] if letter.isascii() and letter.isprintable()
    )


def parse_point(value: object) -> Point | None:
    """Return a point from its JSON; None if it is malformed. Values out of range are None."""
    if not isinstance(value, list) or not 4 <= len(value) <= 4 + 2 * MAX_GPUS:
        return None
    start, samples = _number(value[0], MAX_SECONDS), value[1]
    if start is None or type(samples) is not int or not 0 < samples <= 1 << 30:
        return None
    return Point(start, tuple(_number(v, _bound(n)) for n, v in enumerate(value[2:])), samples)


def _bound(index: int) -> float:
    if is_memory(index):
        return MAX_MB
    return MAX_CPUS if index == CPUS else 100.0


def _number(value: object, most: float) -> float | None:
    """Return a number from 0 to `most`; None for anything else."""
    if type(value) not in (int, float):
        return None
    if not 0 <= value <= most:  # type: ignore[operator]  # NaN is not in the range either
        return None
    return float(value)  # type: ignore[arg-type]


# --- merging ------------------------------------------------------------------------------------


def is_memory(index: int) -> bool:
    """Return whether the value at this index of a point is memory."""
    return index == MEMORY or (index >= FIRST_GPU and (index - FIRST_GPU) % 2 == 1)


def merge_points(first: Point, second: Point) -> Point:
    """Merge two consecutive points.

    Memory is merged by maximum, because exceeding the limit ends a job; the rest by average.
    """
    width = max(len(first.values), len(second.values))
    values = tuple(_merge_value(index, first, second) for index in range(width))
    return Point(first.start, values, first.samples + second.samples)


def merge_groups(points: Sequence[Point], size: int) -> list[Point]:
    """Merge each `size` consecutive points into one."""
    return [
        _merge_all(points[index : index + size]) for index in range(0, len(points), max(1, size))
    ]


def thin_points(points: Sequence[Point], most: int) -> list[Point]:
    """Return at most `most` points, by merging as many as necessary."""
    return merge_groups(points, math.ceil(len(points) / max(1, most)))


def _merge_all(points: Iterable[Point]) -> Point:
    first, *more = points
    for other in more:
        first = merge_points(first, other)
    return first


def _merge_value(index: int, first: Point, second: Point) -> float | None:
    pairs = [(p.values[index], p.samples) for p in (first, second) if index < len(p.values)]
    samples = [(value, count) for value, count in pairs if value is not None]
    return (_maximum if is_memory(index) else _mean)(samples) if samples else None


def _maximum(samples: list[tuple[float, int]]) -> float:
    return max(value for value, _ in samples)


def _mean(samples: list[tuple[float, int]]) -> float:
    return sum(value * count for value, count in samples) / sum(count for _, count in samples)
