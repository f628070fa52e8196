"""Background loops: pauses, signals, failures, metrics and cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from portal.background import background_loop
from portal.background.background_loop import BackgroundLoop
from portal.background.notifier import Notifier
from portal.metrics import Metrics
from spawner.errors import Unreachable

pytestmark = pytest.mark.anyio

LONG_S = 3600.0


class LoopRun:
    """A loop whose step takes its results from `outcomes`, then succeeds. `pauses` are those that
    the loop asked for; one that nothing ends early is skipped."""

    def __init__(self, **options: Any) -> None:
        self.notifier, self.metrics = Notifier(), Metrics()
        self.outcomes: Iterator[object] = iter(())
        self.steps = 0
        self.stepped = asyncio.Event()
        given = {"interval_s": 0.001, **options}
        self.loop = BackgroundLoop("test", self._step, **given)

    async def _step(self) -> object:
        self.steps += 1
        self.stepped.set()
        outcome = next(self.outcomes, None)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    @asynccontextmanager
    async def running(self, *outcomes: object) -> AsyncIterator[asyncio.Task[None]]:
        self.outcomes = iter(outcomes)
        task = asyncio.create_task(self.loop.run(self.notifier, self.metrics))
        yield task
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()

    async def until(self, steps: int) -> None:
        async with asyncio.timeout(30):
            while self.steps < steps:
                self.stepped.clear()
                await self.stepped.wait()

    def value(self, name: str, label: str = "loop") -> float | None:
        return self.metrics.registry.get_sample_value(name, {label: "test"})


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_loop, "FIRST_RETRY_S", 0.001)


async def test_loop_repeats_step_and_reports_success() -> None:
    run = LoopRun()
    async with run.running():
        await run.until(3)
    assert (run.value("portal_loop_seconds_count") or 0) >= 2
    assert (run.value("portal_loop_succeeded_timestamp_seconds") or 0) > 1e9
    assert run.value("portal_background_failures_total", "task") == 0


async def test_loop_signal_ends_pause() -> None:
    run = LoopRun(interval_s=LONG_S, topics=("a", "b"))
    async with run.running():
        await run.until(1)
        assert not run.loop.signalled
        run.notifier.notify("b")
        await run.until(2)
        assert run.loop.signalled
    assert not run.notifier._waiting


async def test_loop_signal_during_rest_waits() -> None:
    run = LoopRun(interval_s=LONG_S, topics=("a",), rest_s=LONG_S)
    async with run.running():
        await run.until(1)
        run.notifier.notify("a")
        await asyncio.sleep(0.05)
    assert run.steps == 1


async def test_loop_step_chooses_next_pause() -> None:
    run = LoopRun(interval_s=LONG_S)
    async with run.running(timedelta(0), timedelta(0), 0, None):
        await run.until(3)
        await asyncio.sleep(0.05)
    assert run.steps == 3  # a number is no pause


async def test_loop_waits_first() -> None:
    run = LoopRun(interval_s=LONG_S, topics=("a",), waits_first=True)
    async with run.running():
        await asyncio.sleep(0.05)
        assert run.steps == 0
        run.notifier.notify("a")
        await run.until(1)


async def test_loop_shutdown_keeps_pausing() -> None:
    run = LoopRun(interval_s=LONG_S, topics=("a",))
    async with run.running():
        await run.until(1)
        run.notifier.close()
        await run.until(2)
        await asyncio.sleep(0.05)
    assert run.steps == 2


@pytest.mark.usefixtures("quick")
async def test_loop_failure_logged_once_until_recovery() -> None:
    run = LoopRun(retry_s=0.001)
    away, bug = Unreachable("away", stderr="no route"), KeyError("oh")
    with capture_logs() as lines:
        async with run.running(away, away, bug, bug, None, away):
            await run.until(8)
    assert [(line["log_level"], line["event"]) for line in lines] == [
        ("warning", "background loop failed, will retry"),
        ("error", "background loop failed, will retry"),
        ("info", "background loop recovered"),
        ("warning", "background loop failed, will retry"),
        ("info", "background loop recovered"),
    ]
    assert {line["loop"] for line in lines} == {"test"}
    assert (lines[0]["error"], lines[0]["cause"]) == ("away", "no route")
    assert lines[1]["exc_info"] is bug
    assert lines[2]["failures"] == 4
    assert run.value("portal_background_failures_total", "task") == 5


@pytest.mark.usefixtures("quick")
async def test_loop_goes_on_after_foreign_cancellation() -> None:
    """A step may await a task that something else cancels: that doesn't end the loop."""
    run = LoopRun(retry_s=0.001)
    async with run.running(asyncio.CancelledError()):
        await run.until(2)
    assert run.value("portal_background_failures_total", "task") == 1


@pytest.mark.parametrize(
    ("options", "pauses"),
    [
        ({"interval_s": 5.0}, [1, 2, 4, 5, 5]),
        ({"interval_s": LONG_S}, [1, 2, 4, 8, 16, 32, 60, 60]),
        ({"interval_s": 0.5}, [1, 1]),
        ({"interval_s": 300.0, "retry_s": 300.0}, [300, 300]),
    ],
)
async def test_loop_backoff_is_bounded(options: Any, pauses: list[float]) -> None:
    loop = LoopRun(**options).loop
    assert [loop._note_failure(Unreachable("away"), 0.1) for _ in pauses] == pauses


async def test_loop_failure_after_long_step_starts_new_streak() -> None:
    """A step that runs until it is cancelled never succeeds, yet each of its failures is logged."""
    loop = LoopRun(interval_s=LONG_S).loop
    with capture_logs() as lines:
        pauses = [loop._note_failure(KeyError("oh"), took_s) for took_s in (0.1, 0.1, 7200.0)]
    assert (pauses, len(lines)) == ([1, 2, 1], 2)


async def test_loop_cancelled_ends_step() -> None:
    ended = list[str]()
    begun = asyncio.Event()

    async def step() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("step")

    task = asyncio.create_task(BackgroundLoop("test", step, LONG_S).run(Notifier(), Metrics()))
    await begun.wait()
    with capture_logs() as lines:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert (task.cancelled(), ended, lines) == (True, ["step"], [])
