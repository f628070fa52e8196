"""A portal with limits and a fake of Slurm's accounting, which is reset after each test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy import delete

from portal.models import Association, GroupManager, Job, Limit
from tests.fakes.accounting import FakeAccounting
from tests.portal.conftest import Answer
from tests.portal.job_portal import JobPortal

ALICE = "/admin/limits/user/alice"
BASE = ("research", "alice", "")


@asynccontextmanager
async def put_back(shared: JobPortal) -> AsyncIterator[JobPortal]:
    """Remove all limits, and reset Slurm's accounting."""
    yield shared
    first = FakeAccounting()
    accounting = shared.accounting
    accounting.go_on.set()
    slurm = shared.portal.context.slurm_limits
    async with slurm.between_rounds(), shared.context.db.session() as db:
        for table in (Limit, Association, GroupManager):
            await db.execute(delete(table))
        await db.commit()
        for name in ("rows", "received", "mood", "busy", "times", "used"):
            setattr(accounting, name, getattr(first, name))
        accounting.go_on = asyncio.Event()
    for job in [*shared.slurm.shown]:
        del shared.slurm.shown[job]
    async with shared.context.db.session() as db:
        for name in ("batch_jobs", "sessions", "jobs"):
            await db.execute(delete(Job.metadata.tables[name]))
        await db.commit()


async def put(job_portal: JobPortal, path: str, who: str = "carol", **body: Any) -> Answer:
    """Replace the current version."""
    version = await load_version(job_portal, path)
    return await job_portal.ask("PUT", path, {"version": version, **body}, who)


async def load_version(job_portal: JobPortal, path: str) -> int | None:
    """Return the version of the limit that this path changes; None where none is set."""
    limits = (await job_portal.ask("GET", "/admin/limits", who="carol")).body["items"]
    versions = {limit_path(one): one["version"] for one in limits}
    return versions.get(path)


def limit_path(limit: Any) -> str:
    """Return the path that changes a listed limit."""
    own = "default" if limit["scope"] == "default" else f"{limit['scope']}/{limit['name']}"
    return f"/admin/limits/{own}"
