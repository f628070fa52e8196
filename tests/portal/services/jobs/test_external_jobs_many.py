"""Jobs from outside the portal on a busy cluster: each gets a row, in batches per poll."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from portal.context import pass_always
from portal.db import utcnow
from portal.models import BatchJob, Job, JobState, Mark, User
from portal.services.jobs import external_jobs
from portal.services.jobs.external_jobs import (
    MARK,
    MAX_JOBS_PER_USER,
    ROWS_PER_TRANSACTION,
    ExternalJobImport,
)
from spawner.errors import QueryTooLarge, Unreachable
from spawner.slurm.model import JobInfo, JobPhase
from tests.portal.reconcile_loop import ReconcileHarness, looping

pytestmark = pytest.mark.anyio

HOUR = timedelta(hours=1)
SUBMITTED = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
async def harness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[ReconcileHarness]:
    async with looping(tmp_path, monkeypatch) as made:
        yield made


async def add_users(harness: ReconcileHarness, count: int, **columns: Any) -> list[str]:
    names = [f"user{number}" for number in range(count)]
    async with harness.db.session() as db:
        db.add_all(User(username=name, **columns) for name in names)
        await db.commit()
    return names


def jobs_of(names: list[str], each: int, state: JobPhase) -> dict[int, JobInfo]:
    """Return jobs of each user; the last user's have the highest ids."""
    found: dict[int, JobInfo] = {}
    for name in names:
        for _ in range(each):
            number = len(found) + 1
            at = SUBMITTED + timedelta(seconds=number)
            found[number] = JobInfo(number, name, "x", state, state.upper(), submit_time=at)
    return found


async def look(harness: ReconcileHarness, importer: ExternalJobImport) -> None:
    await harness.look()
    await importer.import_new(utcnow())


async def rows(harness: ReconcileHarness, name: str | None = None) -> int:
    query = select(func.count()).select_from(Job).join(User, Job.user_id == User.id)
    async with harness.db.session() as db:
        return await db.scalar(query if name is None else query.where(User.username == name)) or 0


async def test_all_jobs_of_many_users_are_taken(harness: ReconcileHarness) -> None:
    names = await add_users(harness, 20)
    harness.slurm.shown = jobs_of(names, 100, JobPhase.RUNNING)
    importer = ExternalJobImport(harness.context)
    for count in range(1, 5):
        await look(harness, importer)
        assert await rows(harness) == count * ROWS_PER_TRANSACTION
    assert [await rows(harness, name) for name in names] == [100] * 20
    for again in (
        importer,
        ExternalJobImport(harness.context),
    ):  # the same portal, and one after a restart
        await look(harness, again)
        assert await rows(harness) == 2000


