"""Jobs that the loop cancels: of disabled users, never received by Slurm, second copies."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

import pytest
from sqlalchemy import update

from portal.background.reconciler import PROBABLY_MISSING_FOR
from portal.db import utcnow
from portal.models import BatchJob, Job, JobsPolicy, JobState, Session, User, Wanted, new_id
from portal.services.jobs import jobs
from portal.services.slurm.pending_rows import FULL_PASS_EVERY
from spawner.slurm.model import JobPhase, Outcome
from tests.portal.reconcile_loop import ReconcileHarness, stop

pytestmark = pytest.mark.anyio


# --- of a disabled user ---------------------------------------------------------------------------


async def disabled(harness: ReconcileHarness, jobs: JobsPolicy) -> None:
    async with harness.db.session() as db:
        mine = update(User).where(User.id == harness.user.id)
        await db.execute(mine.values(disabled_at=utcnow(), disabled_jobs=jobs))
        await db.commit()


async def until_cancelled(harness: ReconcileHarness) -> None:
    """Two rounds: first the row is marked, then Slurm cancels."""
    for _ in range(2):
        await harness.round(FULL_PASS_EVERY)
        await harness.acts()


async def test_what_comes_late_ends_too(harness: ReconcileHarness) -> None:
    """A request that was in progress while its owner was disabled is detected without a
    notification."""
    await disabled(harness, JobsPolicy.LEAVE)
    session = await harness.add(Session, job_id=5)
    job = await harness.add(job_id=6, created_at=utcnow() + timedelta(seconds=1))
    left = await harness.add(job_id=7)
    for number, row_id in ((5, session), (6, job), (7, left)):
        harness.show(number, row_id)
    harness.slurm.shown[6] = replace(harness.slurm.shown[6], submit_time=utcnow())
    await harness.look()
    await until_cancelled(harness)
    assert set(harness.slurm.cancelled) == {5, 6}
    assert harness.slurm.killed == [5], "a session closes at once"
    assert (await harness.row(left)).wanted is Wanted.RUN


async def test_what_was_submitted_outside_is_cancelled_without_a_launcher(
    harness: ReconcileHarness,
) -> None:
    """No process may be able to act as that user anymore."""
    made = await harness.add(job_id=6, external=True)
    harness.show(6, made)
    harness.launchers.broken = True
    await disabled(harness, JobsPolicy.CANCEL)
    await harness.look()
    await until_cancelled(harness)
    assert harness.slurm.cancelled == [6]


async def test_what_slurm_lost_is_not_submitted_again(harness: ReconcileHarness) -> None:
    made = await harness.add(job_id=6, environment="plain")
    await disabled(harness, JobsPolicy.LEAVE)
    harness.watcher.missing_since = lambda *_: utcnow() - PROBABLY_MISSING_FOR  # type: ignore[method-assign]
    await harness.look()
    await harness.round(FULL_PASS_EVERY)
    await harness.acts()
    assert (await harness.row(made)).wanted is Wanted.STOP


# --- jobs that slurmctld has certainly forgotten --------------------------------------------------


def forget(harness: ReconcileHarness) -> None:
    watcher, now = cast(Any, harness.watcher), utcnow()
    watcher.is_lost_by_slurmctld = lambda *_: True
    watcher.unknown_since = watcher.missing_since = lambda *_: now


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.STARTING, JobState.STOPPING])
async def test_a_forgotten_session_ends_at_once(harness: ReconcileHarness, state: JobState) -> None:
    made = await harness.add(Session, job_id=6, state=state)
    forget(harness)
    await harness.round()
    async with harness.db.session() as db:
        row = await db.get_one(Job, made)
    assert (row.state, row.outcome) == (JobState.ENDED, Outcome.FAILED)
    assert row.reason == "Slurm no longer knows this job."


@pytest.mark.parametrize("external", [False, True])
async def test_the_stop_of_a_forgotten_job_ends_at_once(
    harness: ReconcileHarness, external: bool
) -> None:
    made = await harness.add(
        job_id=6, external=external, state=JobState.STOPPING, wanted=Wanted.STOP
    )
    harness.launchers.claimed.add(made)  # the job had begun, so the row can't be withdrawn
    forget(harness)
    await harness.round()
    row = await harness.row(made)
    assert (row.state, row.outcome) == (JobState.ENDED, Outcome.CANCELLED)


async def test_a_forgotten_job_is_submitted_again_at_once(
    harness: ReconcileHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await harness.add(job_id=6)
    submitted: list[tuple[str, int | None]] = []

    async def submit_again(_context: object, row_id: str, lost: int | None) -> None:
        submitted.append((row_id, lost))

    monkeypatch.setattr(jobs, "submit_again", submit_again)
    forget(harness)
    await harness.round()
    await harness.acts()
    assert submitted == [(made, 6)]


# --- job ids that Slurm has reused ----------------------------------------------------------------


def give_again(harness: ReconcileHarness, job_id: int, user: str = "bob") -> None:
    """slurmctld has lost its state, and this id belongs to another job now."""
    harness.show(job_id, new_id())
    harness.slurm.shown[job_id] = replace(harness.slurm.shown[job_id], user=user)


@pytest.mark.parametrize("user", ["bob", "alice"])
@pytest.mark.parametrize("looked", [False, True], ids=["not seen yet", "seen"])
async def test_a_stop_spares_the_next_job_of_its_number(
    harness: ReconcileHarness, user: str, looked: bool
) -> None:
    (made,) = await harness.queued(1)
    await harness.round()
    give_again(harness, 1, user)
    if looked:
        await harness.look()
    await harness.write(made, stop)
    await harness.round()
    await harness.acts()
    assert harness.slurm.cancelled == []


@pytest.mark.parametrize("kind", [Session, BatchJob])
async def test_deprovisioning_spares_the_next_job_of_a_reused_number(
    harness: ReconcileHarness, kind: type[Job]
) -> None:
    made = await harness.add(kind, job_id=6)
    harness.show(6, made)
    await harness.look()
    await harness.round()
    give_again(harness, 6)
    await disabled(harness, JobsPolicy.CANCEL)
    await until_cancelled(harness)
    assert harness.slurm.cancelled == harness.slurm.killed == []


async def test_and_the_end_of_a_second_copy(harness: ReconcileHarness) -> None:
    (made,) = await harness.queued(1)
    harness.show(2, made)
    await harness.look()
    give_again(harness, 2)
    await harness.round()
    await harness.acts()
    assert harness.slurm.cancelled == []


@pytest.mark.parametrize(("array", "user"), [(None, "alice"), (1, None)])
async def test_scancel_gets_the_user_except_for_arrays(
    harness: ReconcileHarness, array: int | None, user: str | None
) -> None:
    """With a user, scancel would end an array's pending tasks, and squeue would no longer show
    an array."""
    (made,) = await harness.queued(1)
    harness.slurm.shown[1] = replace(harness.slurm.shown[1], array_job_id=array)
    await harness.look()
    await harness.write(made, stop)
    await harness.round()
    await harness.acts()
    assert (harness.slurm.cancelled, harness.slurm.cancelled_of) == ([1], [user])


# --- cancelling jobs that Slurm never received ----------------------------------------------------


async def unsent(harness: ReconcileHarness) -> str:
    made = await harness.add(state=JobState.SUBMITTING)
    await harness.round()
    await harness.write(made, stop)
    return made


@pytest.mark.parametrize("away", [False, True], ids=["Slurm answers", "Slurm is away"])
async def test_a_job_that_slurm_never_got_ends_at_once(
    harness: ReconcileHarness, away: bool
) -> None:
    made = await unsent(harness)
    harness.slurm.away = away
    await harness.look()
    await harness.round()
    await harness.acts()
    row = await harness.row(made)
    assert (row.state, row.outcome, row.reason) == (JobState.ENDED, Outcome.CANCELLED, None)
    assert harness.launchers.withdrawn == [made]


async def test_one_that_has_begun_is_found_and_cancelled(harness: ReconcileHarness) -> None:
    made = await unsent(harness)
    harness.launchers.claimed.add(made)
    await harness.round()
    await harness.acts()
    assert (await harness.row(made)).state is JobState.STOPPING
    harness.show(7, made, JobPhase.RUNNING)
    await harness.look()
    await harness.round(timedelta(seconds=5))
    await harness.acts()
    assert 7 in harness.slurm.cancelled


async def test_one_that_comes_to_slurm_afterwards_is_cancelled_there(
    harness: ReconcileHarness,
) -> None:
    """A very late response: the row has ended, and the job's script could only exit."""
    made = await unsent(harness)
    await harness.round()
    await harness.acts()
    await harness.round()
    assert await harness.round() == set()
    harness.show(7, made)
    await harness.look()
    assert await harness.round() == {made}
    await harness.acts()
    assert harness.slurm.cancelled == [7]
    assert (await harness.row(made)).state is JobState.ENDED


