"""What a benchmark's job leaves, against what its template says it measures. Pure.

A template's `benchmark` names the columns of the table in `results.json`: those that say what was
measured, with the words that may stand there, and those that hold figures, with their units. Only
that is taken over. The file is the user's own and may hold anything; of its texts none but the
template's own words, and the name of the device, go any further.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MAX_FIGURES = 400
MAX_DEVICE = 100
_SHORTER_IS_BETTER = {"s", "ms", "µs"}

Label = str | int | float | bool


@dataclass(frozen=True)
class Benchmark:
    """What a template measures.

    `labels`: heading → the words that may stand there, or none for numbers. `figures`: heading →
    unit. `parameters`: those that a figure depends on, too. `shared`: whether figures of different
    people can be held against each other.
    """

    labels: Mapping[str, tuple[str, ...]]
    figures: Mapping[str, str]
    parameters: tuple[str, ...] = ()
    shared: bool = True

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Benchmark:
        """As a template's file has it, held against its schema before."""
        labels = {heading: tuple(words) for heading, words in fields.get("labels", {}).items()}
        return cls(
            labels=labels,
            figures=dict(fields["figures"]),
            parameters=tuple(fields.get("parameters", ())),
            shared=fields.get("shared", True),
        )


@dataclass(frozen=True)
class Figure:
    """One figure. `better`: whether a higher or a lower one is."""

    labels: Mapping[str, Label]
    measure: str
    unit: str
    value: float

    @property
    def better(self) -> str:
        return "lower" if self.unit in _SHORTER_IS_BETTER else "higher"


@dataclass(frozen=True)
class Results:
    """What was found. `device` is what the job says it measured; None if it says nothing."""

    figures: tuple[Figure, ...] = ()
    device: str | None = None


def problems(benchmark: Benchmark, properties: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with a template's own description, beyond its shape."""
    for heading in benchmark.labels.keys() & benchmark.figures.keys():
        yield f"benchmark: {heading} is a label and a figure"
    for name in benchmark.parameters:
        rule = properties.get(name)
        if rule is None:
            yield f"benchmark.parameters: there is no parameter {name}"
        elif rule["type"] not in {"number", "integer", "boolean"} and "enum" not in rule:
            yield f"benchmark.parameters: {name} is neither a number, a flag nor a choice"


def read_results(data: bytes, benchmark: Benchmark, parameters: Mapping[str, Any]) -> Results:
    """The figures in a job's results.json; none where it isn't what a benchmark writes."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return Results()
    if not isinstance(found, dict):
        return Results()
    headings, rows, about = (found.get(name) for name in ("headings", "rows", "about"))
    if not isinstance(headings, list) or not isinstance(rows, list):
        return Results()
    fixed = {n: parameters[n] for n in benchmark.parameters if parameters.get(n) is not None}
    figures: list[Figure] = []
    for row in rows[:MAX_FIGURES]:
        if isinstance(row, list) and len(row) == len(headings):
            named = [(h, v) for h, v in zip(headings, row, strict=True) if isinstance(h, str)]
            figures += _figures(dict(named), benchmark, fixed)
    device = about.get("device") if isinstance(about, dict) else None
    return Results(tuple(figures[:MAX_FIGURES]), _plain(device))


def _figures(
    row: Mapping[str, object], benchmark: Benchmark, fixed: Mapping[str, Label]
) -> Iterator[Figure]:
    """Those of one row, if all of its labels are what they may be."""
    labels: dict[str, Label] = {}
    for heading, words in benchmark.labels.items():
        label = _label(row.get(heading), words)
        if label is None:
            return
        labels[heading] = label
    for heading, unit in benchmark.figures.items():
        value = _number(row.get(heading))
        if value is not None and value > 0:  # 0: its time was up before it had measured anything
            yield Figure({**labels, **fixed}, heading, unit, float(value))


def _label(value: object, words: tuple[str, ...]) -> Label | None:
    """One of the words, where there are any, or else a number."""
    if not words:
        return _number(value)
    return value if isinstance(value, str) and value in words else None


def _number(value: object) -> float | int | None:
    """A finite number that a double holds as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    fits = abs(value) < 1 << 53 if isinstance(value, int) else math.isfinite(value)
    return value if fits else None


def _plain(text: object) -> str | None:
    """A device's name as it may be shown to whose job it was."""
    if not isinstance(text, str):
        return None
    shown = "".join(char if char.isprintable() else "\ufffd" for char in text[:MAX_DEVICE])
    return shown.strip() or None


def is_processor(device: str | None) -> bool:
    """Whether a benchmark of GPUs says that it measured the processor, having found no GPU."""
    return device is not None and device.lower() == "cpu"
