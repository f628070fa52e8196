"""Addresses and starts of the programs that serve SSH in jobs."""

import asyncio
from dataclasses import dataclass, field

import pytest

from portal.services.jobs.ssh_programs import FRESH_S, START_S, JobSshProgram, JobSshPrograms

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
    assert clock.programs.register("job", PROGRAM)
    assert not clock.programs.register("job", PROGRAM)
    assert clock.programs.find("job", "node01") == PROGRAM
    assert clock.programs.find("job", "node02") is None
    assert clock.programs.find("other", "node01") is None


def test_find_forgets_a_program_that_reports_no_longer(clock: Clock) -> None:
    clock.programs.register("job", PROGRAM)
    clock.now += FRESH_S
    assert clock.programs.find("job", "node01") == PROGRAM
    clock.now += 1
    assert clock.programs.find("job", "node01") is None


def test_remove_keeps_the_reason_until_a_program_reports(clock: Clock) -> None:
    clock.programs.register("job", PROGRAM)
    clock.programs.remove("job", "The disk is full.")
    assert clock.programs.find("job", "node01") is None
    assert clock.programs.problem("job") == "The disk is full."
    clock.programs.register("job", PROGRAM)
    assert clock.programs.problem("job") is None
    clock.programs.remove("job", None)
    assert clock.programs.problem("job") is None


async def test_start_is_shared_until_it_had_its_time(clock: Clock) -> None:
    begun: list[str] = []

    async def begin() -> None:
        begun.append("job")
        await asyncio.sleep(0)

    await asyncio.gather(*(clock.programs.start("job", begin) for _ in range(3)))
    await clock.programs.start("job", begin)
    assert begun == ["job"]
    clock.now += START_S + 1
    await clock.programs.start("job", begin)
    assert begun == ["job", "job"]


async def test_start_outlives_the_request_that_began_it(clock: Clock) -> None:
    go, done = asyncio.Event(), asyncio.Event()

    async def begin() -> None:
        await go.wait()
        done.set()

    first = asyncio.create_task(clock.programs.start("job", begin))
    await asyncio.sleep(0)
    first.cancel()
    second = asyncio.create_task(clock.programs.start("job", begin))
    await asyncio.sleep(0)
    go.set()
    await second
    assert done.is_set()


async def test_start_that_is_refused_raises_and_may_be_repeated(clock: Clock) -> None:
    async def refuse() -> None:
        raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        await clock.programs.start("job", refuse)
    clock.programs.remove("job", "It was refused.")

    async def begin() -> None:
        pass

    await clock.programs.start("job", begin)
    assert clock.programs.problem("job") is None
