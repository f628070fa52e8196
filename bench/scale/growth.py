"""Figures of the full amount beside those of a tenth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.figure import Budget, Figure
from bench.load import Load

TENTH = "a tenth"


def latency_figures(
    what: str, full: Load, tenth: Load, budget: Budget | None = None
) -> list[Figure]:
    """Return the median, the 99th percentile, which the budget is for, and the processor time."""
    figures = [
        Figure(f"{what}: median", full.median_ms, "ms", tenth.median_ms, TENTH),
        Figure("the same, p99", full.p99_ms, "ms", tenth.p99_ms, TENTH, budget),
    ]
    if full.processor_ms is not None:
        own, smaller = full.processor_ms, tenth.processor_ms
        figures.append(Figure("the same, processor time", own, "ms", smaller, TENTH))
    return figures


def call_figures(
    what: str, full: Mapping[str, Load], tenth: Mapping[str, Load], budget: Budget | None = None
) -> list[Figure]:
    """Return the latency figures of each call by its name."""
    return [
        figure
        for name, load in full.items()
        for figure in latency_figures(f"{what}: {name}", load, tenth[name], budget)
    ]


def summarize_loads(tenth: Mapping[str, Load], full: Mapping[str, Load]) -> dict[str, Any]:
    return {
        name: {"tenth": tenth[name].summarize(), "full": full[name].summarize()} for name in full
    }
