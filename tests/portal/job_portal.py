"""A real portal, database and slapd, with a fake Slurm and fake launchers of named behaviors."""

from __future__ import annotations

import asyncio
import textwrap
import time
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest
from sqlalchemy import insert, select

from portal.models import Job, JobKind, JobState, User, new_id
from spawner.errors import HomeUnavailable, JobNotFound, Rejected, SpawnerError, Unreachable
from spawner.launcher.connection import UserInfo
from spawner.launcher.file_answers import CurveColumns, FolderCurves
from spawner.slurm.call_budget import Pace
from spawner.slurm.model import (
    JobInfo,
    JobPhase,
    JobSpec,
    JobUsage,
    NodeInfo,
    PartitionInfo,
    ReservationInfo,
    Resources,
)
from spawner.slurm.watcher import Watcher
from tests.fakes.accounting import FakeAccounting
from tests.polling import until
from tests.portal.conftest import Answer, Browser, Portal, running_portal, settings_in
from tests.servers.slapd import Slapd

Mood = Literal["takes", "refuses", "silent", "hangs", "no home"]
USERS = ("alice", "bob", "carol")
OFTEN = Pace(0.5, 0.2, rest_per_minute=6000, hurried_per_minute=6000, burst=1000)

ENVIRONMENT = """
title: Plain
language: python
version: "3"
runtime: virtualenv
prefix: {prefix}
"""

TEMPLATE = """
title: Every kind
description: A parameter of each kind.
environment: plain
parameters:
  text: {type: string, title: Text, default: a}
  whole: {type: integer, title: Whole, minimum: 1, maximum: 9, default: 1}
  number: {type: number, title: Number, exclusiveMinimum: 0, maximum: 1, default: 0.5}
  flag: {type: boolean, title: Flag, default: false}
  choice: {type: string, title: Choice, enum: [one, two], default: one}
  words: {type: array, title: Words, items: {type: string}, default: []}
script: |
  printf '<%s>' "$text" "${words[@]}"
"""


NODES = (
    NodeInfo("node01", "127.0.0.1", "IDLE", ("gpu",), 32, 0, 65536, 0, {"v100": 4}),
    NodeInfo("node03", "127.0.0.3", "IDLE", ("cpu",), 8, 0, 16384),
)
PARTITIONS = (
    PartitionInfo("cpu", True, "UP", 1440, 60, ("node03",)),
    PartitionInfo("gpu", False, "UP", 2880, 60, ("node01",)),
)


@dataclass
class FakeSlurm:
    """`shown` is squeue's output, `all_nodes` and `all_partitions` are scontrol's. `away`: Slurm
    does not answer.
    """

    shown: dict[int, JobInfo] = field(default_factory=dict)
    cancelled: list[int] = field(default_factory=list)
    reserved: list[ReservationInfo] = field(default_factory=list)
    away: bool = False
    kept_for: timedelta = timedelta(0)  # MinJobAge
    all_nodes: tuple[NodeInfo, ...] = NODES
    all_partitions: tuple[PartitionInfo, ...] = PARTITIONS

    async def jobs(self) -> list[JobInfo]:
        self._there()
        return list(self.shown.values())

    async def accounting(
        self,
        since: datetime,
        job_ids: Collection[int] | None = None,
        *,
        until: datetime | None = None,
        user: str | None = None,
    ) -> list[JobInfo]:
        self._there()
        return []

    async def controller_time(self) -> float | None:
        self._there()
        return time.time()

    async def backlog(self) -> int:
        self._there()
        return 0

    async def usage(self, job_ids: Collection[int]) -> list[JobUsage]:
        self._there()
        return []

    async def nodes(self) -> tuple[NodeInfo, ...]:
        return self.all_nodes

    async def partitions(self) -> tuple[PartitionInfo, ...]:
        return self.all_partitions

    async def reservations(self) -> tuple[ReservationInfo, ...]:
        self._there()
        return tuple(self.reserved)

    async def find(self, *job_ids: int) -> list[JobInfo]:
        return [info for info in await self.jobs() if info.job_id in job_ids]

    async def min_job_age(self) -> timedelta:
        return self.kept_for

    async def cancel(self, job_id: int, user: str | None) -> None:
        found = await self.find(job_id)
        if not found or user not in {None, *(info.user for info in found)}:
            raise JobNotFound("gone")
        self.cancelled.append(job_id)

    async def kill(self, job_id: int, user: str | None) -> None:
        await self.cancel(job_id, user)

    async def version(self) -> str:
        return "22.05.8"

    async def check_accounting(self) -> None:
        self._there()

    async def admin_level(self, account: str) -> str:
        self._there()
        return "Operator"

    def _there(self) -> None:
        if self.away:
            raise Unreachable("Slurm did not answer.")


