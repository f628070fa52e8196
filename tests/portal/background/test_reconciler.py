"""The rows that the reconcile loop processes, with a real database and a fake squeue."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Dialect, NullPool, create_engine, delete, event
from sqlalchemy.dialects import postgresql

import portal.db as database
from portal.background import reconciler
from portal.models import (
    BatchJob,
    Job,
    JobState,
    Session,
)
from portal.services.slurm.pending_rows import FULL_PASS_EVERY, OVERLAP, load
from spawner.slurm.model import JobPhase, Outcome
from tests.portal.reconcile_loop import ReconcileHarness, stop

pytestmark = pytest.mark.anyio


async def test_what_waits_is_not_read_again(harness: ReconcileHarness) -> None:
    ids = await harness.queued(250)
    assert await harness.round() == set(ids)
    assert (await harness.row(ids[0])).reason
    assert await harness.round() == set()
    await harness.look()
    assert await harness.round() == set()


async def test_a_row_that_was_written_is_looked_at(harness: ReconcileHarness) -> None:
    ids = await harness.queued(3)
    await harness.round()
    await harness.write(ids[1], stop)
    assert await harness.round() == {ids[1]}
    await harness.acts()
    assert harness.slurm.cancelled == [2]
    assert await harness.round() == {ids[1]}, "it is on its way until it has ended"


async def test_a_new_row_is_looked_at(harness: ReconcileHarness) -> None:
    await harness.round()
    made = await harness.add(state=JobState.SUBMITTING)
    assert made in await harness.round()


async def test_a_row_that_is_deleted_while_it_is_read_is_read_whole(
    harness: ReconcileHarness,
) -> None:
    """As by a refused submission: no other query may be needed for the rest of its columns."""
    made = await harness.add(state=JobState.SUBMITTING)

    other = create_engine(harness.db.url.replace("+aiosqlite", ""), poolclass=NullPool)

    def delete_row(*_: Any) -> None:
        with other.begin() as connection:
            for name in ("batch_jobs", "jobs"):
                table = Job.metadata.tables[name]
                connection.execute(delete(table).where(table.c.id == made))

    event.listen(harness.db.engine.sync_engine, "after_cursor_execute", delete_row, once=True)
    async with harness.db.session() as db:
        (row,) = await load(db, [made])
    assert isinstance(row, BatchJob)
    assert (row.id, row.array_size, row.user.username) == (made, None, "alice")
    assert await harness.round() == set()


async def test_row_changed_by_a_request_during_a_round_is_written_again(
    harness: ReconcileHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The round's own transaction ends before the rows are written one by one."""
    monkeypatch.setattr(database, "WRITER_TIMEOUT_S", 2)  # what a nested writer would wait for
    ids = await harness.queued(3)
    await harness.round()
    for number, row_id in enumerate(ids, start=1):
        harness.show(number, row_id, JobPhase.RUNNING)
    await harness.look()

    async def load_then_stop(db: Any, changed: list[str]) -> Any:
        rows = await load(db, changed)
        await harness.write(ids[0], stop)
        return rows

    monkeypatch.setattr(reconciler, "load", load_then_stop)
    await harness.round()
    states = [(await harness.row(row_id)).state for row_id in ids]
    assert states == [JobState.STOPPING, JobState.RUNNING, JobState.RUNNING]


async def test_what_squeue_shows_differently_is_looked_at(harness: ReconcileHarness) -> None:
    ids = await harness.queued(3)
    await harness.round()
    harness.show(2, ids[1], JobPhase.RUNNING)
    await harness.look()
    assert await harness.round() == {ids[1]}
    assert (await harness.row(ids[1])).state is JobState.RUNNING
    assert await harness.round() == set()


async def test_what_squeue_no_longer_shows_is_watched_until_it_is_known(
    harness: ReconcileHarness,
) -> None:
    ids = await harness.queued(3)
    await harness.round()
    del harness.slurm.shown[2]
    await harness.look()
    assert await harness.round() == {ids[1]}
    assert await harness.round() == {ids[1]}
    assert (await harness.row(ids[1])).state is JobState.QUEUED, "absence is no end"


async def test_all_are_looked_at_now_and_then(harness: ReconcileHarness) -> None:
    ids = await harness.queued(3)
    await harness.round()
    assert await harness.round(FULL_PASS_EVERY) == set(ids)


async def test_a_silence_of_slurm_is_one_statement(harness: ReconcileHarness) -> None:
    """No rows are read for it; when Slurm answers again, all are."""
    ids = await harness.queued(3)
    await harness.round()
    harness.slurm.away = True
    await harness.look()
    written: list[str] = []
    event.listen(
        harness.db.engine.sync_engine,
        "before_cursor_execute",
        lambda _c, _cursor, statement, *_: written.append(statement),
    )
    assert await harness.round() == set()
    assert sum(statement.startswith("UPDATE") for statement in written) == 1
    assert (await harness.row(ids[0])).stale_since is not None
    harness.slurm.away = False
    await harness.look()
    assert await harness.round() == set(ids)
    assert (await harness.row(ids[0])).stale_since is None


async def test_an_ended_session_stays_until_the_hub_let_go_of_it(harness: ReconcileHarness) -> None:
    made = await harness.add(Session, state=JobState.ENDED, server_env={"A": "b"})
    away: Any = SimpleNamespace(stop_server=lambda *_, **__: asyncio.sleep(0, False))
    harness.context.hub = away
    assert await harness.round() == {made}
    assert await harness.round() == {made}
    away.stop_server = lambda *_, **__: asyncio.sleep(0, True)
    await harness.round(timedelta(minutes=1))
    await harness.acts()
    await harness.round()
    assert await harness.round() == set()


