"""Benchmark results for the UI: a user's own runs, and the cluster's figures."""

from collections.abc import Sequence

from sqlalchemy import select

from portal.context import AppContext
from portal.models import JOBS_TABLE, BenchmarkRun, User
from portal.services import paging
from portal.services.benchmarks.figures import ClusterFigure

PAGE = 20


async def load_cluster_figures(context: AppContext) -> list[ClusterFigure]:
    """Return the figures of the benchmarks whose runs are comparable."""
    templates = context.catalog.templates.values()
    shared = [t.name for t in templates if t.benchmark is not None and t.benchmark.shared]
    return await context.benchmarks.figures(context.db, shared)


async def list_own_runs(
    context: AppContext, user: User, template: str | None = None, cursor: str | None = None
) -> list[BenchmarkRun]:
    """Return a user's runs that are still on their list, newest first; at most PAGE + 1 rows.
    Raises InvalidInput for an invalid cursor.
    """
    query = select(BenchmarkRun).where(BenchmarkRun.user_id == user.id)
    query = query.join(JOBS_TABLE, JOBS_TABLE.c.id == BenchmarkRun.batch_job_id)
    query = query.where(JOBS_TABLE.c.removed_at.is_(None))
    if template is not None:
        query = query.where(BenchmarkRun.template == template)
    if cursor:
        columns = BenchmarkRun.ended_at, BenchmarkRun.batch_job_id
        query = query.where(paging.build_after_condition(*columns, cursor))
    query = query.order_by(BenchmarkRun.ended_at.desc(), BenchmarkRun.batch_job_id.desc())
    async with context.db.session() as db:
        return list((await db.scalars(query.limit(PAGE + 1))).all())


def cursor_of(runs: Sequence[BenchmarkRun]) -> str | None:
    """Return the cursor of the next page, or None if this is the last one."""
    if len(runs) <= PAGE:
        return None
    return paging.cursor(runs[PAGE - 1].ended_at, runs[PAGE - 1].batch_job_id)
