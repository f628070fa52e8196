"""Jobs' usage by day."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from portal.services.limits.gpu_hours import GpuHours, by_day, months_back
from spawner.slurm.parse_accounting import JobTime

DAY = date(2026, 10, 31)
NEXT = date(2026, 11, 1)
NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 11, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def job(start: datetime, end: datetime | None, gpus: int = 1, cpus: int = 2) -> JobTime:
    return JobTime("alice", "research", start, end, gpus, cpus)


def test_a_job_over_midnight_counts_in_both_days_and_began_in_the_first() -> None:
    found = by_day([job(MIDNIGHT - HOUR, MIDNIGHT + 2 * HOUR)], [DAY, NEXT], NOW)
    assert found == {
        (DAY, "alice", "research"): GpuHours("alice", 3600, 7200, 1),
        (NEXT, "alice", "research"): GpuHours("alice", 7200, 14400, 0),
    }


def test_what_runs_counts_as_far_as_it_has_come() -> None:
    found = by_day([job(NOW - HOUR, None), job(NOW - HOUR, NOW + HOUR)], [NEXT], NOW)
    assert found == {(NEXT, "alice", "research"): GpuHours("alice", 7200, 14400, 2)}


def test_days_that_were_not_asked_for_are_left_out() -> None:
    assert by_day([job(MIDNIGHT - 2 * HOUR, MIDNIGHT - HOUR)], [NEXT], NOW) == {}


@pytest.mark.parametrize(
    ("day", "months", "first"),
    [
        (DAY, 0, date(2026, 10, 1)),
        (DAY, 12, date(2025, 10, 1)),
        (date(2026, 1, 15), 1, date(2025, 12, 1)),
        (date(2026, 12, 15), -1, date(2027, 1, 1)),
    ],
)
def test_months_back(day: date, months: int, first: date) -> None:
    assert months_back(day, months) == first
