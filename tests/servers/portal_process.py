"""`portal serve` as a process, with a fake Slurm that several portals share: a folder.

    python -m tests.servers.portal_process FOLDER [options of `portal serve`]

FOLDER has a file for each job in Slurm, and `asked`, with a line for each submission. While a file
`hold-before` exists, submissions wait before Slurm accepts them; with `hold-after`, afterwards.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from portal import context
from portal.__main__ import main
from spawner.slurm.model import JobInfo, JobPhase, JobSpec
from spawner.slurm.watcher import Watcher
from tests.fakes.accounting import FakeAccounting
from tests.portal.job_portal import OFTEN, FakeLaunchers, FakeSlurm

FIRST = 100


class FolderSlurm(FakeSlurm):
    """A Slurm whose squeue shows the folder's jobs."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    async def jobs(self) -> list[JobInfo]:
        return [_info(file) for file in sorted(self.folder.glob("job-*"))]

    async def cancel(self, job_id: int, user: str | None) -> None:
        with (self.folder / "cancelled").open("a") as out:
            out.write(f"{job_id}\n")


class FolderLaunchers(FakeLaunchers):
    """Launchers whose sbatch adds a job to the folder, also concurrently with other portals."""

    def __init__(self, folder: Path) -> None:
        super().__init__(FolderSlurm(folder))
        self.folder = folder

    async def submit(self, username: str, spec: JobSpec, files: Mapping[str, str]) -> int:
        with (self.folder / "asked").open("a") as out:
            out.write(f"{os.getpid()} {spec.uuid}\n")
        await self._held("hold-before")
        job_id = self._put(
            {
                "user": username, "name": spec.name, "uuid": spec.uuid,
                "submit_time": datetime.now(UTC).replace(microsecond=0).isoformat(),
            }
        )  # fmt: skip
        await self._held("hold-after")
        return job_id

    def _put(self, job: dict[str, Any]) -> int:
        fresh = self.folder / f"fresh-{job['uuid']}-{os.getpid()}"
        fresh.write_text(json.dumps(job))
        job_id = FIRST
        while True:
            try:
                os.link(fresh, self.folder / f"job-{job_id}")
            except FileExistsError:
                job_id += 1
            else:
                return job_id

    async def _held(self, name: str) -> None:
        while (self.folder / name).exists():
            await asyncio.sleep(0.02)


def _info(file: Path) -> JobInfo:
    job = json.loads(file.read_text())
    return JobInfo(
        int(file.name.removeprefix("job-")), job["user"], job["name"], JobPhase.QUEUED, "PENDING",
        uuid=job["uuid"], submit_time=datetime.fromisoformat(job["submit_time"]),
        reason="Priority",
    )  # fmt: skip


def in_slurm(folder: Path) -> Counter[str]:
    """Return how often Slurm has each of the portal's jobs."""
    return Counter(json.loads(file.read_text())["uuid"] for file in sorted(folder.glob("job-*")))


def play(folder: Path) -> None:
    """Replace the portal's connections to the cluster by the folder."""
    played: dict[str, Any] = {
        "Slurm": lambda *_, **__: FolderSlurm(folder),
        "Accounting": lambda *_, **__: FakeAccounting(),
        "LauncherPool": lambda *_, **__: FolderLaunchers(folder),
        "Watcher": partial(Watcher, pace=OFTEN),
    }
    for name, value in played.items():
        setattr(context, name, value)


if __name__ == "__main__":
    play(Path(sys.argv[1]))
    sys.argv[1:] = ["serve", *sys.argv[2:]]
    main()
