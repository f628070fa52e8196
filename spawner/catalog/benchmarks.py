"""Parser for a benchmark job's results, checked against its template's description.

Pure.

A template's `benchmark` names the columns of the table in `results.json`: labels, which identify
the measurement, with their permitted words, and figures, with their units. Only these are read. The
file is the user's own and may contain anything; of its texts only the template's own words, and the
name of the device, are passed on.
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
    """Measurements that a template describes.

    `labels`: heading → permitted words, or none for numbers. `figure_units`, the field `figures` of
    the file: heading → unit. `parameters`: job parameters on which a figure also depends. `shared`:
    whether figures of different users are comparable.
    """

    labels: Mapping[str, tuple[str, ...]]
    figure_units: Mapping[str, str]
    parameters: tuple[str, ...] = ()
    shared: bool = True

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Benchmark:
        """Build from a template's file, which was validated against its schema before."""
        labels = {heading: tuple(words) for heading, words in fields.get("labels", {}).items()}
        return cls(
            labels=labels,
            figure_units=dict(fields["figures"]),
            parameters=tuple(fields.get("parameters", ())),
            shared=fields.get("shared", True),
        )


@dataclass(frozen=True)
class MeasuredValue:
    """One measured value, from the column `heading` of a row with these labels.

    `better` is whether higher or lower values are better.
    """

    labels: Mapping[str, Label]
    heading: str
    unit: str
    value: float

    @property
    def better(self) -> str:
        return "lower" if self.unit in _SHORTER_IS_BETTER else "higher"


@dataclass(frozen=True)
class Results:
    """Figures of a job. `device` is the device that the job reports; None if it reports none."""

    figures: tuple[MeasuredValue, ...] = ()
    device: str | None = None


def problems(benchmark: Benchmark, properties: Mapping[str, Any]) -> Iterator[str]:
    """Yield the errors in a template's description that its schema does not detect."""
    for heading in benchmark.labels.keys() & benchmark.figure_units.keys():
        yield f"benchmark: {heading} is a label and a figure"
    for name in benchmark.parameters:
        rule = properties.get(name)
        if rule is None:
            yield f"benchmark.parameters: there is no parameter {name}"
        elif rule["type"] not in {"number", "integer", "boolean"} and "enum" not in rule:
            yield f"benchmark.parameters: {name} is neither a number, a flag nor a choice"


def read_results(data: bytes, benchmark: Benchmark, parameters: Mapping[str, Any]) -> Results:
    """Return the figures in a job's results.json; none if it is not a benchmark's output."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return Results()
    if not isinstance(document, dict):
        return Results()
    headings, rows, about = (document.get(name) for name in ("headings", "rows", "about"))
    if not isinstance(headings, list) or not isinstance(rows, list):
        return Results()
    fixed = {n: parameters[n] for n in benchmark.parameters if parameters.get(n) is not None}
    figures: list[MeasuredValue] = []
    for row in rows[:MAX_FIGURES]:
        if isinstance(row, list) and len(row) == len(headings):
            named = [(h, v) for h, v in zip(headings, row, strict=True) if isinstance(h, str)]
            figures += _row_figures(dict(named), benchmark, fixed)
    device = about.get("device") if isinstance(about, dict) else None
    return Results(tuple(figures[:MAX_FIGURES]), _clean_device(device))


def _row_figures(
    row: Mapping[str, object], benchmark: Benchmark, fixed: Mapping[str, Label]
) -> Iterator[MeasuredValue]:
    """Yield the figures of one row, if all of its labels are permitted."""
    labels: dict[str, Label] = {}
    for heading, words in benchmark.labels.items():
        label = _parse_label(row.get(heading), words)
        if label is None:
            return
        labels[heading] = label
    for heading, unit in benchmark.figure_units.items():
        value = _parse_number(row.get(heading))
        if value is not None and value > 0:  # 0: the time was up before anything was measured
            yield MeasuredValue({**labels, **fixed}, heading, unit, float(value))


def _parse_label(value: object, words: tuple[str, ...]) -> Label | None:
    """Return one of the words or, if there are none, a number; None if it is neither."""
    if not words:
        return _parse_number(value)
    return value if isinstance(value, str) and value in words else None


def _parse_number(value: object) -> float | int | None:
    """Return a finite number that a double represents exactly; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    fits = abs(value) < 1 << 53 if isinstance(value, int) else math.isfinite(value)
    return value if fits else None


def _clean_device(text: object) -> str | None:
    """Return a device's name, cleaned for display to the job's owner."""
    if not isinstance(text, str):
        return None
    printable = "".join(char if char.isprintable() else "\ufffd" for char in text[:MAX_DEVICE])
    return printable.strip() or None


def ran_on_cpu(device: str | None) -> bool:
    """Return whether a GPU benchmark reports that it ran on the CPU because it found no GPU."""
    return device is not None and device.lower() == "cpu"