async def test_jobs_of_a_user_who_comes_during_an_import_are_taken_by_the_next(
    harness: ReconcileHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.slurm.shown = jobs_of(["user0"], 1, JobPhase.RUNNING)
    importer = ExternalJobImport(harness.context)
    import_jobs = importer._import

    async def import_and_log_in(*given: Any) -> Any:
        monkeypatch.setattr(importer, "_import", import_jobs)  # the next one is as usual
        left = await import_jobs(*given)
        await add_users(harness, 1)
        return left

    monkeypatch.setattr(importer, "_import", import_and_log_in)
    await look(harness, importer)
    assert await rows(harness) == 0
    await look(harness, importer)
    assert await rows(harness) == 1


async def test_how_many_of_one_users_are_taken_is_bounded(harness: ReconcileHarness) -> None:
    names = await add_users(harness, 2)
    harness.slurm.shown = jobs_of(names, MAX_JOBS_PER_USER + 50, JobPhase.QUEUED)
    for importer in (ExternalJobImport(harness.context), ExternalJobImport(harness.context)):
        for _ in range(2):
            await look(harness, importer)
        assert [await rows(harness, name) for name in names] == [MAX_JOBS_PER_USER] * 2


async def test_of_the_disabled_all_are_taken_for_they_are_to_end(harness: ReconcileHarness) -> None:
    (name,) = await add_users(harness, 1, disabled_at=utcnow())
    harness.slurm.shown = jobs_of([name], MAX_JOBS_PER_USER + 50, JobPhase.RUNNING)
    importer = ExternalJobImport(harness.context)
    await look(harness, importer)
    assert await rows(harness) == MAX_JOBS_PER_USER + 50


async def test_all_ended_jobs_are_read_before_the_mark_moves(
    harness: ReconcileHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = await add_users(harness, 10)
    ended = list(jobs_of(names, 100, JobPhase.ENDED).values())

    async def accounting(*_: Any, **__: Any) -> list[JobInfo]:
        return ended

    monkeypatch.setattr(harness.slurm, "accounting", accounting)
    now = utcnow()
    await ExternalJobImport(harness.context).import_history(now)
    assert await rows(harness) == 1000
    async with harness.db.session() as db:
        mark = await db.get(Mark, MARK)
    assert mark is not None
    assert mark.at == now


async def test_history_too_large_for_one_answer_is_read_in_parts(
    harness: ReconcileHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it fails for another reason; from there it continues the next time."""
    (name,) = await add_users(harness, 1)
    now = utcnow()
    ended = {
        hours: JobInfo(
            hours, name, "x", JobPhase.ENDED, "COMPLETED", submit_time=now - hours * HOUR
        )
        for hours in range(1, 48)
    }
    spans: list[timedelta] = []
    away_from = now - 5 * HOUR

    async def accounting(since: datetime, _ids: Any = None, until: Any = None) -> list[JobInfo]:
        if until - since > 6 * HOUR:
            raise QueryTooLarge("Slurm's response is too long.")
        if until > away_from:
            raise Unreachable("away")
        spans.append(until - since)
        return [job for job in ended.values() if since <= (job.submit_time or now) <= until]

    monkeypatch.setattr(harness.slurm, "accounting", accounting)
    monkeypatch.setattr(harness.watcher, "wait_for_call_budget", pass_always)
    importer = ExternalJobImport(harness.context)
    await importer.import_history(now)
    async with harness.db.session() as db:
        mark = await db.get(Mark, MARK)
    assert mark is not None
    assert now - 12 * HOUR < mark.at <= away_from
    assert await rows(harness) == sum(now - hours * HOUR <= mark.at for hours in ended)
    away_from = now
    await importer.import_history(now)
    assert await rows(harness) == len(ended)
    assert sum(spans, timedelta(0)) <= timedelta(days=2) + external_jobs.OVERLAP


async def test_one_that_the_database_refuses_does_not_keep_the_others_out(
    harness: ReconcileHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    (name,) = await add_users(harness, 1)
    harness.slurm.shown = jobs_of([name], 5, JobPhase.RUNNING)
    refused = max(harness.slurm.shown)
    to_row = external_jobs._to_row

    def spoil(*arguments: Any) -> Any:
        row = to_row(*arguments)
        if row.job_id == refused:
            row.name = None  # type: ignore[assignment]  # which the table does not allow
        return row

    monkeypatch.setattr(external_jobs, "_to_row", spoil)
    await look(harness, ExternalJobImport(harness.context))
    assert await rows(harness) == 4


# --- the portal's own jobs that look like others --------------------------------------------------


def record(number: int, submitted: datetime, state: JobPhase, array: bool = False) -> JobInfo:
    return JobInfo(
        number, "user0", "x", state, state.upper(), submit_time=submitted,
        array_job_id=number if array else None, tasks=(0,) if array else (),
    )  # fmt: skip


async def external_ids(harness: ReconcileHarness) -> set[int | None]:
    query = select(BatchJob.job_id).where(BatchJob.external)
    async with harness.db.session() as db:
        return set(await db.scalars(query))


@pytest.mark.parametrize("array", [False, True])
async def test_unended_record_that_slurmctld_lacks_is_not_imported(
    harness: ReconcileHarness, monkeypatch: pytest.MonkeyPatch, array: bool
) -> None:
    """As of an array that slurmctld has forgotten, and the portal submitted again."""
    await add_users(harness, 1)
    now = utcnow()
    ended = record(8, now, JobPhase.ENDED)
    forgotten = record(7, now, JobPhase.RUNNING, array)

    async def accounting(*_: Any, **__: Any) -> list[JobInfo]:
        return [forgotten, ended]

    monkeypatch.setattr(harness.slurm, "accounting", accounting)
    await ExternalJobImport(harness.context).import_history(now)
    assert await external_ids(harness) == {8}


@pytest.mark.parametrize("array", [False, True])
async def test_ended_row_whose_job_slurm_never_showed_is_not_doubled(
    harness: ReconcileHarness, array: bool
) -> None:
    (name,) = await add_users(harness, 1)
    async with harness.db.session() as db:
        user = (await db.scalars(select(User).where(User.username == name))).one()
    now = utcnow()
    made = await harness.add(
        user_id=user.id, owner_id=user.id, job_id=7, state=JobState.ENDED, created_at=now,
        submitted_at=now + timedelta(seconds=1), array_size=1 if array else None,
    )  # fmt: skip
    later = now + timedelta(minutes=5)
    for number, at in ((7, now), (7, later)):  # Slurm has given the number to another job
        harness.slurm.shown = {number: record(number, at, JobPhase.RUNNING, array)}
        await look(harness, ExternalJobImport(harness.context))
        assert await external_ids(harness) == ({7} if at == later else set())
    assert (await harness.row(made)).state is JobState.ENDED


async def test_job_may_be_the_one_that_is_being_submitted(harness: ReconcileHarness) -> None:
    """Its comment was overwritten, and the answer with its id is still to come."""
    (name, _) = await add_users(harness, 2)
    async with harness.db.session() as db:
        user = (await db.scalars(select(User).where(User.username == name))).one()
    made = await harness.add(
        user_id=user.id, owner_id=user.id, state=JobState.SUBMITTING, created_at=utcnow()
    )
    importer, now = ExternalJobImport(harness.context), utcnow()
    earlier = record(6, now - timedelta(minutes=5), JobPhase.QUEUED)
    others = record(5, now, JobPhase.QUEUED)
    harness.slurm.shown = {
        5: replace(others, user="user1"),
        6: earlier,
        7: record(7, now, JobPhase.QUEUED),
        8: record(8, now, JobPhase.QUEUED),
    }
    await look(harness, importer)
    assert await external_ids(harness) == {5, 6}
    await harness.write(made, lambda row: setattr(row, "job_id", 7))
    await look(harness, importer)
    assert await external_ids(harness) == {5, 6, 8}


async def test_submission_that_never_answers_hides_no_job_for_long(
    harness: ReconcileHarness,
) -> None:
    (name,) = await add_users(harness, 1)
    async with harness.db.session() as db:
        user = (await db.scalars(select(User).where(User.username == name))).one()
    await harness.add(user_id=user.id, owner_id=user.id, state=JobState.SUBMITTING)
    importer, now = ExternalJobImport(harness.context), utcnow()
    harness.slurm.shown = {7: record(7, now, JobPhase.QUEUED)}
    await harness.look()
    await importer.import_new(now)
    assert await external_ids(harness) == set()
    await harness.look()
    await importer.import_new(now + external_jobs.SUBMISSION_PATIENCE + timedelta(seconds=5))
    assert await external_ids(harness) == {7}


async def test_history_that_is_not_answered_is_read_in_shorter_parts_later(
    harness: ReconcileHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans: list[timedelta] = []
    slow = True

    async def accounting(since: datetime, _ids: Any = None, until: Any = None) -> list[JobInfo]:
        spans.append(until - since)
        if slow:
            raise Unreachable("Slurm did not answer within 10 s.")
        return []

    monkeypatch.setattr(harness.slurm, "accounting", accounting)
    monkeypatch.setattr(harness.watcher, "wait_for_call_budget", pass_always)
    importer, now = ExternalJobImport(harness.context), utcnow()
    for _ in range(3):
        await importer.import_history(now)
    assert spans == [48 * HOUR, 24 * HOUR, 12 * HOUR], "one query each time"
    slow = False
    await importer.import_history(now)
    assert spans[3:] == [6 * HOUR] * 8
