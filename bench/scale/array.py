"""An array of 10,000 tasks, all of them running, of which a hundred a minute end.

Slurm's part is a file; measured is the portal's: the job's list and page, its events and states.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from bench.api import wait_for_slurm
from bench.cluster_access import Failed, pss_mb
from bench.event_streams import open_stream
from bench.figure import Figure, Result
from bench.load import Load
from bench.rows import BenchLogins, squeue_line
from bench.scale.growth import TENTH, call_figures, summarize_loads
from bench.scale.job_rows import JobScene, fill_jobs
from bench.scale.site import Site, SlurmFiles, running_site
from portal.db import Database

TASKS, ENDED_PER_MINUTE = 10_000, 100
FIRST_TASK_ID = 2_000_000
SECONDS = 8.0  # for each call
EVENT_S = 60.0
NODES = 20


@dataclass
class ArrayRun:
    """The calls' loads while tasks end, the portal's memory, and the seconds from squeue's first
    line with running tasks to the job's event.
    """

    calls: dict[str, Load] = field(default_factory=dict)
    memory_mb: float = 0.0
    started_s: float = 0.0


class ArrayInSlurm:
    """An array in squeue's output; the tasks up to `ended` have completed."""

    def __init__(self, job: dict[str, Any], owner: str, slurm: SlurmFiles) -> None:
        self._job, self._owner, self._slurm = job, owner, slurm
        self._ended = 0

    @property
    def id(self) -> str:
        return str(self._job["id"])

    def show_waiting(self) -> None:
        """Show all tasks in one line, as squeue does before they start."""
        self._slurm.show_jobs(self._line("PENDING", K=f"0-{self._job['array_size'] - 1}"))

    def show_started(self) -> None:
        """Show each task in a line of its own."""
        self._slurm.show_jobs("".join(map(self._task, range(self._job["array_size"]))))

    async def end_tasks(self) -> None:
        """End tasks at the measured rate, until cancelled."""
        while True:
            await asyncio.sleep(60 / ENDED_PER_MINUTE)
            self._ended += 1
            await asyncio.to_thread(self.show_started)

    def _task(self, index: int) -> str:
        state = "COMPLETED" if index < self._ended else "RUNNING"
        return self._line(state, A=str(FIRST_TASK_ID + index), K=str(index))

    def _line(self, state: str, **changes: str) -> str:
        return squeue_line(self._job, self._owner, state, **changes)


async def measure(root: Path) -> Result:
    tenth, full = [await _measure_array(root, size) for size in (TASKS // 10, TASKS)]
    what = f"an array of {TASKS:,} tasks, {ENDED_PER_MINUTE} end a minute"
    figures = call_figures(what, full.calls, tenth.calls)
    figures += [
        Figure("all its tasks start in Slurm → the job's event", full.started_s, "s",
               tenth.started_s, TENTH),
        Figure("the portal's memory (PSS)", full.memory_mb, "MB", tenth.memory_mb, TENTH),
    ]  # fmt: skip
    return Result(tuple(figures), summarize_loads(tenth.calls, full.calls))


async def _measure_array(root: Path, size: int) -> ArrayRun:
    arrays: list[ArrayInSlurm] = []

    async def fill_database(database: Database, slurm: SlurmFiles) -> BenchLogins:
        rows = await fill_jobs(database, JobScene(users=2, queued=1, array_size=size))
        arrays.append(ArrayInSlurm(rows.queued[0], rows.users[0]["username"], slurm))
        arrays[0].show_waiting()
        return rows.logins

    async with running_site(root, fill_database=fill_database, nodes=NODES) as site:
        await wait_for_slurm(site.target("/api/v1/cluster"))
        run = ArrayRun(started_s=await _measure_start(site, arrays[0]))
        ending = asyncio.create_task(arrays[0].end_tasks())
        try:
            run.calls = await site.measure_calls(_list_calls(arrays[0]), SECONDS)
        finally:
            ending.cancel()
        run.memory_mb = pss_mb(site.pid)
        return run


async def _measure_start(site: Site, array: ArrayInSlurm) -> float:
    """Return the seconds until the owner's event stream shows the array as running."""
    shown = asyncio.Event()

    def receive(shown: asyncio.Event, name: bytes, data: bytes) -> None:
        if name == b"job" and array.id.encode() in data and b'"state":"running"' in data:
            shown.set()

    stream = await open_stream(site.target("/api/v1/events"), partial(receive, shown))
    try:
        began = time.monotonic()
        await asyncio.to_thread(array.show_started)
        async with asyncio.timeout(EVENT_S):
            await shown.wait()
        return time.monotonic() - began
    except TimeoutError as error:
        raise Failed(f"no event of the array within {EVENT_S:.0f} s") from error
    finally:
        stream.close()


def _list_calls(array: ArrayInSlurm) -> dict[str, str]:
    return {
        "the list": "/api/v1/jobs",
        "the job's page": f"/api/v1/jobs/{array.id}",
        "the pages' snapshot": "/api/v1/events/snapshot",
    }
