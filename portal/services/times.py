"""Validation of times in requests. Pure."""

from datetime import UTC, datetime

# A day less than datetime's range: databases answer in their own time zone, and services add to it.
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(9999, 12, 31, tzinfo=UTC)
OUT_OF_RANGE = (
    "Enter a time between 1970 and 9999 with a time zone, for example 2026-01-31T08:00:00Z."
)


def check_time(value: datetime) -> datetime:
    """Return the time in UTC. Raises ValueError with a message for the caller."""
    if value.tzinfo is None or not EARLIEST <= value < LATEST:
        raise ValueError(OUT_OF_RANGE)
    return value.astimezone(UTC)
