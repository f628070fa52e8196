"""Addresses and starts of the programs that serve SSH in jobs."""

import asyncio
from dataclasses import dataclass, field

import pytest

from portal.services.jobs.ssh_programs import (
    ENDED_S,
    FRESH_S,
    GIVEN_UP_S,
    JobSshProgram,
    JobSshPrograms,
)

pytestmark = pytest.mark.anyio
PROGRAM = JobSshProgram("node01", "10.77.0.11", 40123, None)


@dataclass
class Clock:
    now: float = 1000.0
    programs: JobSshPrograms = field(init=False)

    def __post_init__(self) -> None:
        self.programs = JobSshPrograms(lambda: self.now)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_register_finds_a_program_on_its_jobs_node_only(clock: Clock) -> None:
    assert clock.programs.register("job", "1", PROGRAM)
    assert not clock.programs.register("job", "1", PROGRAM)
    assert clock.programs.find("job", "node01") == PROGRAM
    assert clock.programs.find("job", "node02") is None
    assert clock.programs.find("other", "node01") is None


def test_find_forgets_a_program_that_reports_no_longer(clock: Clock) -> None:
    clock.programs.register("job", "1", PROGRAM)
    clock.now += FRESH_S
    assert clock.programs.find("job", "node01") == PROGRAM
    clock.now += 1
    assert clock.programs.find("job", "node01") is None


def test_remove_keeps_the_reason_until_a_program_reports(clock: Clock) -> None:
    clock.programs.register("job", "1", PROGRAM)
    clock.programs.remove("job", "1", "The disk is full.")
    assert clock.programs.find("job", "node01") is None
    assert clock.programs.problem("job") == "The disk is full."
    clock.programs.register("job", "1", PROGRAM)
    assert clock.programs.problem("job") is None
    clock.programs.remove("job", "1", None)
    assert clock.programs.problem("job") is None


def test_remove_of_an_older_run_changes_nothing(clock: Clock) -> None:
    clock.programs.register("job", "2", PROGRAM)
    assert not clock.programs.remove("job", "1", "The disk is full.")
    assert clock.programs.find("job", "node01") == PROGRAM
    assert clock.programs.problem("job") is None


def test_any_run_may_report_until_one_is_known(clock: Clock) -> None:
    assert clock.programs.is_current("job", "1")
    clock.programs.register("job", "1", PROGRAM)
    assert not clock.programs.is_current("job", "2")
    clock.now += ENDED_S + 1
    assert clock.programs.is_current("job", "2")


async def test_start_makes_its_run_the_only_one_that_may_report(clock: Clock) -> None:
    clock.programs.register("job", "1", PROGRAM)
    clock.now += FRESH_S + 1
    ended: list[str | None] = []

    async def begin(run_id: str, earlier: str | None) -> None:
        ended.append(earlier)
        assert not clock.programs.is_current("job", "1")
        clock.programs.expect("job", run_id)

    await clock.programs.start("job", "2", begin)
    assert ended == ["1"]
    clock.now += GIVEN_UP_S + 1
    assert clock.programs.current_run("job") == "2"
    await clock.programs.start("job", "3", begin)
    assert ended == ["1", "2"]


@pytest.mark.parametrize(("may_live", "ended"), [(True, ["1"]), (False, [None])])
async def test_a_start_that_fails_may_have_left_a_program(
    clock: Clock, may_live: bool, ended: list[str | None]
) -> None:
    async def fail(run_id: str, _earlier: str | None) -> None:
        clock.programs.expect("job", run_id)
        clock.programs.remove("job", run_id, "It failed.", may_live=may_live)

    seen: list[str | None] = []

    async def begin(_run_id: str, earlier: str | None) -> None:
        seen.append(earlier)

    await clock.programs.start("job", "1", fail)
    assert clock.programs.problem("job") == "It failed."
    await clock.programs.start("job", "2", begin)
    assert seen == ended


async def test_an_earlier_run_that_was_not_ended_stays_known(clock: Clock) -> None:
    clock.programs.register("job", "1", PROGRAM)
    clock.now += FRESH_S + 1

    async def fail(run_id: str, _earlier: str | None) -> None:
        clock.programs.remove("job", run_id, "Slurm did not answer.")

    await clock.programs.start("job", "2", fail)
    assert clock.programs.current_run("job") == "1"


async def test_start_is_shared_until_it_had_its_time(clock: Clock) -> None:
    begun: list[str] = []

    async def begin(_run_id: str, _earlier: str | None) -> None:
        begun.append("job")
        await asyncio.sleep(0)

    await asyncio.gather(*(clock.programs.start("job", "1", begin) for _ in range(3)))
    await clock.programs.start("job", "1", begin)
    assert begun == ["job"]
    clock.now += GIVEN_UP_S + 1
    await clock.programs.start("job", "1", begin)
    assert begun == ["job", "job"]


async def test_start_outlives_the_request_that_began_it(clock: Clock) -> None:
    go, done = asyncio.Event(), asyncio.Event()

    async def begin(_run_id: str, _earlier: str | None) -> None:
        await go.wait()
        done.set()

    first = asyncio.create_task(clock.programs.start("job", "1", begin))
    await asyncio.sleep(0)
    first.cancel()
    second = asyncio.create_task(clock.programs.start("job", "1", begin))
    await asyncio.sleep(0)
    go.set()
    await second
    assert done.is_set()


async def test_start_that_is_refused_raises_and_may_be_repeated(clock: Clock) -> None:
    async def refuse(_run_id: str, _earlier: str | None) -> None:
        raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        await clock.programs.start("job", "1", refuse)
    clock.programs.remove("job", "1", "It was refused.")

    async def begin(_run_id: str, _earlier: str | None) -> None:
        pass

    await clock.programs.start("job", "1", begin)
    assert clock.programs.problem("job") is None
