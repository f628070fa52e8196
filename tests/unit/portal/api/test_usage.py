"""The period of a usage report, as given in a request."""

from __future__ import annotations

from datetime import date

import pytest

from portal.api.usage import MAX_MONTHS, Period, _parse_period
from portal.errors import InvalidInput


@pytest.mark.parametrize(
    ("span", "period"),
    [
        (("2026-02", "2026-03"), Period(date(2026, 2, 1), date(2026, 3, 31), months=True)),
        (("2026-02-05", "2026-03"), Period(date(2026, 2, 5), date(2026, 3, 31), months=False)),
        ((None, "2020-02"), Period(date(2020, 2, 1), date(2020, 2, 29), months=True)),
        (("0001-01", "0001-02"), Period(date(1, 1, 1), date(1, 2, 28), months=True)),
        (("9999-01", "9999-12"), Period(date(9999, 1, 1), date(9999, 12, 31), months=True)),
        (("2016-03", "2026-03"), Period(date(2016, 3, 1), date(2026, 3, 31), months=True)),
    ],
)
def test_months_and_days_are_inclusive(span: tuple[str | None, str | None], period: Period) -> None:
    assert _parse_period(span) == period


@pytest.mark.parametrize(
    "span", [("2016-02", "2026-03"), ("2026-03", "2026-02"), ("0001-01", None)]
)
def test_too_long_or_reversed_period_is_refused(span: tuple[str | None, str | None]) -> None:
    with pytest.raises(InvalidInput, match=f"at most {MAX_MONTHS} months"):
        _parse_period(span)
