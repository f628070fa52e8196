"""CSV output that spreadsheets display as text. Pure.

Spreadsheets evaluate a cell that begins like a formula, and user input may begin so. Such cells get
a leading apostrophe (OWASP, "CSV Injection").
"""

import csv
import io
from collections.abc import Iterable, Sequence

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def defuse(cell: object) -> object:
    """Prefix a cell with an apostrophe if a spreadsheet would take its text for a formula.

    Numbers stay numbers; None stays None, which becomes an empty cell.
    """
    if isinstance(cell, str) and cell.lstrip(" ").startswith(_FORMULA):
        return f"'{cell}"
    return cell


def csv_lines(rows: Iterable[Sequence[object]]) -> str:
    """Render rows as lines of CSV (RFC 4180), each cell defused."""
    text = io.StringIO()
    csv.writer(text).writerows([defuse(cell) for cell in row] for row in rows)
    return text.getvalue()
