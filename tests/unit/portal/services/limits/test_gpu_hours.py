"""Jobs' usage by day."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from portal.services.limits import gpu_hours
from portal.services.limits.gpu_hours import UsageSum, split_by_day, subtract_months
from spawner.errors import QueryTooLarge, Unreachable
from spawner.slurm.model import JobInfo, JobPhase
from spawner.slurm.parse_accounting import JobTime

DAY = date(2026, 10, 31)
NEXT = date(2026, 11, 1)
NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 11, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
A_DAY = timedelta(days=1)


def job(
    start: datetime, end: datetime | None, gpus: int = 1, cpus: int = 2, job_id: int = 1
) -> JobTime:
    return JobTime(job_id, "alice", "research", start, end, gpus, cpus)


def test_a_job_over_midnight_counts_in_both_days_and_began_in_the_first() -> None:
    found = split_by_day([job(MIDNIGHT - HOUR, MIDNIGHT + 2 * HOUR)], MIDNIGHT - A_DAY, NOW, NOW)
    assert found == {
        (DAY, "alice", "research"): UsageSum("alice", 3600, 7200, 1),
        (NEXT, "alice", "research"): UsageSum("alice", 7200, 14400, 0),
    }


def test_what_runs_counts_as_far_as_it_has_come() -> None:
    found = split_by_day([job(NOW - HOUR, None), job(NOW - HOUR, NOW + HOUR)], MIDNIGHT, NOW, NOW)
    assert found == {(NEXT, "alice", "research"): UsageSum("alice", 7200, 14400, 2)}


def test_days_that_were_not_asked_for_are_left_out() -> None:
    before, after = job(MIDNIGHT - 2 * HOUR, MIDNIGHT - HOUR), job(NOW, NOW + HOUR)
    assert split_by_day([before, after], MIDNIGHT, NOW - HOUR, NOW) == {}
    ends_there = job(MIDNIGHT - HOUR, MIDNIGHT)
    assert [*split_by_day([ends_there], MIDNIGHT - A_DAY, MIDNIGHT, NOW)] == [
        (DAY, "alice", "research")
    ]


@pytest.mark.parametrize(
    ("read_after", "now_after", "due"),
    [
        (HOUR, 2 * HOUR, True),
        (3 * HOUR, 4 * HOUR, False),
        (3 * HOUR, 28 * HOUR, True),
        (30 * HOUR, 40 * HOUR, False),
        (7 * 24 * HOUR, 7 * 24 * HOUR + 23 * HOUR, False),
        (3 * HOUR, 300 * HOUR, False),
    ],
)
def test_a_day_is_read_again_while_its_jobs_may_come_late(
    read_after: timedelta, now_after: timedelta, due: bool
) -> None:
    assert gpu_hours._is_due(DAY, MIDNIGHT + read_after, MIDNIGHT + now_after) is due


class Accounting:
    """Slurm's accounting, for the module's context; it refuses spans longer than `most`."""

    def __init__(self, most: timedelta, jobs: list[JobTime]) -> None:
        self.accounting = self.watcher = self
        self.most, self.recorded, self.days_at_once = most, jobs, 31
        self.jobs: dict[int, JobInfo] = {}
        self.stale_since: datetime | None = None
        self.runaways: list[int] = []

    async def wait_for_call_budget(self) -> None:
        pass

    async def job_times(self, start: datetime, end: datetime) -> list[JobTime]:
        if end - start > self.most:
            raise QueryTooLarge("The answer is too large.")
        return [job for job in self.recorded if job.start < end and (job.end or NOW) > start]


@pytest.mark.anyio
async def test_a_day_too_large_for_one_answer_is_read_in_parts() -> None:
    """A job that several parts show counts once."""
    day = MIDNIGHT - A_DAY
    jobs = [job(day + n * 7 * HOUR / 10, day + n * HOUR + 5 * HOUR) for n in range(15)]
    whole: Any = Accounting(A_DAY, jobs)
    parts: Any = Accounting(2 * HOUR, jobs)
    expected = await gpu_hours._read_span(whole, day, MIDNIGHT, NOW)
    assert expected[DAY, "alice", "research"].jobs == 15
    assert await gpu_hours._read_span(parts, day, MIDNIGHT, NOW) == expected
    never: Any = Accounting(HOUR / 2, jobs)
    with pytest.raises(QueryTooLarge):
        await gpu_hours._read_span(never, day, MIDNIGHT, NOW)


@pytest.mark.anyio
async def test_jobs_whose_end_was_never_recorded_are_not_counted() -> None:
    """As after a crash of slurmctld; they would count as running on every day."""
    old = NOW - 3 * A_DAY
    lost, runs, new = job(old, None, 8), job(old, None, job_id=2), job(NOW, None, job_id=3)
    accounting = Accounting(A_DAY, [lost, runs, new])
    running = JobInfo(2, "alice", "x", JobPhase.RUNNING, "RUNNING", start_time=old)
    accounting.jobs = {2: running}
    context: Any = accounting
    used = await gpu_hours._read_span(context, MIDNIGHT, NOW + HOUR, NOW + HOUR)
    assert used[NEXT, "alice", "research"].gpu_seconds == (13 + 1) * 3600
    assert accounting.runaways == [lost.job_id], "named on Status"
    accounting.stale_since = NOW
    used = await gpu_hours._read_span(context, MIDNIGHT, NOW + HOUR, NOW + HOUR)
    assert used[NEXT, "alice", "research"].gpu_seconds == (13 * 9 + 1) * 3600


@pytest.mark.parametrize(
    ("changes", "runaway"),
    [
        ({}, False),
        ({"start_time": NOW - A_DAY}, False),
        ({"user": "bob"}, True),
        ({"submit_time": NOW - HOUR}, True),
    ],
    ids=["same", "another start", "another user", "submitted later"],
)
def test_is_runaway_of_an_id_that_slurm_has(changes: dict[str, Any], runaway: bool) -> None:
    started = NOW - 3 * A_DAY
    info = JobInfo(
        1, "alice", "x", JobPhase.RUNNING, "RUNNING", start_time=started, submit_time=started
    )
    shown = {1: replace(info, **changes)}
    assert gpu_hours.is_runaway(job(started, None), shown, NOW) is runaway


@pytest.mark.anyio
async def test_a_slow_accounting_is_not_asked_for_the_halves_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """But for fewer days the next time, and for more again once it answers."""
    today, asked = NOW.date(), []
    accounting = Accounting(A_DAY, [])

    async def job_times(start: datetime, end: datetime) -> list[JobTime]:
        asked.append(end - start)
        raise Unreachable("Slurm did not answer within 60 s.")

    async def due(*_: object) -> list[tuple[date, date]]:
        return [(today, today), (today - 31 * A_DAY, today - A_DAY)]

    async def replace_days(*_: object) -> None:
        pass

    monkeypatch.setattr(gpu_hours, "list_due_spans", due)
    monkeypatch.setattr(gpu_hours, "_replace_days", replace_days)
    context: Any = accounting
    with monkeypatch.context() as slow:
        slow.setattr(accounting, "job_times", job_times)
        for days in (15, 7, 3, 1, 1):
            with pytest.raises(Unreachable):
                await gpu_hours.read_next(context, NOW)
            assert accounting.days_at_once == days
    assert asked == [NOW - MIDNIGHT, 31 * A_DAY] * 5
    for days in (2, 4, 8, 16, 31, 31):
        await gpu_hours.read_next(context, NOW)
        assert accounting.days_at_once == days


@pytest.mark.anyio
async def test_past_is_read_even_if_today_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[date] = []

    async def due(*_: object) -> list[tuple[date, date]]:
        return [(NEXT, NEXT), (DAY, DAY)]

    async def read_days(_context: object, first: date, *_: object) -> None:
        if first == NEXT:
            raise Unreachable("away")
        read.append(first)

    monkeypatch.setattr(gpu_hours, "list_due_spans", due)
    monkeypatch.setattr(gpu_hours, "_read_days", read_days)
    context: Any = Accounting(A_DAY, [])
    with pytest.raises(Unreachable):
        await gpu_hours.read_next(context, NOW)
    assert read == [DAY]


@pytest.mark.anyio
async def test_days_are_read_in_parts_if_accounting_refuses_them_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored: list[date] = []

    async def replace_days(_context: object, days: list[date], *_: object) -> None:
        stored.extend(days)

    monkeypatch.setattr(gpu_hours, "_replace_days", replace_days)
    context: Any = Accounting(A_DAY, [])
    await gpu_hours._read_days(context, date(2026, 10, 1), DAY, NOW)
    assert stored == [date(2026, 10, day) for day in range(31, 0, -1)]


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
    assert subtract_months(day, months) == first
