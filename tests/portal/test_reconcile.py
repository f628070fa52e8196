"""Which rows the loop looks at: with a real database, and Slurm played by what squeue showed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import event, update

from portal.db import Database, utcnow
from portal.models import BatchJob, Job, JobsPolicy, JobState, Session, User, Wanted, new_id
from portal.reconcile import VANISHED, Reconcile
from portal.services.changes import Changes
from portal.services.slurm.unsettled import EVERYTHING_EVERY
from portal.services.store import change
from spawner.errors import LauncherUnavailable, NotFound, Unreachable
from spawner.model import JobInfo, Outcome, SlurmState
from spawner.watcher import Watcher

pytestmark = pytest.mark.anyio


@dataclass
class Slurm:
    """What squeue shows, and what was cancelled. `away`: nobody answers."""

    shown: dict[int, JobInfo] = field(default_factory=dict)
    cancelled: list[int] = field(default_factory=list)
    killed: list[int] = field(default_factory=list)
    away: bool = False

    async def jobs(self) -> list[JobInfo]:
        if self.away:
            raise Unreachable("away")
        return list(self.shown.values())

    async def accounting(self, since: datetime, job_ids: Any = None) -> list[JobInfo]:
        return []

    async def cancel(self, job_id: int) -> None:
        if self.away:
            raise Unreachable("away")
        if job_id not in self.shown:
            raise NotFound("gone")
        self.cancelled.append(job_id)

    async def kill(self, job_id: int) -> None:
        self.killed.append(job_id)
        await self.cancel(job_id)


@dataclass
class Agents:
    """Launchers. `claimed`: jobs that have begun; `broken`: none can be started."""

    claimed: set[str] = field(default_factory=set)
    withdrawn: list[str] = field(default_factory=list)
    broken: bool = False

    async def withdraw(self, _username: str, uuid: str) -> bool:
        if self.broken:
            raise LauncherUnavailable("broken")
        self.withdrawn.append(uuid)
        return uuid not in self.claimed


class World:
    """A loop on a database of its own; `reads` are the ids of jobs that it has loaded."""

    def __init__(self, db: Database) -> None:
        self.db, self.slurm, self.agents = db, Slurm(), Agents()
        self.watcher = Watcher(self.slurm)  # type: ignore[arg-type]  # what is asked of it here
        self.changes = Changes()
        self.reads: list[str] = []
        settings = SimpleNamespace(
            cluster_name="c", hub_give_up_minutes=5, tensorboard_idle_minutes=30
        )
        self.parts: Any = SimpleNamespace(
            db=db, slurm=self.slurm, agents=self.agents, watcher=self.watcher,
            changes=self.changes, settings=settings, submitting={}, heard={},
        )  # fmt: skip
        self.loop = Reconcile(self.parts)
        self.now = utcnow()

    async def start(self) -> None:
        self.user = User(username="alice")
        async with self.db.session() as db:
            db.add(self.user)
            await db.commit()
        await self.look()

    async def look(self) -> None:
        await self.watcher.look()

    async def add(self, kind: type[Job] = BatchJob, **columns: Any) -> str:
        made: dict[str, Any] = {
            "id": new_id(), "user_id": self.user.id, "name": new_id(), "state": JobState.QUEUED,
            "resources": {}, "created_at": datetime(2026, 1, 1, tzinfo=UTC),
        }  # fmt: skip
        if kind is BatchJob:
            made |= {"owner_id": self.user.id, "parameters": {}, "files": {}, "nodes": []}
        row = kind(**(made | columns))
        async with self.db.session() as db:
            db.add(row)
            await db.commit()
        return row.id

    async def queued(self, count: int) -> list[str]:
        """As many jobs that wait, in the database and in squeue."""
        ids = [await self.add(job_id=number) for number in range(1, count + 1)]
        for number, row_id in enumerate(ids, start=1):
            self.show(number, row_id)
        await self.look()
        return ids

    def show(self, job_id: int, uuid: str, state: SlurmState = SlurmState.QUEUED) -> None:
        nodes = () if state is SlurmState.QUEUED else ("node01",)
        self.slurm.shown[job_id] = JobInfo(
            job_id, "alice", "x", state, state.upper(), uuid=uuid, nodes=nodes,
            submit_time=datetime(2026, 1, 1, tzinfo=UTC), reason="Priority",
        )  # fmt: skip

    async def round(self, after: timedelta = timedelta(0)) -> set[str]:
        """Go round until nothing is left over; the jobs that were looked at."""
        self.now = max(self.now + after, utcnow() + after)
        self.reads.clear()
        await self.loop.round(self.now)
        while self.loop._unsettled.more:
            await self.loop.round(self.now)
        return set(self.reads)

    async def acts(self) -> None:
        """Until no act is under way."""
        while running := list(self.loop._acts._running.values()):
            await asyncio.gather(*running)

    async def row(self, row_id: str) -> Any:
        async with self.db.session() as db:
            return await db.get(BatchJob, row_id)

    async def write(self, row_id: str, apply: Callable[[Any], None]) -> None:
        await change(self.db, BatchJob, row_id, apply)


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    db = Database(f"sqlite+aiosqlite:///{tmp_path / 'portal.db'}")
    await db.migrate()
    made = World(db)
    observe = made.loop._observe

    async def counted(ids: list[str], now: datetime) -> list[Job]:
        made.reads.extend(ids)
        return await observe(ids, now)

    async def nothing(*_: Any) -> None:
        """What concerns accounting and jobs from outside is not what is tried here."""

    monkeypatch.setattr(made.loop, "_observe", counted)
    monkeypatch.setattr(made.loop, "_batches", nothing)
    await made.start()
    yield made
    await made.loop.close()
    await db.close()


def stop(row: Any) -> None:
    row.wanted, row.state = Wanted.STOP, JobState.STOPPING


async def test_what_waits_is_not_read_again(world: World) -> None:
    ids = await world.queued(250)
    assert await world.round() == set(ids)
    assert (await world.row(ids[0])).reason
    assert await world.round() == set()
    await world.look()
    assert await world.round() == set()


async def test_a_row_that_was_written_is_looked_at(world: World) -> None:
    ids = await world.queued(3)
    await world.round()
    await world.write(ids[1], stop)
    assert await world.round() == {ids[1]}
    await world.acts()
    assert world.slurm.cancelled == [2]
    assert await world.round() == {ids[1]}, "it is on its way until it has ended"


async def test_a_new_row_is_looked_at(world: World) -> None:
    await world.round()
    made = await world.add(state=JobState.SUBMITTING)
    assert made in await world.round()


async def test_what_squeue_shows_differently_is_looked_at(world: World) -> None:
    ids = await world.queued(3)
    await world.round()
    world.show(2, ids[1], SlurmState.RUNNING)
    await world.look()
    assert await world.round() == {ids[1]}
    assert (await world.row(ids[1])).state is JobState.RUNNING
    assert await world.round() == set()


async def test_what_squeue_no_longer_shows_is_watched_until_it_is_known(world: World) -> None:
    ids = await world.queued(3)
    await world.round()
    del world.slurm.shown[2]
    await world.look()
    assert await world.round() == {ids[1]}
    assert await world.round() == {ids[1]}
    assert (await world.row(ids[1])).state is JobState.QUEUED, "absence is no end"


async def test_all_are_looked_at_now_and_then(world: World) -> None:
    ids = await world.queued(3)
    await world.round()
    assert await world.round(EVERYTHING_EVERY) == set(ids)


async def test_a_silence_of_slurm_is_one_statement(world: World) -> None:
    """And nothing is read for it; when Slurm answers again everything is."""
    ids = await world.queued(3)
    await world.round()
    world.slurm.away = True
    await world.look()
    written: list[str] = []
    event.listen(
        world.db.engine.sync_engine,
        "before_cursor_execute",
        lambda _c, _cursor, statement, *_: written.append(statement),
    )
    assert await world.round() == set()
    assert sum(statement.startswith("UPDATE") for statement in written) == 1
    assert (await world.row(ids[0])).stale_since is not None
    world.slurm.away = False
    await world.look()
    assert await world.round() == set(ids)
    assert (await world.row(ids[0])).stale_since is None


async def test_an_ended_session_stays_until_the_hub_let_go_of_it(world: World) -> None:
    made = await world.add(Session, state=JobState.ENDED, server_env={"A": "b"})
    away: Any = SimpleNamespace(stop_server=lambda *_, **__: asyncio.sleep(0, False))
    world.parts.hub = away
    assert await world.round() == {made}
    assert await world.round() == {made}
    away.stop_server = lambda *_, **__: asyncio.sleep(0, True)
    await world.round(timedelta(minutes=1))
    await world.acts()
    await world.round()
    assert await world.round() == set()


async def test_someone_else_was_quicker(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """One row of many was written in between: none of the others' news is lost."""
    ids = await world.queued(5)
    write, meddled = world.loop._watched.write, []

    def meddle(row: Any, now: datetime) -> bool:
        if not meddled and row.id == ids[2]:
            meddled.append(row.id)
            row.version -= 1  # as if another had written it since it was read
        return write(row, now)

    monkeypatch.setattr(world.loop._watched, "write", meddle)
    assert await world.round() == set(ids)
    assert all([(await world.row(row_id)).reason for row_id in ids])


