"""Someone's last jobs like the one that is being composed, and what they say about its size.

Like it are those of the same template in the same environment, or the free scripts of the same
name, with as many nodes and GPUs. Only its owner's own are looked at.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import select

from portal.db import utcnow
from portal.models import BatchJob, JobState, User
from portal.parts import Parts
from portal.services.jobs import recipes
from portal.services.jobs.sizing_rules import Asked, Run, Sizing, sizing
from spawner.model import Outcome

MOST_RUNS = 5
LOOKED_AT = 50
SINCE = timedelta(days=90)
TELLING = (Outcome.COMPLETED, Outcome.OUT_OF_MEMORY, Outcome.TIMEOUT)


@dataclass(frozen=True)
class Kind:
    """Jobs that are alike: a template's, or, where that is None, the scripts called `name`."""

    template: str | None
    environment: str | None
    name: str | None = None


async def of_template(
    parts: Parts, user: User, name: str, environment: str | None = None
) -> Sizing:
    """For a job of this template with its default resources. Raises NotFound."""
    template = recipes.template(parts, name)
    kind = Kind(template.name, environment or template.environment)
    return await _sized(parts, user, kind, recipes.defaults(parts, template))


async def of_script(parts: Parts, user: User, name: str, environment: str | None = None) -> Sizing:
    """For a free script of this name, against what the last one of that name asked for."""
    return await _sized(parts, user, Kind(None, environment, name.strip()), None)


async def of_job(parts: Parts, user: User, job: BatchJob) -> Sizing:
    """For running this job once more as it was."""
    name = job.name if job.template is None else None
    return await _sized(parts, user, Kind(job.template, job.environment, name), job.resources)


async def _sized(parts: Parts, user: User, kind: Kind, base: Mapping[str, Any] | None) -> Sizing:
    found = await _ended(parts, user, kind)
    if base is None:
        if not found:
            return Sizing(runs=0)
        base = found[0].resources
    like = [job for job in found if _shape(job.resources) == _shape(base)]
    return sizing([run_of(job) for job in like[:MOST_RUNS]], _asked(base))


async def _ended(parts: Parts, user: User, kind: Kind) -> list[BatchJob]:
    """The last that ran long enough to tell something, newest first; also those that were taken off
    the list."""
    query = (
        select(BatchJob)
        .where(
            BatchJob.user_id == user.id,
            BatchJob.created_at > utcnow() - SINCE,
            BatchJob.state == JobState.ENDED,
            BatchJob.outcome.in_(TELLING),
            BatchJob.external.is_(False),
            BatchJob.usage.is_not(None),
            BatchJob.template == kind.template,
            BatchJob.environment == kind.environment,
        )
        .order_by(BatchJob.created_at.desc())
        .limit(LOOKED_AT)
    )
    if kind.name is not None:
        query = query.where(BatchJob.name == kind.name)
    async with parts.db.session() as db:
        return [job for job in (await db.scalars(query)).all() if job.usage]


def _shape(resources: Mapping[str, Any]) -> tuple[int, int]:
    return resources.get("nodes") or 1, resources.get("gpus") or 0


def _asked(resources: Mapping[str, Any]) -> Asked:
    return Asked(
        cpus=resources.get("cpus") or 1,
        memory_gb=resources.get("memory_gb"),
        time_limit_minutes=resources.get("time_limit_minutes"),
    )


def run_of(job: BatchJob) -> Run:
    """An ended job that has its usage."""
    used = job.usage or {}
    elapsed, nodes = used.get("elapsed_s"), _shape(job.resources)[0]
    longest = used.get("longest_s")
    if longest is None and job.array_size is None:
        longest = elapsed  # of rows from before it was kept
    cpus = used["cpu_s"] / elapsed / nodes if elapsed and used.get("cpu_s") is not None else None
    return Run(
        outcome=job.outcome or Outcome.COMPLETED,
        asked=_asked(job.resources),
        elapsed_s=longest,
        cpus=cpus,
        memory_gb=used.get("max_rss_gb"),
    )