async def test_someone_else_was_quicker(
    harness: ReconcileHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of many rows was written in between: the updates of the others are not lost."""
    ids = await harness.queued(5)
    write = harness.loop._row_sync.apply_report
    meddled: list[str] = []

    def meddle(row: Any, now: datetime) -> bool:
        if not meddled and row.id == ids[2]:
            meddled.append(row.id)
            row.version -= 1  # as if another process had written it since it was read
        return write(row, now)

    monkeypatch.setattr(harness.loop._row_sync, "apply_report", meddle)
    assert await harness.round() == set(ids)
    assert all([(await harness.row(row_id)).reason for row_id in ids])


async def test_a_row_that_the_database_refuses_does_not_stop_the_others(
    harness: ReconcileHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await harness.queued(5)
    write = harness.loop._row_sync.apply_report

    def spoil(row: Any, now: datetime) -> bool:
        changed = write(row, now)
        if row.id == ids[2]:
            row.name = None  # which the table does not allow
        return changed

    monkeypatch.setattr(harness.loop._row_sync, "apply_report", spoil)
    assert await harness.round() == set(ids)
    assert [bool((await harness.row(row_id)).reason) for row_id in ids] == [True] * 2 + [False] + [
        True
    ] * 2
    assert await harness.round() == set(), "it is set aside"
    assert await harness.round(OVERLAP) == set(), "also when late commits are searched"
    monkeypatch.setattr(harness.loop._row_sync, "apply_report", write)
    await harness.round(FULL_PASS_EVERY)
    assert (await harness.row(ids[2])).reason


async def test_waiting_jobs_are_no_reason_to_poll_slurm_often(harness: ReconcileHarness) -> None:
    await harness.queued(3)
    await harness.round()
    assert not harness.watcher.hurry
    session = await harness.add(Session, job_id=9)
    harness.show(9, session)
    await harness.look()
    await harness.round()
    assert harness.watcher.hurry, "its owner waits for it"


async def test_what_is_read_regularly_is_read_along_an_index(harness: ReconcileHarness) -> None:
    """With 100,000 ended TensorBoards and sessions, a scan in each round would be dear."""
    plans: list[str] = []
    is_sqlite = harness.db.engine.dialect.name == "sqlite"

    def explain(connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if statement.startswith("SELECT") and ("tensorboards" in statement or "env" in statement):
            if not is_sqlite:  # it prefers a scan of an empty table
                connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
            command = "EXPLAIN QUERY PLAN" if is_sqlite else "EXPLAIN"
            asked = connection.exec_driver_sql(f"{command} {statement}", parameters)
            plans.append(" ".join(row[-1] for row in asked))

    event.listen(harness.db.engine.sync_engine, "before_cursor_execute", explain)
    await harness.loop._tensorboards._load_boards()
    await harness.loop._pending._find_all(harness.now)
    (boards, closing) = plans
    assert "ix_tensorboards_wanted" in boards
    assert "ix_sessions_at_hub" in closing


async def test_job_ids_of_a_federation_fit(harness: ReconcileHarness) -> None:
    (row_id,) = [await harness.add(job_id=2**31 + 5)]
    assert (await harness.row(row_id)).job_id == 2**31 + 5
    dialect: Dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    assert BatchJob.metadata.tables["jobs"].c.job_id.type.compile(dialect) == "BIGINT"


async def test_a_job_that_is_requeued_after_its_end_lives_again(harness: ReconcileHarness) -> None:
    (job,) = await harness.queued(1)
    submitted = harness.slurm.shown[1].submit_time
    assert submitted is not None

    def end(row: Any) -> None:
        row.state, row.outcome, row.exit_code = JobState.ENDED, Outcome.COMPLETED, 0
        row.ended_at, row.submit_time, row.gpu_percent = harness.now, submitted, 12.0
        row.removed_at = harness.now

    await harness.write(job, end)
    await harness.round()
    assert (await harness.row(job)).state is JobState.ENDED, "squeue lags: the same submission"
    later = submitted + timedelta(minutes=5)
    harness.slurm.shown[1] = replace(harness.slurm.shown[1], submit_time=later)
    await harness.look()
    await harness.round()
    row = await harness.row(job)
    assert (row.state, row.outcome, row.exit_code) == (JobState.QUEUED, None, None)
    assert (row.ended_at, row.submit_time, row.gpu_percent) == (None, later, None)
    assert row.removed_at is None, "back on its owner's list"


async def test_an_array_with_a_task_that_is_requeued_after_its_end_lives_again(
    harness: ReconcileHarness,
) -> None:
    submitted = datetime(2026, 1, 1, tzinfo=UTC)
    ended = {"state": "ended", "outcome": "completed", "exit_code": 0}
    tasks = [{"index": n, "submit_time": submitted.isoformat(), **ended} for n in (0, 1)]
    array = await harness.add(
        job_id=1, state=JobState.ENDED, outcome=Outcome.COMPLETED, ended_at=harness.now,
        exit_code=0, submit_time=submitted, array_size=2, tasks=tasks,
    )  # fmt: skip
    harness.show(2, array, JobPhase.RUNNING)
    shown = replace(harness.slurm.shown.pop(2), array_job_id=1, tasks=(1,))
    harness.slurm.shown[2] = shown
    await harness.look()
    await harness.round()
    assert (await harness.row(array)).state is JobState.ENDED, "squeue lags: the same submission"
    later = submitted + timedelta(minutes=5)
    harness.slurm.shown[2] = replace(shown, submit_time=later)
    await harness.look()
    await harness.round()
    row = await harness.row(array)
    assert (row.state, row.outcome, row.exit_code) == (JobState.RUNNING, None, None)
    assert row.ended_at is None
    assert [task["state"] for task in row.tasks] == ["ended", "running"]
