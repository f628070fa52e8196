"""Jobs that the loop cancels: of disabled users, never received by Slurm, second copies."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from portal.background.reconciler import VANISHED
from portal.db import utcnow
from portal.models import BatchJob, Job, JobsPolicy, JobState, Session, User, Wanted, new_id
from portal.services.slurm.pending_rows import EVERYTHING_EVERY
from spawner.slurm.model import Outcome, SlurmState
from tests.portal.reconcile_loop import World, looping, stop

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    async with looping(tmp_path, monkeypatch) as made:
        yield made


# --- of a disabled user ---------------------------------------------------------------------------


async def disabled(world: World, jobs: JobsPolicy) -> None:
    async with world.db.session() as db:
        mine = update(User).where(User.id == world.user.id)
        await db.execute(mine.values(disabled_at=utcnow(), disabled_jobs=jobs))
        await db.commit()


async def until_cancelled(world: World) -> None:
    """Two rounds: first the row is marked, then Slurm cancels."""
    for _ in range(2):
        await world.round(EVERYTHING_EVERY)
        await world.acts()


async def test_what_comes_late_ends_too(world: World) -> None:
    """A request that was in progress while its owner was disabled is detected without a
    notification."""
    await disabled(world, JobsPolicy.LEAVE)
    session = await world.add(Session, job_id=5)
    job = await world.add(job_id=6, created_at=utcnow() + timedelta(seconds=1))
    left = await world.add(job_id=7)
    for number, row_id in ((5, session), (6, job), (7, left)):
        world.show(number, row_id)
    world.slurm.shown[6] = replace(world.slurm.shown[6], submit_time=utcnow())
    await world.look()
    await until_cancelled(world)
    assert set(world.slurm.cancelled) == {5, 6}
    assert world.slurm.killed == [5], "a session closes at once"
    assert (await world.row(left)).wanted is Wanted.RUN


async def test_what_was_submitted_outside_is_cancelled_without_a_launcher(world: World) -> None:
    """No process may be able to act as that user anymore."""
    made = await world.add(job_id=6, external=True)
    world.show(6, made)
    world.agents.broken = True
    await disabled(world, JobsPolicy.CANCEL)
    await world.look()
    await until_cancelled(world)
    assert world.slurm.cancelled == [6]


async def test_what_slurm_lost_is_not_submitted_again(world: World) -> None:
    made = await world.add(job_id=6, environment="plain")
    await disabled(world, JobsPolicy.LEAVE)
    world.watcher.missing_since = lambda *_: utcnow() - VANISHED  # type: ignore[method-assign]
    await world.look()
    await world.round(EVERYTHING_EVERY)
    await world.acts()
    assert (await world.row(made)).wanted is Wanted.STOP


# --- job ids that Slurm has reused ----------------------------------------------------------------


def give_again(world: World, job_id: int, user: str = "bob") -> None:
    """slurmctld has lost its state, and this id belongs to another job now."""
    world.show(job_id, new_id())
    world.slurm.shown[job_id] = replace(world.slurm.shown[job_id], user=user)


@pytest.mark.parametrize("user", ["bob", "alice"])
@pytest.mark.parametrize("looked", [False, True], ids=["not seen yet", "seen"])
async def test_a_stop_spares_the_next_job_of_its_number(
    world: World, user: str, looked: bool
) -> None:
    (made,) = await world.queued(1)
    await world.round()
    give_again(world, 1, user)
    if looked:
        await world.look()
    await world.write(made, stop)
    await world.round()
    await world.acts()
    assert world.slurm.cancelled == []


@pytest.mark.parametrize("kind", [Session, BatchJob])
async def test_deprovisioning_spares_the_next_job_of_a_reused_number(
    world: World, kind: type[Job]
) -> None:
    made = await world.add(kind, job_id=6)
    world.show(6, made)
    await world.look()
    await world.round()
    give_again(world, 6)
    await disabled(world, JobsPolicy.CANCEL)
    await until_cancelled(world)
    assert world.slurm.cancelled == world.slurm.killed == []


async def test_and_the_end_of_a_second_copy(world: World) -> None:
    (made,) = await world.queued(1)
    world.show(2, made)
    await world.look()
    give_again(world, 2)
    await world.round()
    await world.acts()
    assert world.slurm.cancelled == []


@pytest.mark.parametrize(("array", "user"), [(None, "alice"), (1, None)])
async def test_scancel_gets_the_user_except_for_arrays(
    world: World, array: int | None, user: str | None
) -> None:
    """With a user, scancel would end an array's pending tasks, and squeue would no longer show
    an array."""
    (made,) = await world.queued(1)
    world.slurm.shown[1] = replace(world.slurm.shown[1], array_job_id=array)
    await world.look()
    await world.write(made, stop)
    await world.round()
    await world.acts()
    assert (world.slurm.cancelled, world.slurm.cancelled_of) == ([1], [user])


# --- cancelling jobs that Slurm never received ----------------------------------------------------


async def unsent(world: World) -> str:
    made = await world.add(state=JobState.SUBMITTING)
    await world.round()
    await world.write(made, stop)
    return made


@pytest.mark.parametrize("away", [False, True], ids=["Slurm answers", "Slurm is away"])
async def test_a_job_that_slurm_never_got_ends_at_once(world: World, away: bool) -> None:
    made = await unsent(world)
    world.slurm.away = away
    await world.look()
    await world.round()
    await world.acts()
    row = await world.row(made)
    assert (row.state, row.outcome, row.reason) == (JobState.ENDED, Outcome.CANCELLED, None)
    assert world.agents.withdrawn == [made]


async def test_one_that_has_begun_is_found_and_cancelled(world: World) -> None:
    made = await unsent(world)
    world.agents.claimed.add(made)
    await world.round()
    await world.acts()
    assert (await world.row(made)).state is JobState.STOPPING
    world.show(7, made, SlurmState.RUNNING)
    await world.look()
    await world.round(timedelta(seconds=5))
    await world.acts()
    assert 7 in world.slurm.cancelled


async def test_one_that_comes_to_slurm_afterwards_is_cancelled_there(world: World) -> None:
    """A very late response: the row has ended, and the job's script could only exit."""
    made = await unsent(world)
    await world.round()
    await world.acts()
    await world.round()
    assert await world.round() == set()
    world.show(7, made)
    await world.look()
    assert await world.round() == {made}
    await world.acts()
    assert world.slurm.cancelled == [7]
    assert (await world.row(made)).state is JobState.ENDED


