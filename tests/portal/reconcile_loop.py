"""The reconcile loop on a separate database, with a fake Slurm that shows a given squeue output."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from portal.background.notifier import Notifier
from portal.background.reconciler import Reconciler
from portal.context import pass_always
from portal.db import Database, utcnow
from portal.metrics import Metrics
from portal.models import BatchJob, Job, JobState, User, Wanted, new_id
from portal.services.store import update_row
from spawner.errors import JobNotFound, LauncherUnavailable, Unreachable
from spawner.slurm.model import JobInfo, JobPhase, JobSpec, JobUsage
from spawner.slurm.watcher import Watcher
from tests.servers.databases import database_of


@dataclass
class Slurm:
    """squeue's jobs, and the cancelled ones. `away`: Slurm does not answer."""

    shown: dict[int, JobInfo] = field(default_factory=dict)
    cancelled: list[int] = field(default_factory=list)
    cancelled_of: list[str | None] = field(default_factory=list)  # the users passed to scancel
    killed: list[int] = field(default_factory=list)
    away: bool = False
    kept_for: timedelta = timedelta(0)  # MinJobAge
    started: datetime | None = None
    measured: list[JobUsage] = field(default_factory=list)

    async def jobs(self) -> list[JobInfo]:
        if self.away:
            raise Unreachable("away")
        return list(self.shown.values())

    async def accounting(self, since: datetime, job_ids: Any = None, **_: Any) -> list[JobInfo]:
        return []

    async def backlog(self) -> int:
        return 0

    async def find(self, *job_ids: int) -> list[JobInfo]:
        return [info for info in await self.jobs() if info.job_id in job_ids]

    async def min_job_age(self) -> timedelta:
        return self.kept_for

    async def started_at(self) -> datetime | None:
        return self.started

    async def usage(self, _since: Any) -> list[JobUsage]:
        return self.measured

    async def cancel(self, job_id: int, user: str | None) -> None:
        found = await self.find(job_id)
        if not found or user not in {None, *(info.user for info in found)}:
            raise JobNotFound("gone")
        self.cancelled.append(job_id)
        self.cancelled_of.append(user)

    async def kill(self, job_id: int, user: str | None) -> None:
        self.killed.append(job_id)
        await self.cancel(job_id, user)


@dataclass
class ClaimLaunchers:
    """Fake launchers. `claimed`: jobs that have begun; `broken`: no launcher can be started; the
    next submitted job gets the id `next_id`.
    """

    claimed: set[str] = field(default_factory=set)
    withdrawn: list[str] = field(default_factory=list)
    submitted: list[str] = field(default_factory=list)
    broken: bool = False
    next_id: int = 100

    async def submit(self, _username: str, spec: JobSpec, _files: Any) -> int:
        self.submitted.append(spec.uuid)
        return self.next_id

    async def is_unclaimed(self, _username: str, uuid: str) -> bool:
        if self.broken:
            raise LauncherUnavailable("broken")
        return uuid not in self.claimed

    async def withdraw(self, _username: str, uuid: str) -> bool:
        if self.broken:
            raise LauncherUnavailable("broken")
        self.withdrawn.append(uuid)
        return uuid not in self.claimed


class ReconcileHarness:
    """A loop on its own database; `reads` are the ids of the jobs it has loaded."""

    context: Any

    def __init__(self, db: Database) -> None:
        self.db, self.slurm, self.launchers = db, Slurm(), ClaimLaunchers()
        asked: Any = self.slurm  # has only the methods used here
        self.watcher = Watcher(asked)
        self.notifier = Notifier()
        self.reads: list[str] = []
        settings = SimpleNamespace(
            cluster_name="c",
            call_home_minutes=3,
            hub_give_up_minutes=5,
            tensorboard_idle_minutes=30,
            slurm_timeout_s=10.0,
        )
        self.context = SimpleNamespace(
            db=db, slurm=self.slurm, launchers=self.launchers, watcher=self.watcher,
            notifier=self.notifier, settings=settings, submitting={}, tensorboard_heartbeats={},
            metrics=Metrics(), block_unless_leader=pass_always,
        )  # fmt: skip
        self.loop = Reconciler(self.context)
        self.now = utcnow()

    async def start(self) -> None:
        self.user = User(username="alice")
        async with self.db.session() as db:
            db.add(self.user)
            await db.commit()
        await self.look()

    async def look(self) -> None:
        await self.watcher.refresh()

    async def add(self, kind: type[Job] = BatchJob, **columns: Any) -> str:
        made: dict[str, Any] = {
            "id": new_id(), "user_id": self.user.id, "name": new_id(), "state": JobState.QUEUED,
            "resources": {}, "created_at": datetime(2026, 1, 1, tzinfo=UTC),
        }  # fmt: skip
        if kind is BatchJob:
            made |= {"owner_id": self.user.id, "parameters": {}, "files": {}, "nodes": []}
        row = kind(**(made | columns))
        async with self.db.session() as db:
            db.add(row)
            await db.commit()
        return row.id

    async def queued(self, count: int) -> list[str]:
        """Add queued jobs, both to the database and to squeue."""
        ids = [await self.add(job_id=number) for number in range(1, count + 1)]
        for number, row_id in enumerate(ids, start=1):
            self.show(number, row_id)
        await self.look()
        return ids

    def show(self, job_id: int, uuid: str, state: JobPhase = JobPhase.QUEUED) -> None:
        nodes = () if state is JobPhase.QUEUED else ("node01",)
        self.slurm.shown[job_id] = JobInfo(
            job_id, "alice", "x", state, state.upper(), uuid=uuid, nodes=nodes,
            submit_time=datetime(2026, 1, 1, tzinfo=UTC), reason="Priority",
        )  # fmt: skip

    async def round(self, after: timedelta = timedelta(0)) -> set[str]:
        """Run rounds until none is pending; return the ids of the processed jobs."""
        self.now = max(self.now + after, utcnow() + after)
        self.reads.clear()
        await self.loop.round(self.now)
        while self.loop._pending.has_more:
            await self.loop.round(self.now)
        return set(self.reads)

    async def acts(self) -> None:
        """Wait until no background task is running."""
        while running := list(self.loop._tasks._running.values()):
            await asyncio.gather(*running)

    async def row(self, row_id: str) -> Any:
        async with self.db.session() as db:
            return await db.get(BatchJob, row_id)

    async def write(self, row_id: str, apply: Callable[[Any], None]) -> None:
        await update_row(self.db, BatchJob, row_id, apply)


@asynccontextmanager
async def looping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[ReconcileHarness]:
    db = Database(database_of(tmp_path))
    await db.migrate()
    made = ReconcileHarness(db)
    observe = made.loop._observe

    async def counted(ids: list[str], now: datetime) -> list[Job]:
        made.reads.extend(ids)
        return await observe(ids, now)

    async def nothing(*_: Any) -> None:
        """Accounting and jobs from outside are not tested here."""

    monkeypatch.setattr(made.loop, "_observe", counted)
    monkeypatch.setattr(made.loop, "_run_bulk_work", nothing)
    await made.start()
    yield made
    await made.loop.close()
    await db.close()


def stop(row: Any) -> None:
    row.wanted, row.state = Wanted.STOP, JobState.STOPPING
