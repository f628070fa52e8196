"""Cursors of lists that go back in time: when the last row of a page was made, and its id, for two
rows may have been made at the same time. Pure."""

from datetime import datetime

from portal.errors import FieldError, invalid_input


def cursor(created_at: datetime, row_id: str) -> str:
    """What asks for the rows after this one."""
    return f"{created_at.isoformat()}~{row_id}"


def read_cursor(text: str) -> tuple[datetime, str]:
    """The time and id that `cursor` was given. Raises InvalidInput."""
    at, _, row_id = text.partition("~")
    try:
        found = datetime.fromisoformat(at)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise invalid_input([FieldError("cursor", "This is not the cursor of a page.")])
    return found, row_id
