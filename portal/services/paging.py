"""Cursors of lists in reverse chronological order. Pure.

A cursor is the creation time of a page's last row and its ID, because two rows may have been
created at the same time.
"""

from datetime import datetime

from portal.errors import FieldError, invalid_input
from portal.services.times import checked_time


def cursor(created_at: datetime, row_id: str) -> str:
    """Return the cursor for the rows after this one."""
    return f"{created_at.isoformat()}~{row_id}"


def read_cursor(text: str) -> tuple[datetime, str]:
    """Parse the time and ID that were passed to `cursor`. Raises InvalidInput."""
    timestamp, _, row_id = text.partition("~")
    try:
        return checked_time(datetime.fromisoformat(timestamp)), row_id
    except ValueError as error:
        bad = FieldError("cursor", "This page cursor is invalid.")
        raise invalid_input([bad]) from error