# --- of someone disabled ------------------------------------------------------------------------


async def disabled(world: World, jobs: JobsPolicy) -> None:
    async with world.db.session() as db:
        mine = update(User).where(User.id == world.user.id)
        await db.execute(mine.values(disabled_at=utcnow(), disabled_jobs=jobs))
        await db.commit()


async def until_cancelled(world: World) -> None:
    """Two rounds: the row is told to end, then Slurm."""
    for _ in range(2):
        await world.round(EVERYTHING_EVERY)
        await world.acts()


async def test_what_comes_late_ends_too(world: World) -> None:
    """A request that was under way while its owner was disabled: found without being told."""
    await disabled(world, JobsPolicy.LEAVE)
    session = await world.add(Session, job_id=5)
    job = await world.add(job_id=6, created_at=utcnow() + timedelta(seconds=1))
    left = await world.add(job_id=7)
    for number, row_id in ((5, session), (6, job), (7, left)):
        world.show(number, row_id)
    await world.look()
    await until_cancelled(world)
    assert set(world.slurm.cancelled) == {5, 6}
    assert world.slurm.killed == [5], "a session closes at once"
    assert (await world.row(left)).wanted is Wanted.RUN


async def test_what_was_submitted_outside_is_cancelled_without_a_launcher(world: World) -> None:
    """Nobody may be able to act as them any more."""
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


# --- cancelling what Slurm never got ------------------------------------------------------------


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
    """An answer that came very late: the row has ended, and its script could only exit."""
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
    world.parts.submitting[made] = None
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
    """Slurm's answer came between the question and the end: the job is cancelled by its id."""
    made = await unsent(world)
    withdraw = world.agents.withdraw

    async def late(username: str, uuid: str) -> bool:
        await world.write(made, lambda row: setattr(row, "job_id", 9))
        return await withdraw(username, uuid)

    world.agents.withdraw = late  # type: ignore[method-assign]  # named behaviour
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
    """The request that submits ends in the middle of a round, and squeue shows its job by then."""
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