async def test_while_a_request_still_submits_it_nothing_is_concluded(
    harness: ReconcileHarness,
) -> None:
    made = await unsent(harness)
    harness.context.submitting[made] = None
    await harness.round()
    await harness.acts()
    assert (await harness.row(made)).state is JobState.STOPPING
    assert harness.launchers.withdrawn == []


async def test_without_a_launcher_it_is_tried_again(harness: ReconcileHarness) -> None:
    made = await unsent(harness)
    harness.launchers.broken = True
    await harness.round()
    await harness.acts()
    assert (await harness.row(made)).state is JobState.STOPPING
    harness.launchers.broken = False
    await harness.round(timedelta(seconds=5))
    await harness.acts()
    assert (await harness.row(made)).state is JobState.ENDED


async def test_another_id_in_the_meantime_is_not_overlooked(
    harness: ReconcileHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slurm's response arrived between the check and the end: the job is cancelled by its id."""
    made = await unsent(harness)
    withdraw = harness.launchers.withdraw

    async def late(username: str, uuid: str) -> bool:
        await harness.write(made, lambda row: setattr(row, "job_id", 9))
        return await withdraw(username, uuid)

    monkeypatch.setattr(harness.launchers, "withdraw", late)
    harness.show(9, made)
    await harness.round()
    await harness.acts()
    assert (await harness.row(made)).state is JobState.STOPPING
    await harness.look()
    await harness.round(timedelta(seconds=5))
    await harness.acts()
    assert harness.slurm.cancelled == [9]


async def test_what_was_submitted_since_the_row_was_read_is_no_copy(
    harness: ReconcileHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The submitting request ends in the middle of a round, and squeue shows its job by then."""
    made = await harness.add(state=JobState.SUBMITTING)
    observe = harness.loop._observe

    async def overtaken(ids: list[str], now: datetime) -> list[Job]:
        rows = await observe(ids, now)
        await harness.write(made, lambda row: setattr(row, "job_id", 7))
        harness.show(7, made)
        await harness.look()
        return rows

    monkeypatch.setattr(harness.loop, "_observe", overtaken)
    await harness.round()
    await harness.acts()
    assert harness.slurm.cancelled == []


async def test_a_second_copy_is_cancelled(harness: ReconcileHarness) -> None:
    (made,) = await harness.queued(1)
    harness.show(2, made)
    await harness.look()
    await harness.round()
    await harness.acts()
    assert harness.slurm.cancelled == [2]
