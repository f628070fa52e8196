"""The periods of usage over time."""

from __future__ import annotations

from datetime import date

from portal.services.limits.usage_history import list_periods


def test_list_periods_contains_each_day_or_month_once() -> None:
    first, last = date(2026, 12, 30), date(2027, 1, 1)
    assert list_periods(first, last, "day") == ["2026-12-30", "2026-12-31", "2027-01-01"]
    assert list_periods(first, last, "month") == ["2026-12", "2027-01"]
    assert list_periods(last, last, "day") == ["2027-01-01"]


def test_list_periods_knows_leap_years() -> None:
    assert len(list_periods(date(2028, 1, 1), date(2028, 12, 31), "day")) == 366
