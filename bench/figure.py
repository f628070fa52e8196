"""Results of a benchmark and their tables. Pure: no measuring, no access to a cluster."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

AT_MOST, AT_LEAST = "≤", "≥"
HEAD = ("what", "measured", "beside", "alternative", "ratio", "budget", "verdict")


@dataclass(frozen=True)
class Budget:
    """A bound: `sign` is AT_MOST or AT_LEAST, `bound` is in the figure's unit."""

    sign: str
    bound: float

    def met_by(self, value: float) -> bool:
        return value <= self.bound if self.sign == AT_MOST else value >= self.bound


@dataclass(frozen=True)
class Figure:
    """One row of the table: a value and, in the same unit, the value of the alternative."""

    what: str
    value: float
    unit: str
    beside: float | None = None
    alternative: str = ""
    budget: Budget | None = None

    @property
    def ratio(self) -> float | None:
        return self.value / self.beside if self.beside else None

    @property
    def verdict(self) -> str:
        if self.budget is None:
            return ""
        return "met" if self.budget.met_by(self.value) else "MISSED"

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio, "verdict": self.verdict}


@dataclass(frozen=True)
class Result:
    """The figures of one benchmark; `detail` goes to bench.json only."""

    figures: tuple[Figure, ...]
    detail: dict[str, Any]


def at_most(bound: float) -> Budget:
    return Budget(AT_MOST, bound)


def at_least(bound: float) -> Budget:
    return Budget(AT_LEAST, bound)


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value that at least `percent` of all values do not exceed (nearest
    rank)."""
    if not values:
        raise ValueError("no values")
    rank = math.ceil(percent / 100 * len(values))
    return sorted(values)[max(rank, 1) - 1]


def median(values: Sequence[float]) -> float:
    return percentile(values, 50)


def table(figures: Sequence[Figure]) -> str:
    """Render a plain-text table with aligned columns and a heading."""
    rows = [HEAD, *(_to_row(figure) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    padded = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in padded)


def markdown(figures: Sequence[Figure]) -> str:
    """Render the same table as Markdown."""
    rows = [HEAD, ("---",) * len(HEAD), *(_to_row(figure) for figure in figures)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _to_row(figure: Figure) -> tuple[str, ...]:
    unit, beside, ratio, budget = figure.unit, figure.beside, figure.ratio, figure.budget
    return (
        figure.what,
        f"{_format_number(figure.value)} {unit}".rstrip(),
        f"{_format_number(beside)} {unit}".rstrip() if beside is not None else "",
        figure.alternative,
        f"{ratio:.2f}" if ratio is not None else "",
        f"{budget.sign} {_format_number(budget.bound)} {unit}".rstrip() if budget else "",
        figure.verdict,
    )


def _format_number(value: float) -> str:
    """Format a number with three significant digits; from 100 on as an integer with commas."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
