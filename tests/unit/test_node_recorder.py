"""What a session has used: as a series that stays short, and as the portal is told of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from spawner.node.desk import Desk
from spawner.node.home import Answer, Home, OutOfReach
from spawner.node.meter import KEPT_S, Gpu, Memory, Use
from spawner.node.recorder import FULL, Recorder, recording
from spawner.node.rest import Kernels
from spawner.node.series import Series

MB = 1 << 20
HOME = Home("http://nowhere", "sessions", "id", "secret")


def use(memory_mb: int | None = None, cpus: float | None = None, *gpus: Gpu) -> Use:
    memory = None if memory_mb is None else Memory(memory_mb * MB, 1000 * MB)
    return Use(memory, cpus, list(gpus) or None)


def test_a_series_as_the_portal_is_told() -> None:
    series = Series(10)
    series.add(100, use(5, None))
    series.add(110, use(None, 1.256, Gpu("V100", 40, 7 * MB, 32000 * MB)))
    assert series.told(115.4) == {
        "ages_s": [15, 5],
        "step_s": 10,
        "memory_mb": [5, None],
        "cpus": [None, 1.26],
        "memory_limit_mb": 1000,
        "gpus": [
            {
                "name": "V100",
                "use_percent": [None, 40],
                "memory_mb": [None, 7],
                "memory_total_mb": 32000,
            }
        ],
    }


def test_nothing_was_looked_at_yet() -> None:
    told = Series(10).told(5)
    assert (told["ages_s"], told["memory_mb"], told["gpus"]) == ([], [], None)


@pytest.mark.parametrize("looks", [8, 9, 16, 17, 100, 1000])
def test_a_long_series_is_as_short_as_another(looks: int) -> None:
    series = Series(10, most=8)
    for number in range(looks):
        series.add(10.0 * number, use(number, 1.0))
    told = series.told(10.0 * looks)
    assert len(told["ages_s"]) <= 9
    assert told["ages_s"][0] == 10 * looks
    assert max(told["memory_mb"]) == looks - 1, "of memory the peak is kept"
    assert set(told["cpus"]) == {1.0}
    steps = {a - b for a, b in zip(told["ages_s"], told["ages_s"][1:], strict=False)}
    assert steps == {told["step_s"]}


def test_two_points_become_one_by_how_much_each_stands_for() -> None:
    series = Series(10, most=2)
    for cpus, memory in ((4.0, 1), (None, 9), (1.0, None)):
        series.add(0, use(memory, cpus))
    told = series.told(0)
    assert (told["cpus"], told["memory_mb"]) == ([4.0, 1.0], [9, None])


def test_of_other_gpus_nothing_is_mixed_up() -> None:
    series = Series(10)
    series.add(0, use(1, 1.0, Gpu("A", 10, None, None)))
    series.add(10, use(1, 1.0, Gpu("B", 20, None, None), Gpu("C", 30, None, None)))
    gpus = series.told(10)["gpus"]
    assert [(gpu["name"], gpu["use_percent"]) for gpu in gpus] == [
        ("B", [None, 20]),
        ("C", [None, 30]),
    ]


class Portal(Desk):
    """Answers one after another what it is given; the last one for ever."""

    def __init__(self, *answers: Answer | OutOfReach, of: Use) -> None:
        super().__init__(HOME)
        self.answers, self.told, self.of = list(answers), 0, of
        self.idle_s: list[int | None] = []
        self.meter = self  # type: ignore[assignment]  # it measures, too

    async def use(self) -> Use:
        return self.of

    async def ask(self, method: str, act: str, body: dict[str, Any] | None = None) -> Answer:
        assert (method, act) == ("POST", "use")
        assert body is not None
        self.told += 1
        self.idle_s.append(body["idle_s"])
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, OutOfReach):
            raise answer
        return answer


async def told(portal: Portal, looks: int) -> int:
    """How often the portal is told within so many looks, unless it wants no more."""
    now, left = [0.0], [looks]

    async def sleep(seconds: float) -> None:
        now[0] += seconds
        left[0] -= 1
        if left[0] < 0:
            raise asyncio.CancelledError

    try:
        await Recorder(portal, Kernels, sleep=sleep, clock=lambda: now[0]).run()
    except asyncio.CancelledError:
        return portal.told
    return -portal.told


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer(200, {"again_s": 30}), 20),
        (Answer(200, {"again_s": 10}), 59),
        (Answer(200, {"again_s": 0}), 59),
        (Answer(200, {"again_s": "soon"}), 20),
        (Answer(200, {}), 20),
        (Answer(200, {"again_s": 1e9}), 1),
        (Answer(503, {}), 20),
        (OutOfReach("away"), 20),
        (Answer(410, {}), -1),
        (Answer(404, {}), -1),
        (Answer(401, {}), -1),
    ],
)
async def test_the_portal_is_told_as_often_as_it_wants(
    answer: Answer | OutOfReach, expected: int
) -> None:
    assert await told(Portal(answer, of=use(10, 1.0)), looks=60) == expected


@pytest.mark.anyio
async def test_a_job_short_of_memory_tells_of_each_look() -> None:
    """So that the portal knows what it held before Slurm ended it."""
    portal = Portal(Answer(200, {"again_s": 600}), of=use(round(1000 * FULL)))
    assert await told(portal, looks=30) == 30
    assert KEPT_S == 10.0


@pytest.mark.anyio
async def test_a_session_that_does_nothing_is_told_of_and_its_waking_at_once() -> None:
    portal = Portal(Answer(200, {"again_s": 600}), of=use(10, 0.0))
    assert await told(portal, looks=130) == 3
    assert portal.idle_s == [10, 610, 1210]
    portal = Portal(Answer(200, {"again_s": 600}), of=use(10, 0.0))
    looks = 0

    async def awake_at_the_fiftieth() -> Use:
        nonlocal looks
        looks += 1
        return use(10, 1.0) if looks == 50 else use(10, 0.0)

    portal.use = awake_at_the_fiftieth  # type: ignore[method-assign]
    assert await told(portal, looks=60) == 2
    assert portal.idle_s == [10, None]


class Broken(Portal):
    """A desk whose meter can't measure, for a reason that nobody thought of."""

    async def use(self) -> Use:
        raise ZeroDivisionError


@pytest.mark.anyio
async def test_an_error_that_ends_the_recording_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def at_once(_seconds: float) -> None:
        pass

    task = recording(Recorder(Broken(Answer(200, {}), of=use()), Kernels, sleep=at_once))
    await asyncio.wait([task])
    (told,) = caplog.records
    assert (told.levelname, told.exc_info and told.exc_info[0]) == ("ERROR", ZeroDivisionError)


@pytest.mark.anyio
async def test_of_a_recording_that_was_stopped_nothing_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    task = recording(Recorder(Portal(Answer(200, {}), of=use()), Kernels))
    task.cancel()
    await asyncio.wait([task])
    assert caplog.records == []
