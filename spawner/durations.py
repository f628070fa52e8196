"""Durations as text for users."""

from __future__ import annotations


def format_minutes(minutes: int) -> str:
    """Format minutes as text, such as `1 day 2 hours 30 minutes`."""
    days, hours, remaining = minutes // 1440, minutes // 60 % 24, minutes % 60
    parts = [(days, "day"), (hours, "hour"), (remaining, "minute")]
    texts = [f"{count} {unit}{'' if count == 1 else 's'}" for count, unit in parts if count]
    return " ".join(texts) or "0 minutes"
