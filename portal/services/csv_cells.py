"""Tables as CSV that a spreadsheet only shows. Pure.

A cell that begins like a formula is run by the spreadsheet that opens the file, and what people
typed somewhere may begin so: it gets an apostrophe first (OWASP, "CSV Injection").
"""

import csv
import io
from collections.abc import Iterable, Sequence

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def defused(cell: object) -> object:
    """The cell, with an apostrophe first where a spreadsheet would take text for a formula. Numbers
    stay numbers; None is empty."""
    if isinstance(cell, str) and cell.lstrip(" ").startswith(_FORMULA):
        return f"'{cell}"
    return cell


def csv_lines(rows: Iterable[Sequence[object]]) -> str:
    """Rows as lines of CSV (RFC 4180), each cell defused."""
    text = io.StringIO()
    csv.writer(text).writerows([defused(cell) for cell in row] for row in rows)
    return text.getvalue()