@dataclass
class FakeLaunchers:
    """Fake launchers.

    `mood` is the fate of a submission; `hung` are the waiting ones; `submitted` the completed ones.
    `files` are readable files by path; `logged` is the content of folders; `trouble_reading` is the
    failure of either; `without_home` are users whose home is missing. `starts` are forecasts, by
    GPUs and partition.
    """

    slurm: FakeSlurm
    mood: Mood = "takes"
    hung: list[str] = field(default_factory=list)
    submitted: list[tuple[str, JobSpec, Mapping[str, str]]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    logged: dict[str, dict[str, float | None]] = field(default_factory=dict)
    trouble_reading: SpawnerError | None = None
    withdrawn: list[str] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    without_home: set[str] = field(default_factory=set)
    dismissed: list[str] = field(default_factory=list)
    starts: dict[Any, datetime | Rejected | None] = field(default_factory=dict)
    forecasts: list[Resources] = field(default_factory=list)
    answered_at: datetime | None = None
    trouble: tuple[datetime, str] | None = None
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    def close_idle(self) -> None:
        """Close nothing: these launchers have no processes."""

    async def close(self) -> None:
        self.go_on.set()

    def dismiss(self, username: str) -> None:
        self.dismissed.append(username)

    async def info(self, username: str) -> UserInfo:
        if self.mood == "no home":
            raise HomeUnavailable("Your home directory doesn't exist.")
        return UserInfo(username, 20001, 20001, f"/home/{username}", "/bin/bash")

    async def folder_exists(self, username: str, path: str) -> bool:
        return True

    async def submit(self, username: str, spec: JobSpec, files: Mapping[str, str]) -> int:
        if self.mood == "hangs":
            self.hung.append(spec.uuid)
            await self.go_on.wait()
        if self.mood == "silent":
            raise Unreachable("Slurm did not answer.")
        if self.mood == "refuses":
            raise Rejected("invalid-account", "You may not use this account.", "Choose another.")
        self.submitted.append((username, spec, files))
        job_id = 100 + len(self.submitted)
        self.slurm.shown[job_id] = JobInfo(
            job_id, username, spec.name, JobPhase.QUEUED, "PENDING", uuid=spec.uuid,
            submit_time=datetime.now(UTC).replace(microsecond=0), reason="Priority",
            account=spec.resources.account,
        )  # fmt: skip
        return job_id

    async def step(self, username: str, **_of: Any) -> None:
        """A TensorBoard's step, which never calls home."""

    async def cancel(self, username: str, job_id: int) -> None:
        await self.slurm.cancel(job_id, username)

    async def delete_job_folder(self, username: str, uuid: str) -> None:
        if username in self.without_home:
            raise HomeUnavailable("The home directory is missing.")
        self.forgotten.append(uuid)

    async def withdraw(self, username: str, uuid: str) -> bool:
        self.withdrawn.append(uuid)
        return True

    async def read(
        self, username: str, path: str, offset: int, limit: int
    ) -> tuple[bytes, int, int]:
        data = self.files.get(path, b"")
        start = max(0, len(data) + offset) if offset < 0 else min(offset, len(data))
        piece = data[start : start + limit]
        return piece, len(data), start + len(piece)

    async def read_file(
        self, username: str, path: str, offset: int, limit: int
    ) -> tuple[bytes, int, int]:
        if self.trouble_reading is not None:
            raise self.trouble_reading
        return await self.read(username, path, offset, limit)

    async def scalars(
        self, username: str, folders: list[str], timeout_s: float | None = None
    ) -> list[dict[str, float | None]]:
        if self.trouble_reading is not None:
            raise self.trouble_reading
        return [self.logged.get(folder, {}) for folder in folders]

    async def curves(
        self, username: str, folder: str, points: int, timeout_s: float
    ) -> FolderCurves:
        if self.trouble_reading is not None:
            raise self.trouble_reading
        curves = [
            CurveColumns("", tag, 1, int(value is None), [1], [1.0], [value])
            for tag, value in self.logged.get(folder, {}).items()
        ]
        return FolderCurves(curves, 0, True)

    async def forecast(self, username: str, spec: JobSpec) -> datetime | None:
        resources = spec.resources
        self.forecasts.append(resources)
        found = self.starts.get((resources.partition, resources.gpus, resources.time_limit_minutes))
        found = found or self.starts.get((resources.partition, resources.gpus))
        if isinstance(found, Rejected):
            raise found
        return found


@dataclass(frozen=True)
class JobPortal:
    """A portal with logged-in users, by name."""

    portal: Portal
    slurm: FakeSlurm
    launchers: FakeLaunchers
    accounting: FakeAccounting
    users: Mapping[str, Browser]

    @property
    def context(self) -> Any:
        return self.portal.context

    async def ask(
        self, method: str, path: str, body: Any = None, who: str = "alice", key: str | None = None
    ) -> Answer:
        headers = {"Idempotency-Key": key} if key else {}
        return await self.users[who].send(method, f"/api/v1{path}", json=body, headers=headers)

    async def submit(self, who: str = "alice", key: str | None = None, **body: Any) -> Answer:
        body = body if "template" in body else {"script": "true", **body}
        return await self.ask("POST", "/jobs", body, who, key)

    async def job(self, **body: Any) -> Any:
        """Submit a job that must be accepted."""
        answer = await self.submit(**body)
        assert answer.status == 201, answer
        return answer.body

    async def settled(self, batch_job_id: str, *states: str) -> Any:
        """Return a job of alice's once it is in one of these states."""
        answer = await until(
            lambda: self.ask("GET", f"/jobs/{batch_job_id}"),
            f"the job is {' or '.join(states)}",
            done=lambda answer: answer.body["state"] in states,
        )
        return answer.body

    async def rows(self, count: int, who: str = "bob", **columns: Any) -> list[str]:
        """Add jobs to a user's history, newest last; `columns` apply to all of them."""
        async with self.portal.context.db.session() as db:
            owner = await db.scalar(select(User.id).where(User.username == who))
            made = [
                {
                    "id": new_id(), "kind": JobKind.JOB, "user_id": owner, "owner_id": owner,
                    "name": f"old {n}", "state": JobState.ENDED, "resources": asdict(Resources()),
                    "created_at": datetime.fromtimestamp(1e9 + n // 2, UTC), **columns,
                }
                for n in range(count)
            ]  # fmt: skip
            for table in (Job.metadata.tables["jobs"], Job.metadata.tables["batch_jobs"]):
                own = made[0].keys() & table.columns.keys()
                await db.execute(insert(table), [{key: row[key] for key in own} for row in made])
            await db.commit()
        return [row["id"] for row in made]


@asynccontextmanager
async def run_job_portal(
    slapd: Slapd, folder: Path, slurm: FakeSlurm | None = None, **changed: Any
) -> AsyncIterator[JobPortal]:
    """Run a portal as in production, except for its two connections to the cluster."""
    slurm = slurm or FakeSlurm()
    launchers, accounting = FakeLaunchers(slurm), FakeAccounting()
    for name in ("site/environments", "site/templates", "env/bin"):
        (folder / name).mkdir(parents=True)
    (folder / "env/bin/python3").touch(mode=0o755)
    (folder / "site/environments/plain.yaml").write_text(ENVIRONMENT.format(prefix=folder / "env"))
    (folder / "site/templates/every-kind.yaml").write_text(textwrap.dedent(TEMPLATE))
    settings = settings_in(
        folder, slapd, catalog_dir=folder / "site", default_partition="cpu", **changed
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("portal.context.Slurm", lambda *_, **__: slurm)
        patch.setattr("portal.context.Accounting", lambda *_, **__: accounting)
        patch.setattr("portal.context.LauncherPool", lambda *_, **__: launchers)
        patch.setattr("portal.context.FileProcessPool", lambda *_, **__: launchers)
        patch.setattr("portal.context.Watcher", partial(Watcher, pace=OFTEN))
        async with running_portal(settings) as portal, AsyncExitStack() as stack:
            users = {}
            for name in USERS:
                users[name] = await stack.enter_async_context(portal.browser())
                assert (await users[name].login(name)).status == 200
                await users[name].confirm()
            job_portal = JobPortal(portal, slurm, launchers, accounting, users)
            await until(
                lambda: (
                    not (
                        job_portal.context.watcher.cluster is None
                        or job_portal.context.watcher.stale_since
                    )
                ),
                "Slurm answers",
            )
            yield job_portal
