"""Sizing of a job that is being composed, from its owner's last similar jobs.

Similar are jobs of the same template in the same environment, or custom scripts (without a
template) of the same name, with the same number of nodes and GPUs. Only the owner's own jobs are
used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Select, func, select

from portal.context import AppContext
from portal.db import utcnow
from portal.models import JOBS_TABLE, BatchJob, JobKind, JobState, User
from portal.services.jobs import prepare
from portal.services.jobs.sizing_rules import RequestedSize, Run, Sizing, compute_sizing
from portal.services.slurm import launch
from spawner.slurm.model import Outcome

MAX_RUNS = 5
MAX_NEWEST_JOBS = 1000  # of a user's jobs: older ones are not read, however many there are
ROWS_PER_QUERY = 200  # rows of `batch_jobs` are long, and usually the first few suffice
MAX_JOB_AGE = timedelta(days=90)
USABLE_OUTCOMES = (Outcome.COMPLETED, Outcome.OUT_OF_MEMORY, Outcome.TIMEOUT)


@dataclass(frozen=True)
class SimilarJobs:
    """The jobs that count as similar, apart from their resources: those of a template, or, if that
    is None, the custom scripts called `name`.
    """

    template: str | None
    environment: str | None
    name: str | None = None


async def size_template(
    context: AppContext, user: User, name: str, environment: str | None = None
) -> Sizing:
    """Return the sizing for a job of this template with its default resources. Raises NotFound."""
    template = prepare.get_template(context, name)
    kind = SimilarJobs(template.name, environment or template.environment)
    return await _compute_sizing(
        context, user, kind, launch.resources_to_json(prepare.compute_defaults(context, template))
    )


async def size_script(
    context: AppContext, user: User, name: str, environment: str | None = None
) -> Sizing:
    """Return the sizing for a custom script of this name, compared with the request of the last
    such script.
    """
    return await _compute_sizing(context, user, SimilarJobs(None, environment, name.strip()), None)


async def size_job(context: AppContext, user: User, job: BatchJob) -> Sizing:
    """Return the sizing for running this job again unchanged."""
    name = job.name if job.template is None else None
    return await _compute_sizing(
        context, user, SimilarJobs(job.template, job.environment, name), job.resources
    )


async def _compute_sizing(
    context: AppContext, user: User, kind: SimilarJobs, base: Mapping[str, Any] | None
) -> Sizing:
    """Compute the sizing from the newest runs of the kind that have the shape of `base`, or, if
    None, the shape of the last run.
    """
    similar: list[BatchJob] = []
    async with context.db.session() as db:
        ids = (await db.scalars(_build_newest_ids_query(user, kind))).all()
        for start in range(0, len(ids), ROWS_PER_QUERY):
            for job in await db.scalars(
                _build_kind_query(ids[start : start + ROWS_PER_QUERY], kind)
            ):
                base = base or job.resources
                if job.usage and _to_shape(job.resources) == _to_shape(base):
                    similar.append(job)
            if len(similar) >= MAX_RUNS:
                break
    return (
        compute_sizing([to_run(job) for job in similar[:MAX_RUNS]], _to_asked(base))
        if base
        else Sizing(0)
    )


def _build_newest_ids_query(user: User, kind: SimilarJobs) -> Select[str]:
    """Build the query for the IDs of the user's last jobs whose outcome is informative, newest
    first; includes jobs that were removed from the list.
    """
    newest = (
        select(JOBS_TABLE)
        .where(
            JOBS_TABLE.c.user_id == user.id,
            JOBS_TABLE.c.kind == JobKind.JOB,
            JOBS_TABLE.c.created_at > utcnow() - MAX_JOB_AGE,
        )
        .order_by(JOBS_TABLE.c.created_at.desc())
        .limit(MAX_NEWEST_JOBS)
    ).subquery()
    query = (
        select(newest.c.id)
        .where(
            newest.c.state == JobState.ENDED,
            newest.c.outcome.in_(USABLE_OUTCOMES),
            newest.c.environment == kind.environment,
        )
        .order_by(newest.c.created_at.desc())
    )
    return query if kind.name is None else query.where(newest.c.name == kind.name)


def _build_kind_query(ids: Sequence[str], kind: SimilarJobs) -> Select[BatchJob]:
    """Build the query for the jobs of the kind among a few IDs, newest first."""
    # An expression, so that no database scans all users' jobs of this template instead.
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


def _to_shape(resources: Mapping[str, Any]) -> tuple[int, int]:
    return resources.get("nodes") or 1, resources.get("gpus") or 0


def _to_asked(resources: Mapping[str, Any]) -> RequestedSize:
    return RequestedSize(
        cpus=resources.get("cpus") or 1,
        memory_gb=resources.get("memory_gb"),
        time_limit_minutes=resources.get("time_limit_minutes"),
    )


def to_run(job: BatchJob) -> Run:
    """Convert an ended job whose usage is known."""
    used = job.usage or {}
    elapsed, nodes = used.get("elapsed_s"), _to_shape(job.resources)[0]
    longest = used.get("longest_s")
    if longest is None and job.array_size is None:
        longest = elapsed  # rows written before longest_s was recorded
    cpus = used["cpu_s"] / elapsed / nodes if elapsed and used.get("cpu_s") is not None else None
    return Run(
        outcome=job.outcome or Outcome.COMPLETED,
        asked=_to_asked(job.resources),
        elapsed_s=longest,
        cpus=cpus,
        memory_gb=used.get("max_rss_gb"),
    )
