"""A session's usage as a bounded time series, and its reports to the portal."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from spawner.node.jupyter.idle import ActivitySnapshot
from spawner.node.jupyter.session_sources import SessionSources
from spawner.node.portal_client import OutOfReach, PortalClient, PortalResponse
from spawner.node.usage.meter import MEASURE_EVERY_S, Gpu, Memory, Use
from spawner.node.usage.recorder import NEARLY_FULL, Recorder, recording
from spawner.node.usage.time_series import Series

MB = 1 << 20
HOME = PortalClient("http://nowhere", "sessions", "id", "secret")


def use(memory_mb: int | None = None, cpus: float | None = None, *gpus: Gpu) -> Use:
    memory = None if memory_mb is None else Memory(memory_mb * MB, 1000 * MB)
    return Use(memory, cpus, list(gpus) or None)


def test_series_report_has_ages_and_rounded_values() -> None:
    series = Series(10)
    series.add(100, use(5, None))
    series.add(110, use(None, 1.256, Gpu("V100", 40, 7 * MB, 32000 * MB)))
    assert series.to_report(115.4) == {
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
        "killed_s": None,
    }


def test_series_reports_the_last_out_of_memory_kill() -> None:
    series = Series(10)
    looks = [(100, 0), (110, 1), (120, 1), (130, 0), (140, 0)]
    seen = [series.add(at, Use(Memory(MB, None, kills), None, None)) for at, kills in looks]
    assert seen == [False, True, False, False, False]
    assert series.to_report(150)["killed_s"] == 40


def test_nothing_was_looked_at_yet() -> None:
    current = Series(10).to_report(5)
    assert (current["ages_s"], current["memory_mb"], current["gpus"]) == ([], [], None)


@pytest.mark.parametrize("looks", [8, 9, 16, 17, 100, 1000])
def test_a_long_series_is_as_short_as_another(looks: int) -> None:
    series = Series(10, most=8)
    for number in range(looks):
        series.add(10.0 * number, use(number, 1.0))
    current = series.to_report(10.0 * looks)
    assert len(current["ages_s"]) <= 9
    assert current["ages_s"][0] == 10 * looks
    assert max(current["memory_mb"]) == looks - 1, "of memory the peak is kept"
    assert set(current["cpus"]) == {1.0}
    steps = {a - b for a, b in zip(current["ages_s"], current["ages_s"][1:], strict=False)}
    assert steps == {current["step_s"]}


def test_two_points_become_one_by_how_much_each_stands_for() -> None:
    series = Series(10, most=2)
    for cpus, memory in ((4.0, 1), (None, 9), (1.0, None)):
        series.add(0, use(memory, cpus))
    current = series.to_report(0)
    assert (current["cpus"], current["memory_mb"]) == ([4.0, 1.0], [9, None])


def test_of_other_gpus_nothing_is_mixed_up() -> None:
    series = Series(10)
    series.add(0, use(1, 1.0, Gpu("A", 10, None, None)))
    series.add(10, use(1, 1.0, Gpu("B", 20, None, None), Gpu("C", 30, None, None)))
    gpus = series.to_report(10)["gpus"]
    assert [(gpu["name"], gpu["use_percent"]) for gpu in gpus] == [
        ("B", [None, 20]),
        ("C", [None, 30]),
    ]


def test_recent_series_drops_the_oldest_points() -> None:
    series = Series(10, most=3, recent=True)
    for number in range(5):
        series.add(number * 10, use(number, 1.0))
    report = series.to_report(40)
    assert report["ages_s"] == [20, 10, 0]
    assert report["memory_mb"] == [2, 3, 4]
    assert report["step_s"] == 10


class Portal(SessionSources):
    """A portal that returns the given responses one after another, repeating the last one."""

    def __init__(self, *answers: PortalResponse | OutOfReach, of: Use) -> None:
        super().__init__(HOME)
        self.answers, self.reports, self.of = list(answers), 0, of
        self.idle_s: list[int | None] = []
        self.meter: Any = self  # it also measures

    async def use(self) -> Use:
        return self.of

    async def ask(
        self, method: str, act: str, body: dict[str, Any] | None = None
    ) -> PortalResponse:
        assert (method, act) == ("POST", "use")
        assert body is not None
        self.reports += 1
        self.idle_s.append(body["idle_s"])
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, OutOfReach):
            raise answer
        return answer


async def count_reports(portal: Portal, looks: int) -> int:
    """Return how often usage is reported within so many measurements, unless the portal
    declines."""
    now, left = [0.0], [looks]

    async def sleep(seconds: float) -> None:
        now[0] += seconds
        left[0] -= 1
        if left[0] < 0:
            raise asyncio.CancelledError

    try:
        await Recorder(portal, ActivitySnapshot, sleep=sleep, clock=lambda: now[0]).run()
    except asyncio.CancelledError:
        return portal.reports
    return -portal.reports


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (PortalResponse(200, {"again_s": 30}), 20),
        (PortalResponse(200, {"again_s": 10}), 59),
        (PortalResponse(200, {"again_s": 0}), 59),
        (PortalResponse(200, {"again_s": "soon"}), 20),
        (PortalResponse(200, {}), 20),
        (PortalResponse(200, {"again_s": 1e9}), 1),
        (PortalResponse(503, {}), 20),
        (OutOfReach("away"), 20),
        (PortalResponse(410, {}), -1),
        (PortalResponse(404, {}), -1),
        (PortalResponse(401, {}), -1),
    ],
)
async def test_reports_follow_the_interval_of_the_portal(
    answer: PortalResponse | OutOfReach, expected: int
) -> None:
    assert await count_reports(Portal(answer, of=use(10, 1.0)), looks=60) == expected


@pytest.mark.anyio
async def test_job_short_of_memory_reports_every_sample() -> None:
    """The portal must have the latest usage before Slurm ends the job."""
    portal = Portal(PortalResponse(200, {"again_s": 600}), of=use(round(1000 * NEARLY_FULL)))
    assert await count_reports(portal, looks=30) == 30
    assert MEASURE_EVERY_S == 10.0


@pytest.mark.anyio
async def test_idle_session_is_reported_and_its_activity_at_once() -> None:
    portal = Portal(PortalResponse(200, {"again_s": 600}), of=use(10, 0.0))
    assert await count_reports(portal, looks=130) == 3
    assert portal.idle_s == [10, 610, 1210]
    portal = Portal(PortalResponse(200, {"again_s": 600}), of=use(10, 0.0))
    looks = 0

    async def awake_at_the_fiftieth() -> Use:
        nonlocal looks
        looks += 1
        return use(10, 1.0) if looks == 50 else use(10, 0.0)

    portal.use = awake_at_the_fiftieth  # type: ignore[method-assign]
    assert await count_reports(portal, looks=60) == 2
    assert portal.idle_s == [10, None]


class Broken(Portal):
    """A portal client whose meter fails with an unexpected error."""

    async def use(self) -> Use:
        raise ZeroDivisionError


@pytest.mark.anyio
async def test_an_error_that_ends_the_recording_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def at_once(_seconds: float) -> None:
        pass

    task = recording(
        Recorder(Broken(PortalResponse(200, {}), of=use()), ActivitySnapshot, sleep=at_once)
    )
    await asyncio.wait([task])
    (record,) = caplog.records
    assert (record.levelname, record.exc_info and record.exc_info[0]) == (
        "ERROR",
        ZeroDivisionError,
    )


@pytest.mark.anyio
async def test_of_a_recording_that_was_stopped_nothing_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    task = recording(Recorder(Portal(PortalResponse(200, {}), of=use()), ActivitySnapshot))
    task.cancel()
    await asyncio.wait([task])
    assert caplog.records == []