async def test_while_a_request_still_submits_it_nothing_is_concluded(world: World) -> None:
    made = await unsent(world)
    world.context.submitting[made] = None
    await world.round()
    await world.acts()
    assert (await world.row(made)).state is JobState.STOPPING
    assert world.agents.withdrawn == []


async def test_without_a_launcher_it_is_tried_again(world: World) -> None:
    made = await unsent(world)
    world.agents.broken = True
    await world.round()
    await world.acts()
    assert (await world.row(made)).state is JobState.STOPPING
    world.agents.broken = False
    await world.round(timedelta(seconds=5))
    await world.acts()
    assert (await world.row(made)).state is JobState.ENDED


async def test_another_id_in_the_meantime_is_not_overlooked(world: World) -> None:
    """Slurm's response arrived between the check and the end: the job is cancelled by its id."""
    made = await unsent(world)
    withdraw = world.agents.withdraw

    async def late(username: str, uuid: str) -> bool:
        await world.write(made, lambda row: setattr(row, "job_id", 9))
        return await withdraw(username, uuid)

    world.agents.withdraw = late  # type: ignore[method-assign]  named behavior
    world.show(9, made)
    await world.round()
    await world.acts()
    assert (await world.row(made)).state is JobState.STOPPING
    await world.look()
    await world.round(timedelta(seconds=5))
    await world.acts()
    assert world.slurm.cancelled == [9]


async def test_what_was_submitted_since_the_row_was_read_is_no_copy(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The submitting request ends in the middle of a round, and squeue shows its job by then."""
    made = await world.add(state=JobState.SUBMITTING)
    observe = world.loop._observe

    async def overtaken(ids: list[str], now: datetime) -> list[Job]:
        rows = await observe(ids, now)
        await world.write(made, lambda row: setattr(row, "job_id", 7))
        world.show(7, made)
        await world.look()
        return rows

    monkeypatch.setattr(world.loop, "_observe", overtaken)
    await world.round()
    await world.acts()
    assert world.slurm.cancelled == []


async def test_a_second_copy_is_cancelled(world: World) -> None:
    (made,) = await world.queued(1)
    world.show(2, made)
    await world.look()
    await world.round()
    await world.acts()
    assert world.slurm.cancelled == [2]
