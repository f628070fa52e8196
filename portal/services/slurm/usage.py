"""What jobs have used and how they ended, from accounting into their rows.

squeue knows no exit codes and forgets what has ended; accounting knows both, a moment later. Rows
that want it have `usage_due`; many are asked for with one command. It is asked for a job again
until its record is complete, ever more seldom, and for a day at most.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import structlog
from sqlalchemy import select

from portal.models import BatchJob, JobState, Session
from portal.parts import Parts
from portal.services.jobs import arrays
from portal.services.slurm import lifecycle
from portal.services.store import change
from spawner.errors import SlurmError
from spawner.model import JobUsage, SlurmState

log = structlog.get_logger(__name__)

AT_ONCE = 200
SOON = timedelta(seconds=2)
GIVE_UP = timedelta(days=1)
STEPS_PATIENCE = timedelta(minutes=2)  # for the steps of a job whose own record is complete
GB = 1 << 30

Measured = BatchJob | Session


async def due(parts: Parts, now: datetime) -> list[Measured]:
    """The jobs and sessions that accounting is to be asked for now."""
    jobs = select(BatchJob).where(BatchJob.usage_due <= now, BatchJob.job_id.is_not(None))
    sessions = select(Session).where(Session.usage_due <= now, Session.job_id.is_not(None))
    async with parts.db.session() as db:
        first = await db.scalars(jobs.order_by(BatchJob.usage_due).limit(AT_ONCE))
        more = await db.scalars(sessions.order_by(Session.usage_due).limit(AT_ONCE))
        return [*first, *more]


async def collect(parts: Parts, jobs: Sequence[Measured], now: datetime) -> None:
    """Ask for these and write what is known of each."""
    try:
        found = await parts.watcher.usage({job.job_id for job in jobs if job.job_id})
    except SlurmError as error:
        log.warning("accounting is not known", error=error.message, stderr=error.stderr[:300])
        found = None
    by_id: dict[int, list[JobUsage]] = {}
    for usage in found or ():
        by_id.setdefault(usage.info.array_job_id or usage.info.job_id, []).append(usage)
    for job in jobs:
        await _write(parts, job, by_id.get(job.job_id or 0, []), now, asked=found is not None)


async def _write(
    parts: Parts, job: Measured, found: list[JobUsage], now: datetime, *, asked: bool
) -> None:
    def apply(row: Measured) -> None:
        ours = [usage for usage in found if lifecycle.is_ours(row, usage.info)]
        columns = known(row, ours, now) if ours else {}
        for column, value in columns.items():
            setattr(row, column, value)
        whole = bool(ours) and all(usage.complete for usage in ours)
        row.usage_due = next_due(row, whole and row.state is JobState.ENDED, bool(ours), now)

    kind: type[Measured] = type(job)
    await change(parts.db, kind, job.id, apply)
    parts.changes.notify(job.user_id, job.id)


def known(row: Measured, ours: Sequence[JobUsage], now: datetime) -> dict[str, Any]:
    """The columns that follow from accounting's records of a job, or of an array's tasks. How a
    session ended, squeue and the reconcile loop have said before."""
    infos = [usage.info for usage in ours]
    columns: dict[str, Any] = {"usage": summed(ours)}
    if isinstance(row, Session):
        return columns
    if row.array_size is not None:
        return columns | dict(arrays.observe(row, infos, now))
    (info, *_) = infos
    if info.state is SlurmState.ENDED:
        columns |= lifecycle.observe(row, info, now)
    if row.external and ours[0].cpus and info.nodes:
        per_node = max(1, ours[0].cpus // len(info.nodes))
        columns["resources"] = {**row.resources, "cpus": per_node, "nodes": len(info.nodes)}
    return columns


def summed(ours: Iterable[JobUsage]) -> dict[str, Any]:
    """Usage as a row keeps it."""
    usages = list(ours)
    elapsed = [usage.elapsed_s for usage in usages]
    cpu_s = sum(usage.cpu_s for usage in usages)
    had_s = sum(usage.elapsed_s * usage.cpus for usage in usages)
    sizes = [usage.max_rss_bytes for usage in usages if usage.max_rss_bytes is not None]
    return {
        "elapsed_s": sum(elapsed),
        "longest_s": max(elapsed, default=0),
        "cpu_s": round(cpu_s, 3),
        "cpu_efficiency": round(min(1.0, cpu_s / had_s), 4) if had_s else None,
        "max_rss_gb": round(max(sizes) / GB, 4) if sizes else None,
        "restarts": sum(usage.restarts for usage in usages),
    }


def next_due(row: Measured, complete: bool, heard: bool, now: datetime) -> datetime | None:
    """When accounting is to be asked again; None: no more."""
    if complete:
        return None
    since = now - (row.ended_at or row.usage_due or now)
    if row.state is JobState.ENDED and since > (STEPS_PATIENCE if heard else GIVE_UP):
        return None
    return now + max(SOON, since / 2)
