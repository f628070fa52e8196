"""Values logged by an array's running tasks: the times of reading, and the amount read."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from portal.api.job_schemas import array_out
from portal.models import BatchJob, JobState, User
from portal.services.jobs import scalars
from portal.services.jobs.scalar_cache import MAX_ARRAYS, PAUSE_FACTOR, READ_EVERY_S, ScalarCache
from spawner.errors import LauncherUnavailable
from tests.fakes.context import partial_context

pytestmark = pytest.mark.anyio


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


class Launcher:
    """A launcher that answers with `logged`, by folder, and records its requests."""

    def __init__(self) -> None:
        self.logged: dict[str, dict[str, float | None]] = {}
        self.asked: list[list[str]] = []
        self.away = False

    async def scalars(
        self, username: str, folders: list[str], timeout_s: float | None = None
    ) -> list[dict[str, float | None]]:
        assert username == "alice"
        assert timeout_s is not None
        self.asked.append(folders)
        if self.away:
            raise LauncherUnavailable("away")
        return [self.logged.get(folder, {}) for folder in folders]


class Desk:
    """An array that a user is viewing."""

    def __init__(self, tasks: int = 2) -> None:
        self.clock, self.launcher = Clock(), Launcher()
        self.context = partial_context(file_pool=self.launcher, scalars=ScalarCache(self.clock))
        running = [{"index": index, "state": JobState.RUNNING} for index in range(tasks)]
        self.job = BatchJob(
            id="j", user=User(username="alice"), logdir="/l", array_size=tasks, tasks=running
        )

    async def look(self) -> dict[int, Any]:
        """Return the values shown at one view, after the reads that it starts."""
        shown = dict(scalars.latest_scalars(self.context, self.job))
        await self.settle()
        return shown

    async def settle(self) -> None:
        if (reading := self.context.scalars.of(self.job.id).reading) is not None:
            await reading

    def set_task(self, index: int, **changes: Any) -> None:
        tasks = [dict(task) for task in self.job.tasks or []]
        tasks[index] |= changes
        self.job.tasks = tasks


async def test_a_look_has_it_read_for_the_next_look() -> None:
    desk = Desk()
    desk.launcher.logged = {"/l/task-1": {"loss": 0.5}}
    assert await desk.look() == {}
    assert await desk.look() == {1: {"loss": 0.5}}
    assert desk.launcher.asked == [["/l/task-0", "/l/task-1"]]


async def test_it_is_not_read_again_before_its_time() -> None:
    desk = Desk()
    await desk.look()
    desk.clock.now_s += READ_EVERY_S - 1
    await desk.look()
    assert len(desk.launcher.asked) == 1
    desk.clock.now_s += 1
    desk.launcher.logged = {"/l/task-0": {"loss": 0.1}}
    await desk.look()
    assert len(desk.launcher.asked) == 2
    assert await desk.look() == {0: {"loss": 0.1}}


async def test_many_who_look_at_once_read_once() -> None:
    desk = Desk()
    for _ in range(5):
        scalars.latest_scalars(desk.context, desk.job)
    await desk.settle()
    assert len(desk.launcher.asked) == 1


def test_what_takes_long_is_read_seldom() -> None:
    clock = Clock()
    known = ScalarCache(clock)
    entry = known.of("j")
    known.schedule_next(entry, took_s=10.0)
    clock.now_s += PAUSE_FACTOR * 10 - 1
    assert not known.is_due(entry)
    clock.now_s += 1
    assert known.is_due(entry)


async def test_all_tasks_of_a_large_array_have_their_turn() -> None:
    desk = Desk(tasks=scalars.FOLDERS + 8)
    await desk.look()
    first = {folder for folders in desk.launcher.asked for folder in folders}
    assert len(first) == scalars.FOLDERS
    assert max(map(len, desk.launcher.asked)) == scalars.LIVE_FOLDERS
    desk.launcher.asked.clear()
    desk.clock.now_s += READ_EVERY_S
    await desk.look()
    second = {folder for folders in desk.launcher.asked for folder in folders}
    assert len(first | second) == scalars.FOLDERS + 8


async def test_a_launcher_that_is_away_is_left_alone_for_a_while() -> None:
    desk = Desk()
    desk.launcher.away = True
    assert await desk.look() == {}
    desk.clock.now_s += READ_EVERY_S
    assert await desk.look() == {}
    assert len(desk.launcher.asked) == 1


@pytest.mark.parametrize("changes", [{"logdir": None}, {"external": True}, {"tasks": None}])
async def test_what_cannot_be_read_is_not_asked_for(changes: dict[str, Any]) -> None:
    desk = Desk()
    for name, value in changes.items():
        setattr(desk.job, name, value)
    assert await desk.look() == {}
    assert desk.launcher.asked == []


async def test_nothing_is_kept_of_an_array_that_has_ended() -> None:
    desk = Desk(tasks=1)
    desk.launcher.logged = {"/l/task-0": {"loss": 0.5}}
    await desk.look()
    desk.set_task(0, state=JobState.ENDED)
    assert await desk.look() == {0: {"loss": 0.5}}  # until its row has the final value
    desk.set_task(0, read=True, metrics={"loss": 0.4})
    assert await desk.look() == {}
    assert desk.context.scalars.of("j").values == {}


async def test_few_arrays_are_kept_and_what_is_left_is_not_read_on() -> None:
    known = ScalarCache(Clock())
    first = known.of("first")
    first.reading = asyncio.create_task(asyncio.Event().wait())  # type: ignore[arg-type]
    for number in range(MAX_ARRAYS):
        known.of(str(number))
    assert known.of("first") is not first
    await asyncio.wait({first.reading})
    assert first.reading.cancelled()


async def test_closing_gives_up_what_is_being_read() -> None:
    known = ScalarCache(Clock())
    entry = known.of("j")
    entry.reading = asyncio.create_task(asyncio.Event().wait())  # type: ignore[arg-type]
    known.close()
    await asyncio.wait({entry.reading})
    assert entry.reading.cancelled()


def test_a_table_shows_what_is_so_far_and_what_is_final() -> None:
    desk = Desk(tasks=3)
    desk.set_task(1, state=JobState.ENDED, outcome="completed", metrics={"loss": 0.1}, read=True)
    array = array_out(desk.job, True, {0: {"loss": 0.7}, 1: {"loss": 0.3}})
    assert array is not None
    shown = [(task.metrics, task.so_far) for task in array.tasks]
    assert shown == [({"loss": 0.7}, True), ({"loss": 0.1}, False), (None, False)]


def test_a_value_that_is_no_number_any_more_can_be_shown() -> None:
    desk = Desk(tasks=1)
    desk.set_task(0, state=JobState.ENDED, metrics={"loss": None, "lr": 0.1}, read=True)
    array = array_out(desk.job, True)
    assert array is not None
    assert array.model_dump(mode="json")["tasks"][0]["metrics"] == {"loss": None, "lr": 0.1}
