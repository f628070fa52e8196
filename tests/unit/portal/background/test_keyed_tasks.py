"""Tasks that run beside their loop: one at a time per key, with failures reported."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from structlog.testing import capture_logs

from portal.background.keyed_tasks import MIN_INTERVAL, KeyedTasks
from portal.metrics import Metrics
from spawner.errors import Unreachable

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class TaskRun:
    """Tasks, and how many have ended; `failed` counts the unsuccessful ones."""

    def __init__(self) -> None:
        self.metrics, self.ended = Metrics(), asyncio.Queue[None]()
        self.tasks = KeyedTasks(
            lambda: self.ended.put_nowait(None), self.metrics.background_failures
        )

    def failed(self, word: str) -> float | None:
        name = "portal_background_failures_total"
        return self.metrics.registry.get_sample_value(name, {"task": word})


@pytest.mark.parametrize(
    ("error", "level"), [(Unreachable("away"), "warning"), (KeyError("oh"), "error")]
)
async def test_what_fails_is_logged_counted_and_tried_again(error: Exception, level: str) -> None:
    run = TaskRun()

    async def fails() -> None:
        raise error

    with capture_logs() as lines:
        for after in (0, 1):
            run.tasks.start("stop 5b1c", NOW + after * MIN_INTERVAL, fails)
            await run.ended.get()
            while run.tasks.count_running("stop"):
                await asyncio.sleep(0)
    assert [(line["task"], line["log_level"]) for line in lines] == [("stop 5b1c", level)] * 2
    assert run.failed("stop") == 2


async def test_a_failed_task_may_wait_longer() -> None:
    run, ran = TaskRun(), list[str]()
    run.tasks = KeyedTasks(
        lambda: run.ended.put_nowait(None),
        run.metrics.background_failures,
        retry_interval=2 * MIN_INTERVAL,
    )

    async def attempt(name: str, after: int, *, fails: bool) -> None:
        async def runs() -> None:
            ran.append(f"{name} {after}")
            if fails:
                raise Unreachable("away")

        run.tasks.start(f"read {name}", NOW + after * MIN_INTERVAL, runs)
        while run.tasks.count_running("read"):
            await asyncio.sleep(0)

    for after in (0, 1, 2):
        await attempt("a", after, fails=True)
        await attempt("b", after, fails=False)
    assert ran == ["a 0", "b 0", "b 1", "a 2", "b 2"]


async def test_one_at_a_time_for_each_thing() -> None:
    run, go_on, ran = TaskRun(), asyncio.Event(), list[str]()

    def act(name: str) -> None:
        async def runs() -> None:
            ran.append(name)
            await go_on.wait()

        run.tasks.start(f"stop {name}", NOW, runs)

    for name in ("a", "a", "b"):
        act(name)
    assert run.tasks.count_running("stop") == 2
    go_on.set()
    for _ in range(2):
        await run.ended.get()
    assert ran == ["a", "b"]


async def test_what_is_ended_with_the_portal_is_no_failure() -> None:
    run, begun = TaskRun(), asyncio.Event()

    async def hangs() -> None:
        begun.set()
        await asyncio.Event().wait()

    with capture_logs() as lines:
        run.tasks.start("stop a", NOW, hangs)
        await begun.wait()
        await run.tasks.close()
    assert (lines, run.failed("stop"), run.tasks.count_running("stop")) == ([], 0, 0)


async def test_task_that_ended_can_be_started_again_at_once() -> None:
    """The loop that `ended` wakes up finds the task gone."""
    run, running = TaskRun(), list[bool]()

    async def runs() -> None:
        pass

    run.tasks = KeyedTasks(
        lambda: running.append(run.tasks.is_running("stop a")), run.metrics.background_failures
    )
    run.tasks.start("stop a", NOW, runs)
    assert run.tasks.is_running("stop a")
    while not running:
        await asyncio.sleep(0)
    assert running == [False]
