"""Someone's last jobs like the one that is being composed, and what they say about its size.

Like it are those of the same template in the same environment, or the free scripts of the same
name, with as many nodes and GPUs. Only its owner's own are looked at.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Select, func, select

from portal.db import utcnow
from portal.models import BatchJob, Job, JobKind, JobState, User
from portal.parts import Parts
from portal.services.jobs import recipes
from portal.services.jobs.sizing_rules import Asked, Run, Sizing, sizing
from spawner.model import Outcome

MOST_RUNS = 5
NEWEST = 1000  # of one's jobs: further back nobody looks, however many there are
AT_ONCE = 200  # the rows of `batch_jobs` are long: most often the first few have what is wanted
SINCE = timedelta(days=90)
TELLING = (Outcome.COMPLETED, Outcome.OUT_OF_MEMORY, Outcome.TIMEOUT)
_JOBS = Job.metadata.tables[Job.__tablename__]


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
    """The newest runs of the kind that have the shape of `base`, or, without one, of the last."""
    like: list[BatchJob] = []
    async with parts.db.session() as db:
        ids = (await db.scalars(_newest(user, kind))).all()
        for start in range(0, len(ids), AT_ONCE):
            for job in await db.scalars(_of_kind(ids[start : start + AT_ONCE], kind)):
                base = base or job.resources
                if job.usage and _shape(job.resources) == _shape(base):
                    like.append(job)
            if len(like) >= MOST_RUNS:
                break
    return sizing([run_of(job) for job in like[:MOST_RUNS]], _asked(base)) if base else Sizing(0)


def _newest(user: User, kind: Kind) -> Select[str]:
    """The ids of those of one's last jobs that ended in a way that tells something, newest first;
    also of those that were taken off the list."""
    some = (
        select(_JOBS)
        .where(
            _JOBS.c.user_id == user.id,
            _JOBS.c.kind == JobKind.JOB,
            _JOBS.c.created_at > utcnow() - SINCE,
        )
        .order_by(_JOBS.c.created_at.desc())
        .limit(NEWEST)
    ).subquery()
    query = (
        select(some.c.id)
        .where(
            some.c.state == JobState.ENDED,
            some.c.outcome.in_(TELLING),
            some.c.environment == kind.environment,
        )
        .order_by(some.c.created_at.desc())
    )
    return query if kind.name is None else query.where(some.c.name == kind.name)


def _of_kind(ids: Sequence[str], kind: Kind) -> Select[BatchJob]:
    """Those of a few jobs that are of the kind, newest first."""
    # An expression, so that no database goes through everybody's jobs of this template instead.
    template = func.coalesce(BatchJob.template, "")
    return (
        select(BatchJob)
        .where(
            BatchJob.id.in_(ids),
            BatchJob.external.is_(False),
            BatchJob.usage.is_not(None),
            template == (kind.template or ""),
        )
        .order_by(BatchJob.created_at.desc())
    )


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
