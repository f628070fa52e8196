"""A home with a million files, and a log of 100 GB.

The log is sparse: it has its size, but takes no space. The files program and the launcher are
started as an unprivileged user, by a program in place of sudo. Needs root.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import insert

from bench.api import wait_for_slurm
from bench.cluster_access import Failed, pss_mb
from bench.event_streams import open_stream
from bench.figure import Figure, Result, median
from bench.load import Load, Target, hammer
from bench.rows import BenchLogins, login_row, squeue_line, user_rows
from bench.scale.growth import TENTH, call_figures, summarize_loads
from bench.scale.job_rows import batch_row, insert_batch_jobs
from bench.scale.site import Site, SlurmFiles, running_site
from portal.db import Database
from portal.models import JobState, User, WebSession, new_id
from spawner.launcher.folders import JOBS_FOLDER
from tests.portal.file_portal import ground

OWNER = "alice"  # one of those that the program in place of sudo knows
FILES_PER_FOLDER = 1_000
CONNECTIONS, SECONDS, WARM_S, PAUSE_S = 4, 5.0, 1.0, 0.05
LINES, LINE_S = 10, 20.0
PIECE = 1 << 20
NODES = 20


class HomeSize(NamedTuple):
    files: int
    log_bytes: int


FULL = HomeSize(1_000_000, 100 * 10**9)
SMALL = HomeSize(100_000, 10 * 10**9)


@dataclass
class FilesRun:
    calls: dict[str, Load] = field(default_factory=dict)
    line_s: list[float] = field(default_factory=list)
    memory_mb: float = 0.0


@dataclass(frozen=True)
class FilledHome:
    """A user's home below `root`, the programs that act as the user, and the log of their job."""

    sudo: Path
    launcher: Path
    home: Path
    job_id: str

    @property
    def log(self) -> Path:
        return self.home / JOBS_FOLDER / self.job_id / "stdout.log"


async def measure(root: Path) -> Result:
    if os.geteuid() != 0:
        raise Failed("files of another user need root")
    tenth, full = await _measure_home(root, SMALL), await _measure_home(root, FULL)
    what = f"{FULL.files:,} files, a log of {FULL.log_bytes // 10**9} GB"
    figures = call_figures(what, full.calls, tenth.calls)
    figures += [
        Figure("a line is written → its event, median", median(full.line_s), "s",
               median(tenth.line_s), TENTH),
        Figure("the portal's memory (PSS)", full.memory_mb, "MB", tenth.memory_mb, TENTH),
    ]  # fmt: skip
    return Result(tuple(figures), summarize_loads(tenth.calls, full.calls))


async def _measure_home(root: Path, size: HomeSize) -> FilesRun:
    with filled_home(root.with_name(f"{root.name}-homes"), size) as filled:
        async with running_site(
            root,
            fill_database=lambda database, slurm: _fill(database, slurm, filled.job_id),
            nodes=NODES,
            sudo_path=filled.sudo,
            launcher_path=filled.launcher,
        ) as site:
            await wait_for_slurm(site.target("/api/v1/cluster"))
            run = FilesRun(line_s=await _follow(site, filled))
            for name, target in _list_targets(site, filled.job_id, size).items():
                run.calls[name] = await hammer(target, CONNECTIONS, SECONDS, PAUSE_S, WARM_S)
            run.calls["a search for an absent name"] = await hammer(
                site.target("/api/v1/files/search?root=home&q=absent"), 1, SECONDS
            )
            run.memory_mb = pss_mb(site.pid)
            return run


@contextmanager
def filled_home(root: Path, size: HomeSize) -> Iterator[FilledHome]:
    """Create the home, and remove it with the block."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    try:
        sudo, launcher, homes = ground(root)
        filled = FilledHome(sudo, launcher, homes / OWNER, new_id())
        for number in range(size.files // FILES_PER_FOLDER):
            folder = filled.home / f"folder-{number:04}"
            folder.mkdir()
            for file in range(FILES_PER_FOLDER):
                (folder / f"file-{file:04}.txt").touch()
        filled.log.parent.mkdir(parents=True)
        for log in (filled.log, filled.home / "big.log"):
            log.touch()
            os.truncate(log, size.log_bytes)
            append(log, "the last line\n" * 10_000)
        owner = filled.home.stat()
        for path in (filled.log, *filled.log.relative_to(filled.home).parents):
            os.chown(filled.home / path, owner.st_uid, owner.st_gid)
        yield filled
    finally:
        shutil.rmtree(root)


def append(log: Path, text: str) -> None:
    with log.open("a") as file:
        file.write(text)


async def _fill(database: Database, slurm: SlurmFiles, job_id: str) -> BenchLogins:
    """Add the user with a running job, and an administrator."""
    users = user_rows(2)
    users[0]["username"] = OWNER
    job: dict[str, Any] = {**batch_row(users[0], "logs", 1), "id": job_id}
    logins = BenchLogins("user's token", "administrator's token")
    async with database.engine.begin() as connection:
        await connection.execute(insert(User), users)
        rows = [login_row(logins.user_token, users[0]), login_row(logins.admin_token, users[1])]
        await connection.execute(insert(WebSession), rows)
        running = {**job, "state": JobState.RUNNING, "started_at": job["submit_time"]}
        await insert_batch_jobs(connection, [running])
    slurm.show_jobs(squeue_line(job, OWNER, "RUNNING"))
    return logins


def _list_targets(site: Site, job_id: str, size: HomeSize) -> dict[str, Target]:
    middle, log = size.log_bytes // 2, f"/api/v1/jobs/{job_id}/log"
    part = {"Range": f"bytes={middle}-{middle + PIECE - 1}"}
    return {
        "the home's listing": site.target("/api/v1/files"),
        "a folder's listing": site.target("/api/v1/files?path=folder-0001&q=file-07"),
        "the end of the log": site.target(f"{log}?offset=-65536"),
        "a piece from its middle": site.target(f"{log}?offset={middle}"),
        "1 MiB downloaded from its middle": site.target(
            "/api/v1/files/download?root=home&path=big.log", headers=part
        ),
    }


async def _follow(site: Site, filled: FilledHome) -> list[float]:
    """Return the seconds from each written line to its event in the followed log."""
    arrived: asyncio.Queue[str] = asyncio.Queue()

    def receive(name: bytes, data: bytes) -> None:
        if name == b"log":
            arrived.put_nowait(json.loads(data)["text"])

    path = f"/api/v1/jobs/{filled.job_id}/log/follow?offset=-65536"
    stream = await open_stream(site.target(path), receive)
    delays = []
    try:
        for number in range(LINES):
            line, began = f"line {number} of those that are followed\n", time.monotonic()
            await asyncio.to_thread(append, filled.log, line)
            async with asyncio.timeout(LINE_S):
                while line not in await arrived.get():
                    pass
            delays.append(time.monotonic() - began)
    finally:
        stream.close()
    return delays
