"""30,000 queued and 1,000,000 past jobs: lists, searches, a year's usage and a comparison.

A tenth of the jobs are the caller's own. SQLite and PostgreSQL are measured separately.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import insert

from bench.api import wait_for_slurm
from bench.cluster_access import Failed, pss_mb
from bench.figure import Figure, Result, at_most
from bench.load import Load
from bench.rows import BenchLogins
from bench.scale.growth import TENTH, call_figures, summarize_loads
from bench.scale.job_rows import JobScene, JobSite, fill_jobs
from bench.scale.site import SlurmFiles, running_site
from portal.db import Database, utcnow
from portal.models import UsageDay, UsageRead
from tests.servers import postgresql

USERS, QUEUED, ENDED = 500, 30_000, 1_000_000
COMPARED = 8  # as many as the page compares
SECONDS = 3.0  # for each call
BUDGET_MS = 100
DAYS, CHUNK = 365, 10_000
NODES = 20  # the nodes' part is measured by `api`


@dataclass
class HistoryRun:
    """The calls' loads, and the seconds to fill the database and the portal's memory after."""

    calls: dict[str, Load] = field(default_factory=dict)
    fill_s: float = 0.0
    memory_mb: float = 0.0


async def measure_sqlite(root: Path) -> Result:
    return await _measure(root, "SQLite", lambda _name: {})


async def measure_postgresql(root: Path) -> Result:
    if not postgresql.PROGRAMS:
        raise Failed("PostgreSQL isn't installed")
    with postgresql.running() as server:
        return await _measure(
            root, "PostgreSQL", lambda name: {"database_url": server.make(f"portal_{name}")}
        )


Changes = Callable[[str], dict[str, Any]]
"""Returns the settings of a run's database, from the run's name."""


async def _measure(root: Path, database: str, changes: Changes) -> Result:
    tenth = await _measure_calls(root, 10, changes("tenth"))
    full = await _measure_calls(root, 1, changes("full"))
    what = f"{QUEUED:,} queued, {ENDED:,} past jobs on {database}"
    figures = call_figures(what, full.calls, tenth.calls, at_most(BUDGET_MS))
    memory = Figure("the portal's memory (PSS) then", full.memory_mb, "MB", tenth.memory_mb, TENTH)
    detail = {"fill_s": {"tenth": tenth.fill_s, "full": full.fill_s}}
    return Result((*figures, memory), {**detail, **summarize_loads(tenth.calls, full.calls)})


def _list_calls(rows: JobSite) -> dict[str, str]:
    """Return the addresses behind the pages, by what they show."""
    last = utcnow().date()
    span = f"from={last - timedelta(days=DAYS - 1)}&to={last}"
    compared = "&".join(f"id={row['id']}" for row in rows.queued[: 10 * COMPARED : 10])
    return {
        "the list": "/api/v1/jobs",
        "the list by duration": "/api/v1/jobs?order=duration",
        "the list by a parameter": f"/api/v1/jobs?order=value&by={quote('param:lr')}",
        "a search that finds many": "/api/v1/jobs?q=past-",
        "a search that finds nothing": "/api/v1/jobs?q=absent",
        "the counts": "/api/v1/jobs/count",
        "a comparison": f"/api/v1/jobs/compare?{compared}",
        "the pages' snapshot": "/api/v1/events/snapshot",
        "the queue": "/api/v1/cluster/queue",
        "a year's usage of all": f"/api/v1/admin/usage?by=user&{span}",
        "a year's usage by day": f"/api/v1/admin/usage/history?by=user&step=day&{span}",
    }


async def _measure_calls(root: Path, divisor: int, changes: dict[str, Any]) -> HistoryRun:
    run, rows, began = HistoryRun(), list[JobSite](), time.monotonic()

    async def fill_database(database: Database, slurm: SlurmFiles) -> BenchLogins:
        scene = JobScene(USERS, queued=QUEUED // divisor, ended=ENDED // divisor)
        rows.append(await fill_jobs(database, scene))
        await _fill_usage(database, rows[0].users)
        slurm.show_jobs(rows[0].squeue())
        run.fill_s = time.monotonic() - began
        return rows[0].logins

    async with running_site(root, fill_database=fill_database, nodes=NODES, **changes) as site:
        await wait_for_slurm(site.target("/api/v1/cluster"))
        run.calls = await site.measure_calls(_list_calls(rows[0]), SECONDS)
        run.memory_mb = pss_mb(site.pid)
        return run


async def _fill_usage(database: Database, users: list[dict[str, Any]]) -> None:
    """Add a year's usage of all users. Accounting of these days was read just now."""
    last, now = utcnow().date(), utcnow()
    days = [last - timedelta(days=number) for number in range(DAYS)]
    async with database.engine.begin() as connection:
        reads = [{"day": day, "read_at": now} for day in days]
        await connection.execute(insert(UsageRead), reads)
        remaining = _usage_rows(users, days)
        while chunk := list(islice(remaining, CHUNK)):
            await connection.execute(insert(UsageDay), chunk)


def _usage_rows(users: list[dict[str, Any]], days: list[date]) -> Iterator[dict[str, Any]]:
    for day in days:
        for number, user in enumerate(users):
            yield {
                "day": day,
                "username": user["username"],
                "account": "research",
                "gpu_seconds": 60 * number,
                "cpu_seconds": 3600,
                "jobs": 5,
            }
