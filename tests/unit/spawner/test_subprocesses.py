"""Programs whose start is cancelled leave no process and no open pipe."""

import asyncio
import gc
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from spawner import subprocesses

PIPE = asyncio.subprocess.PIPE


async def cancelled_start(steps: int, times: int) -> None:
    """Cancel a start after some of the loop's iterations, then repeatedly."""
    start = subprocesses.start("cat", stdin=PIPE, stdout=PIPE, stderr=PIPE)
    task = asyncio.ensure_future(start)
    for _ in range(steps):
        await asyncio.sleep(0)
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
    await asyncio.wait([task])
    if not task.cancelled():  # it had started before it was cancelled
        await subprocesses.end(task.result())


def open_files() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


@pytest.fixture
def objects_hidden() -> Iterator[None]:
    """Hide other tests' objects from the garbage collector: scanning them takes long."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("objects_hidden")
@pytest.mark.parametrize("times", [1, 2, 5])
@pytest.mark.parametrize("steps", range(8))
def test_a_cancelled_start_leaves_nothing(steps: int, times: int) -> None:
    loop = asyncio.new_event_loop()
    before = open_files()
    loop.run_until_complete(cancelled_start(steps, times))
    left = open_files() - before
    loop.close()  # at once: nothing is left to be done later
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gc.collect()
    assert left == set()


def test_a_program_that_cannot_be_started() -> None:
    with pytest.raises(FileNotFoundError):
        asyncio.run(subprocesses.start("/no/such/program"))


async def end_in_full_output() -> int | None:
    full = "yes | head -c 1000000; cat"
    process = await subprocesses.start("sh", "-c", full, stdin=PIPE, stdout=PIPE)
    await subprocesses.end(process)
    await subprocesses.end(process)
    return process.returncode


def test_ending_reads_what_is_left() -> None:
    assert asyncio.run(end_in_full_output()) == -9


async def cancelled_end(times: int) -> int | None:
    process = await subprocesses.start("cat", stdin=PIPE, stdout=PIPE)
    task = asyncio.ensure_future(subprocesses.end(process))
    for _ in range(times):
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    return process.returncode


@pytest.mark.parametrize("times", [1, 3])
def test_a_cancelled_end_completes(times: int) -> None:
    assert asyncio.run(cancelled_end(times)) == -9


SLOW_TO_DIE = f"memory = b'x' * {300 << 20}; print('there', flush=True); input()"


async def leave_ending() -> asyncio.subprocess.Process:
    """Return while a program is being ended whose memory the kernel frees for some milliseconds."""
    process = await subprocesses.start(sys.executable, "-c", SLOW_TO_DIE, stdin=PIPE, stdout=PIPE)
    assert process.stdout is not None
    await process.stdout.readline()
    task = asyncio.ensure_future(subprocesses.end(process))
    await asyncio.sleep(0)  # the end begins
    await asyncio.sleep(0)  # the program is killed
    assert not task.done()
    return process


def test_an_end_completes_when_the_loop_ends() -> None:
    assert asyncio.run(leave_ending()).returncode == -9
