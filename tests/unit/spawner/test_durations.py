"""Durations as text for users."""

from __future__ import annotations

import pytest

from spawner.durations import format_minutes


@pytest.mark.parametrize(
    ("minutes", "text"),
    [
        (0, "0 minutes"),
        (1, "1 minute"),
        (60, "1 hour"),
        (90, "1 hour 30 minutes"),
        (150, "2 hours 30 minutes"),
        (1440, "1 day"),
        (1530, "1 day 1 hour 30 minutes"),
        (2881, "2 days 1 minute"),
        (10080, "7 days"),
    ],
)
def test_format_minutes(minutes: int, text: str) -> None:
    assert format_minutes(minutes) == text
