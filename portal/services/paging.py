"""Cursors of lists in reverse chronological order, and the conditions that they stand for.

A cursor is the time by which the list is sorted, of a page's last row, and its ID, because two rows
may have the same time. The lists are sorted by both.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, or_

from portal.errors import FieldError, invalid_input
from portal.services.times import check_time


def cursor(created_at: datetime, row_id: str) -> str:
    """Return the cursor for the rows after this one."""
    return f"{created_at.isoformat()}~{row_id}"


def read_cursor(text: str) -> tuple[datetime, str]:
    """Parse the time and ID that were passed to `cursor`. Raises InvalidInput."""
    timestamp, _, row_id = text.partition("~")
    try:
        return check_time(datetime.fromisoformat(timestamp)), row_id
    except ValueError as error:
        bad = FieldError("cursor", "This page cursor is invalid.")
        raise invalid_input([bad]) from error


def build_after_condition(time: Any, row_id: Any, cursor: str) -> ColumnElement[bool]:
    """Build the condition for rows after a cursor, from the columns of the time and of the ID.

    The first of the two comparisons uses an index on the time. Raises InvalidInput.
    """
    at, last_id = read_cursor(cursor)
    return and_(time <= at, or_(time < at, row_id < last_id))
