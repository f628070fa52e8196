"""What benchmarks have measured: one's own runs, and what is to be said of the cluster."""

from collections.abc import Sequence

from sqlalchemy import and_, or_, select

from portal.models import BenchmarkRun, Job, User
from portal.parts import Parts
from portal.services import paging
from portal.services.jobs.benchmark_figures import ClusterFigure

PAGE = 20
_JOBS = Job.metadata.tables[Job.__tablename__]


async def cluster(parts: Parts) -> list[ClusterFigure]:
    """The figures of those benchmarks whose runs can be held against each other."""
    templates = parts.catalog.templates.values()
    shared = [t.name for t in templates if t.benchmark is not None and t.benchmark.shared]
    return await parts.benchmarks.figures(parts.db, shared)


async def own(
    parts: Parts, user: User, template: str | None = None, cursor: str | None = None
) -> list[BenchmarkRun]:
    """A user's runs that are still on their list, the newest first; at most one more than a page.
    Raises InvalidInput for what is no cursor."""
    query = select(BenchmarkRun).where(BenchmarkRun.user_id == user.id)
    query = query.join(_JOBS, _JOBS.c.id == BenchmarkRun.job_id)
    query = query.where(_JOBS.c.removed_at.is_(None))
    if template is not None:
        query = query.where(BenchmarkRun.template == template)
    if cursor:
        at, job_id = paging.read_cursor(cursor)
        older = and_(BenchmarkRun.ended_at == at, BenchmarkRun.job_id < job_id)
        query = query.where(or_(BenchmarkRun.ended_at < at, older))
    query = query.order_by(BenchmarkRun.ended_at.desc(), BenchmarkRun.job_id.desc())
    async with parts.db.session() as db:
        return list((await db.scalars(query.limit(PAGE + 1))).all())


def cursor_of(found: Sequence[BenchmarkRun]) -> str | None:
    """What asks for the page after this one; None where it was the last."""
    if len(found) <= PAGE:
        return None
    return paging.cursor(found[PAGE - 1].ended_at, found[PAGE - 1].job_id)
