"""A TensorBoard whose allocation has ended: it moves while viewed, otherwise it ends with a
reason."""

import dataclasses
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from portal.config.settings import Settings
from portal.context import AppContext
from portal.db import Database, utcnow
from portal.errors import Gone, InvalidInput
from portal.models import (
    Job,
    JobState,
    Session,
    Tensorboard,
    TensorboardJob,
    TensorboardState,
    User,
)
from portal.services.tensorboards import node_requests, runs, tensorboards
from spawner.launcher.connection import UserInfo
from tests.fakes.context import partial_context
from tests.servers.databases import database_of
from tests.servers.gate_portal import gate_settings

pytestmark = pytest.mark.anyio
MakeParts = Callable[..., AppContext]


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = Database(database_of(tmp_path))
    await database.migrate()
    yield database
    await database.close()


@pytest.fixture
def make_context(tmp_path: Path, database: Database) -> MakeParts:
    """Create parts with neither Slurm nor launchers: only rows are written here."""

    def make(**changes: Any) -> AppContext:
        settings: Settings = gate_settings(tmp_path, **changes)
        return partial_context(settings=settings, db=database)

    return make


async def board_in(
    database: Database, host_state: JobState, *, own_job: bool = False, **changes: Any
) -> Tensorboard:
    """Add a running TensorBoard of a session in this state, inside it or in its own job."""
    values = {"state": TensorboardState.RUNNING, "host": "10.0.0.1", "port": 4000, **changes}
    async with database.session() as db:
        user = User(username="alice")
        db.add(user)
        await db.flush()
        session = Session(user_id=user.id, name="s1", state=host_state)
        own = TensorboardJob(user_id=user.id, name="tensorboard", state=host_state)
        db.add_all([session, own])
        await db.flush()
        row = Tensorboard(
            parent_id=session.id,
            user_id=user.id,
            logdir="/x",
            secret_hash="before",
            guard_key="before",
            started_at=utcnow(),
            own_job_id=own.id if own_job else None,
            **{"last_request_at": utcnow(), **values},
        )
        db.add(row)
        await db.commit()
    return await again(database, row)


async def again(database: Database, board: Tensorboard) -> Tensorboard:
    async with database.session() as db:
        return await db.get_one(Tensorboard, board.id)


async def host_ended(context: AppContext, board: Tensorboard) -> bool:
    host: Job = await runs.load_host_job(context, board)
    return runs.host_job_ended(board, host)


@pytest.mark.parametrize(
    ("state", "ended"),
    [
        (JobState.RUNNING, False),
        (JobState.STARTING, False),
        (JobState.STOPPING, True),
        (JobState.SUSPENDED, False),
        (JobState.QUEUED, True),  # requeued: it will run again, on another node
        (JobState.SUBMITTING, True),
        (JobState.ENDED, True),
    ],
)
async def test_when_its_allocation_is_over(
    database: Database, make_context: MakeParts, state: JobState, ended: bool
) -> None:
    assert await host_ended(make_context(), await board_in(database, state)) == ended


async def test_one_that_waits_in_the_queue_with_a_job_of_its_own_has_a_live_allocation(
    database: Database, make_context: MakeParts
) -> None:
    starting = TensorboardState.STARTING
    board = await board_in(database, JobState.QUEUED, own_job=True, state=starting)
    assert not await host_ended(make_context(), board)


async def test_a_folder_is_named_from_its_owners_home(
    database: Database, make_context: MakeParts
) -> None:
    class HomeLaunchers:
        async def info(self, username: str) -> UserInfo:
            return UserInfo(username, 20001, 20001, f"/home/{username}", "/bin/bash")

        async def folder_exists(self, username: str, path: str) -> bool:
            return (username, path) == ("alice", "/home/alice/runs")

    context = dataclasses.replace(make_context(), launchers=cast(Any, HomeLaunchers()))
    before = await board_in(database, JobState.ENDED)
    found = await tensorboards.request_start(context, before.parent, before.user, "~/runs")
    assert found.logdir == "/home/alice/runs"
    with pytest.raises(InvalidInput, match="starting with"):
        await tensorboards.request_start(context, before.parent, before.user, "~bob/runs")


