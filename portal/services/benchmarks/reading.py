"""Background loop that imports the results of finished benchmark jobs.

A job's figures are in results.json in its own log folder, and are read once, as its owner, by their
launcher. The hardware that it ran on is taken from Slurm. A job whose file is missing or invalid
gets a row without figures, so that it is not read again. If the owner's files do not answer,
reading is retried for a day.
"""

import time
from collections.abc import Mapping
from datetime import timedelta

import structlog
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from portal.context import AppContext
from portal.db import utcnow
from portal.models import BatchJob, BenchmarkRun, JobState
from portal.services.jobs import prepare
from spawner.catalog import benchmarks
from spawner.catalog.benchmarks import Benchmark, Results
from spawner.errors import PathRefused, SpawnerError
from spawner.slurm.model import NodeInfo, Outcome

log = structlog.get_logger(__name__)

ROUND_S = 5.0
MAX_JOBS_PER_ROUND = 20
RETRIED_FOR = timedelta(days=1)
RETRY_S = 60.0
MAX_WAITING = 500  # jobs that could not be read, skipped so that others are not delayed
MAX_BYTES = 256 * 1024  # the launcher's limit per read; the largest real file has a tenth of it
FILE = "results.json"


class BenchmarkReading:
    """The loop that imports results: `round` is one step."""

    def __init__(self, context: AppContext) -> None:
        self.context = context
        self._retry_at_s: dict[str, float] = {}

    async def round(self) -> None:
        """Import the results that can be read now."""
        now_s = time.monotonic()
        self._retry_at_s = {key: at for key, at in self._retry_at_s.items() if at > now_s}
        for job in await self._load_unread():
            benchmark = self._find_benchmark(job.template)
            if benchmark is not None:
                await self._read_results(job, benchmark)

    def _find_benchmark(self, name: str | None) -> Benchmark | None:
        template = self.context.catalog.templates.get(name or "")
        return template.benchmark if template else None

    async def _load_unread(self) -> list[BatchJob]:
        names = [t.name for t in self.context.catalog.templates.values() if t.benchmark]
        read = select(BenchmarkRun.batch_job_id).where(BenchmarkRun.batch_job_id == BatchJob.id)
        query = (
            select(BatchJob)
            .where(
                BatchJob.template.in_(names),
                BatchJob.state == JobState.ENDED,
                BatchJob.outcome == Outcome.COMPLETED,
                BatchJob.ended_at > utcnow() - RETRIED_FOR,
                BatchJob.array_size.is_(None),
                BatchJob.id.not_in(list(self._retry_at_s)[-MAX_WAITING:]),
                ~read.exists(),
            )
            .order_by(BatchJob.ended_at)
            .limit(MAX_JOBS_PER_ROUND)
        )
        async with self.context.db.session() as db:
            return list((await db.scalars(query)).all())

    async def _read_results(self, job: BatchJob, benchmark: Benchmark) -> None:
        path = f"{prepare.own_logdir(job)}/{FILE}"
        try:
            data, size, _ = await self.context.launchers.read_file(
                job.user.username, path, 0, MAX_BYTES
            )
        except PathRefused as error:
            log.info("a benchmark left no figures", job=job.id, error=error.message)
            data, size = b"", 0
        except SpawnerError as error:
            self._retry_at_s[job.id] = time.monotonic() + RETRY_S
            log.info("a benchmark's figures can't be read yet", job=job.id, error=error.message)
            return
        content = data if size <= MAX_BYTES else b""
        await self._save_run(job, benchmarks.read_results(content, benchmark, job.parameters))

    async def _save_run(self, job: BatchJob, results: Results) -> None:
        resources = job.resources
        nodes = max(1, resources.get("nodes") or 1)
        gpus = 0 if benchmarks.ran_on_cpu(results.device) else (resources.get("gpus") or 0) * nodes
        cluster = self.context.watcher.cluster
        known = {node.name: node for node in cluster.nodes} if cluster else {}
        row = BenchmarkRun(
            batch_job_id=job.id,
            user_id=job.user_id,
            template=job.template,
            gpu_type=gpu_type(job, known) if gpus else None,
            gpus=gpus,
            nodes=nodes,
            device=results.device,
            figures=[
                {
                    "labels": dict(figure.labels),
                    "measure": figure.heading,
                    "unit": figure.unit,
                    "better": figure.better,
                    "value": figure.value,
                }
                for figure in results.figures
            ],
            ended_at=job.ended_at,
        )
        async with self.context.db.session() as db:
            db.add(row)
            try:
                await db.commit()
            except IntegrityError:
                await db.rollback()  # another portal process was faster
        self.context.notifier.notify(job.user_id, job.id)


def gpu_type(job: BatchJob, nodes: Mapping[str, NodeInfo]) -> str | None:
    """Return the type of the GPUs that a job had: the requested one, else the only type that its
    nodes have. None if they have several types, or if a node is no longer known.
    """
    requested: str | None = job.resources.get("gpu_type")
    if requested:
        return requested
    names = job.nodes or ([job.node] if job.node else [])
    types = {kind for name in names for kind in (nodes[name].gpus if name in nodes else {"": 0})}
    (only, *others) = types or {""}
    return only if only and not others else None
