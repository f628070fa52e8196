"""Thousands of open event streams while jobs change their state.

Each stream is another user's. A hundred jobs a minute start to run: the cluster's state changes for
every stream, and each job's for its owner's, who must learn of it within seconds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.api import wait_for_slurm
from bench.cluster_access import Failed, pss_mb
from bench.event_streams import EventStream, open_stream
from bench.figure import Figure, Result, at_most, median
from bench.load import Load, hammer
from bench.rows import BenchLogins
from bench.scale.growth import TENTH, latency_figures, summarize_loads
from bench.scale.job_rows import JobScene, JobSite, fill_jobs
from bench.scale.site import Site, SlurmFiles, running_site
from portal.db import Database
from spawner.tasks import end_all

STREAMS = 3_000
JOBS, CHANGES_PER_MINUTE = 100, 100
WINDOW_S, ARRIVAL_S, SETTLE_S = 20.0, 30.0, 10.0
OPENED_AT_ONCE, REPEATED = 50, 2
CALL, CONNECTIONS, PAUSE_S, WARM_S = "/api/v1/jobs", 4, 0.05, 1.0
BUDGET_MS = 200


@dataclass
class StreamRun:
    """Others' calls without and with the streams, the portal's memory (`after_mb`: each time that
    the streams have been closed), its processors in use, the streams opened per second, and how
    late the jobs' owners learned of a change.
    """

    alone: Load
    calls: Load
    before_mb: float
    during_mb: float
    processor: float
    opened_per_s: float
    after_mb: list[float] = field(default_factory=list)
    delays_s: list[float] = field(default_factory=list)


class ChangingJobs:
    """Jobs that start to run in Slurm, one after another, and the events that report it."""

    def __init__(self, rows: JobSite, slurm: SlurmFiles) -> None:
        self._rows, self._slurm = rows, slurm
        self._states: dict[str, str] = {}
        self._changed_at: dict[str, float] = {}
        self.delays_s: list[float] = []

    async def run(self, seconds: float) -> None:
        """Let jobs start at the measured rate; the next ones at the next call."""
        until = time.monotonic() + seconds
        waiting = [row for row in self._rows.queued if row["id"] not in self._states]
        for row in waiting:
            await asyncio.sleep(60 / CHANGES_PER_MINUTE)
            if time.monotonic() >= until:
                return
            self._states[row["id"]] = "RUNNING"
            self._slurm.show_jobs(self._rows.squeue(self._states))
            self._changed_at[row["id"]] = time.monotonic()
        raise Failed("all jobs have started")

    def receive(self, name: bytes, data: bytes) -> None:
        """Note the arrival of a job's change at its owner's stream."""
        if name != b"job" or b'"state":"running"' not in data:
            return
        for job_id, changed_at in list(self._changed_at.items()):
            if job_id.encode() in data:
                self.delays_s.append(time.monotonic() - changed_at)
                del self._changed_at[job_id]

    async def wait_until_received(self) -> None:
        """Raise Failed if a change does not arrive in time."""
        until = time.monotonic() + ARRIVAL_S
        while self._changed_at:
            if time.monotonic() > until:
                raise Failed(f"{len(self._changed_at)} changes did not reach their owners")
            await asyncio.sleep(0.1)


async def measure(root: Path) -> Result:
    tenth = await _measure_run(root, STREAMS // 10, repeat=REPEATED)
    full = await _measure_run(root, STREAMS, repeat=0)
    what = f"{STREAMS:,} event streams, {CHANGES_PER_MINUTE} jobs a minute change"
    figures = (
        *latency_figures(f"{what}: others' calls", full.calls, tenth.calls, at_most(BUDGET_MS)),
        Figure("the same without streams: p99", full.alone.p99_ms, "ms", tenth.alone.p99_ms, TENTH),
        *_list_figures(full, tenth),
        *_list_memory_figures(full, tenth),
    )
    loads = summarize_loads(
        {"alone": tenth.alone, "calls": tenth.calls}, {"alone": full.alone, "calls": full.calls}
    )
    delays = {"tenth": tenth.delays_s, "full": full.delays_s}
    return Result(figures, {**loads, "delays_s": delays, "after_mb": tenth.after_mb})


def _list_figures(full: StreamRun, tenth: StreamRun) -> list[Figure]:
    delays = median(full.delays_s), median(tenth.delays_s)
    opened = full.opened_per_s, tenth.opened_per_s
    return [
        Figure("a job's change in Slurm → its event, median", delays[0], "s", delays[1], TENTH),
        Figure("the portal's processors in use", full.processor, "", tenth.processor, TENTH),
        Figure("streams opened, 50 at once", opened[0], "/s", opened[1], TENTH),
    ]


def _list_memory_figures(full: StreamRun, tenth: StreamRun) -> list[Figure]:
    what = "the portal's memory (PSS)"
    again = f"{what} after {STREAMS // 10} streams, {1 + REPEATED} times"
    return [
        Figure(f"{what} before", full.before_mb, "MB", tenth.before_mb, TENTH),
        Figure(f"{what} with the streams", full.during_mb, "MB", tenth.during_mb, TENTH),
        Figure(f"{what} after they closed", full.after_mb[0], "MB", tenth.after_mb[0], TENTH),
        Figure(again, tenth.after_mb[-1], "MB", tenth.after_mb[0], "after the first time"),
    ]


async def _measure_run(root: Path, count: int, repeat: int) -> StreamRun:
    rows: list[JobSite] = []

    async def fill_database(database: Database, slurm: SlurmFiles) -> BenchLogins:
        rows.append(await fill_jobs(database, JobScene(count, queued=JOBS)))
        slurm.show_jobs(rows[0].squeue())
        return rows[0].logins

    async with running_site(root, fill_database=fill_database) as site:
        await wait_for_slurm(site.target("/api/v1/cluster"))
        jobs = ChangingJobs(rows[0], site.slurm)
        run = await _measure_streams(site, rows[0].tokens, jobs)
        for _ in range(1 + repeat):
            await asyncio.sleep(SETTLE_S)
            run.after_mb.append(pss_mb(site.pid))
            if len(run.after_mb) <= repeat:
                async with _open_streams(site, rows[0].tokens, jobs):
                    await asyncio.sleep(1)
        return run


async def _measure_streams(site: Site, tokens: list[str], jobs: ChangingJobs) -> StreamRun:
    alone, before_mb, began_s = await _call(site), pss_mb(site.pid), time.monotonic()
    async with _open_streams(site, tokens, jobs):
        opened_per_s = len(tokens) / (time.monotonic() - began_s)
        before_s = site.processor_s()
        calls, _ = await asyncio.gather(_call(site), jobs.run(WINDOW_S))
        processor = (site.processor_s() - before_s) / WINDOW_S
        await jobs.wait_until_received()
        during_mb = pss_mb(site.pid)
    run = StreamRun(alone, calls, before_mb, during_mb, processor, opened_per_s)
    run.delays_s = jobs.delays_s
    return run


async def _call(site: Site) -> Load:
    return await hammer(site.target(CALL), CONNECTIONS, WINDOW_S, PAUSE_S, WARM_S)


@asynccontextmanager
async def _open_streams(site: Site, tokens: list[str], jobs: ChangingJobs) -> AsyncIterator[None]:
    """Open a stream for each token, some at once, and close them with the block. Raises Failed if
    the portal closes one of them before.
    """
    streams: list[EventStream] = []
    limit = asyncio.Semaphore(OPENED_AT_ONCE)

    async def open_one(token: str) -> None:
        async with limit:
            streams.append(await open_stream(site.target("/api/v1/events", token), jobs.receive))

    opening = [asyncio.create_task(open_one(token)) for token in tokens]
    try:
        await asyncio.gather(*opening)
        yield
        lost = sum(stream.lost for stream in streams)
        if lost:
            raise Failed(f"the portal closed {lost} of {len(streams)} streams")
    finally:
        await end_all(opening)
        for stream in streams:
            stream.close()