async def test_board_in_use_moves_to_a_service_job(
    database: Database, make_context: MakeParts
) -> None:
    """Its id and thus its address stay; run and secret are new, because the old program may
    still call."""
    context = make_context(service_partition="cpu")
    before = await board_in(database, JobState.ENDED)
    context.tensorboard_heartbeats[before.run_id] = utcnow()
    await runs.handle_ended_allocation(context, before, utcnow())
    after = await again(database, before)
    assert (after.id, after.state, after.wanted) == (before.id, TensorboardState.STARTING, True)
    assert (after.host, after.port, after.started_at) == (None, None, None)
    assert after.run_id != before.run_id
    assert after.guard_key not in {before.guard_key, ""}
    assert after.secret_hash == "", "the earlier run's opens nothing"
    assert after.reason == runs.MOVES
    assert context.tensorboard_heartbeats == {}


async def test_asked_twice_it_moves_once(database: Database, make_context: MakeParts) -> None:
    context = make_context(service_partition="cpu")
    before = await board_in(database, JobState.ENDED)
    await runs.handle_ended_allocation(context, before, utcnow())
    first = await again(database, before)
    await runs.handle_ended_allocation(context, before, utcnow())
    assert (await again(database, before)).run_id == first.run_id


async def test_one_that_its_owner_has_ended_stays_ended(
    database: Database, make_context: MakeParts
) -> None:
    context = make_context(service_partition="cpu")
    before = await board_in(database, JobState.ENDED)
    await tensorboards.request_stop(context, before, before.user)
    await runs.handle_ended_allocation(context, before, utcnow())
    assert (await again(database, before)).state is TensorboardState.STOPPED


@pytest.mark.parametrize("own_job", [False, True])
async def test_hosts_of_many_are_those_of_each(
    database: Database, make_context: MakeParts, own_job: bool
) -> None:
    context, board = make_context(), await board_in(database, JobState.RUNNING, own_job=own_job)
    hosts = await runs.load_host_jobs(context, [board])
    assert hosts[board.id].id == (board.own_job_id if own_job else board.parent_id)


async def test_silence_of_a_suspended_job_does_not_count(
    database: Database, make_context: MakeParts
) -> None:
    context, now = make_context(), utcnow()
    board = await board_in(database, JobState.SUSPENDED)
    context.tensorboard_heartbeats[board.run_id] = now
    later = now + 10 * runs.MAX_SILENCE
    assert not runs.is_silent(context, board, board.parent, later)
    resumed = Session(state=JobState.RUNNING)
    assert not runs.is_silent(context, board, resumed, later + timedelta(seconds=5))
    assert runs.is_silent(context, board, resumed, later + 2 * runs.MAX_SILENCE)


async def test_a_late_request_of_a_run_that_ended_leaves_nothing(
    database: Database, make_context: MakeParts
) -> None:
    context = make_context()
    board = await board_in(database, JobState.RUNNING)
    await runs.mark_failed(context, board, "reason")
    with pytest.raises(Gone):
        await node_requests.wait_while_wanted(context, board, 0.0)
    assert context.tensorboard_heartbeats == {}


@pytest.mark.parametrize(
    ("partition", "own_job", "seen", "reason"),
    [
        (None, False, timedelta(0), runs.NO_SERVICE_PARTITION),
        ("cpu", False, timedelta(minutes=11), runs.ENDED_UNWATCHED),
        ("cpu", True, timedelta(0), runs.ALLOCATION_ENDED),
    ],
)
async def test_board_that_cannot_move_ends_with_a_reason(
    database: Database,
    make_context: MakeParts,
    partition: str | None,
    own_job: bool,
    seen: timedelta,
    reason: str,
) -> None:
    now: datetime = utcnow()
    context = make_context(service_partition=partition)
    board = await board_in(database, JobState.ENDED, own_job=own_job, last_request_at=now - seen)
    await runs.handle_ended_allocation(context, board, now)
    after = await again(database, board)
    assert (after.state, after.wanted) == (TensorboardState.STOPPED, False)
    assert after.reason == reason
