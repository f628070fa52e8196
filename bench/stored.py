"""Stored results as Markdown: a table for each measurement, with what it belongs to. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.figure import Budget, Figure, markdown


def render_stored(entries: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> str:
    """Render the entries of bench.json with these names, in this order. Others have no results."""
    return "\n\n".join(_render(name, entries[name]) for name in names if name in entries)


def _render(name: str, entry: Mapping[str, Any]) -> str:
    machine = entry["machine"]
    loads = ", ".join(f"{load:.1f}" for load in machine["load"])
    versions = ", ".join(f"{part} {version}" for part, version in entry["versions"].items())
    lines = [
        f"`{name}`: {entry['at']}, commit {entry['commit']}, load averages {loads} at its end;",
        f"{machine['cpus']} × {machine['processor']}, {machine['memory']};",
        f"{versions}.",
    ]
    return "\n".join(lines) + "\n\n" + markdown([_to_figure(row) for row in entry["figures"]])


def _to_figure(row: Mapping[str, Any]) -> Figure:
    budget = Budget(**row["budget"]) if row["budget"] else None
    columns = ("what", "value", "unit", "beside", "alternative")
    return Figure(**{column: row[column] for column in columns}, budget=budget)
