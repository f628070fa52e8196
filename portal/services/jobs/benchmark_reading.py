"""The loop that takes over what finished benchmark jobs have measured.

A job's figures lie in results.json of its own log folder, and are read once, as its owner, by their
launcher. What it ran on is Slurm's word. A job whose file isn't there, or can't be understood, has
a row without figures, so that it isn't read again; where the owner's files don't answer, it is
tried again for a day.
"""

import asyncio
import time
from collections.abc import Mapping
from datetime import timedelta

import structlog
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from portal.db import utcnow
from portal.models import BatchJob, BenchmarkRun, JobState
from portal.parts import Parts
from portal.services.jobs import recipes
from spawner import benchmarks
from spawner.benchmarks import Benchmark, Results
from spawner.errors import PathRefused, SpawnerError
from spawner.model import NodeInfo, Outcome

log = structlog.get_logger(__name__)

ROUND_S = 5.0
AT_ONCE = 20
FOR = timedelta(days=1)
RETRY_S = 60.0
MOST_WAITING = 500  # of those that couldn't be read, that the others don't wait behind
MOST_BYTES = 256 * 1024  # what a launcher reads at once; the largest real one has a tenth of it
FILE = "results.json"


class BenchmarkReading:
    """The loop, for the application's lifespan: `run` until cancelled."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._not_before_s: dict[str, float] = {}

    async def run(self) -> None:
        """Look for what has ended, every few seconds."""
        while True:
            await self.round()
            await asyncio.sleep(ROUND_S)

    async def round(self) -> None:
        """Read what can be read now."""
        now_s = time.monotonic()
        self._not_before_s = {key: at for key, at in self._not_before_s.items() if at > now_s}
        for job in await self._unread():
            benchmark = self._benchmark(job.template)
            if benchmark is not None:
                await self._read(job, benchmark)

    def _benchmark(self, name: str | None) -> Benchmark | None:
        template = self.parts.catalog.templates.get(name or "")
        return template.benchmark if template else None

    async def _unread(self) -> list[BatchJob]:
        names = [t.name for t in self.parts.catalog.templates.values() if t.benchmark]
        read = select(BenchmarkRun.job_id).where(BenchmarkRun.job_id == BatchJob.id)
        query = (
            select(BatchJob)
            .where(
                BatchJob.template.in_(names),
                BatchJob.state == JobState.ENDED,
                BatchJob.outcome == Outcome.COMPLETED,
                BatchJob.ended_at > utcnow() - FOR,
                BatchJob.array_size.is_(None),
                BatchJob.id.not_in(list(self._not_before_s)[-MOST_WAITING:]),
                ~read.exists(),
            )
            .order_by(BatchJob.ended_at)
            .limit(AT_ONCE)
        )
        async with self.parts.db.session() as db:
            return list((await db.scalars(query)).all())

    async def _read(self, job: BatchJob, benchmark: Benchmark) -> None:
        path = f"{recipes.own_logdir(job)}/{FILE}"
        try:
            data, size, _ = await self.parts.agents.read_file(
                job.user.username, path, 0, MOST_BYTES
            )
        except PathRefused as error:
            log.info("a benchmark left no figures", job=job.id, error=error.message)
            data, size = b"", 0
        except SpawnerError as error:
            self._not_before_s[job.id] = time.monotonic() + RETRY_S
            log.info("a benchmark's figures can't be read yet", job=job.id, error=error.message)
            return
        whole = data if size <= MOST_BYTES else b""
        await self._keep(job, benchmarks.read_results(whole, benchmark, job.parameters))

    async def _keep(self, job: BatchJob, results: Results) -> None:
        resources = job.resources
        nodes = max(1, resources.get("nodes") or 1)
        gpus = (
            0 if benchmarks.is_processor(results.device) else (resources.get("gpus") or 0) * nodes
        )
        cluster = self.parts.watcher.cluster
        known = {node.name: node for node in cluster.nodes} if cluster else {}
        row = BenchmarkRun(
            job_id=job.id,
            user_id=job.user_id,
            template=job.template,
            gpu_type=gpu_type(job, known) if gpus else None,
            gpus=gpus,
            nodes=nodes,
            device=results.device,
            figures=[
                {
                    "labels": dict(figure.labels),
                    "measure": figure.measure,
                    "unit": figure.unit,
                    "better": figure.better,
                    "value": figure.value,
                }
                for figure in results.figures
            ],
            ended_at=job.ended_at,
        )
        async with self.parts.db.session() as db:
            db.add(row)
            try:
                await db.commit()
            except IntegrityError:
                await db.rollback()  # another portal was quicker
        self.parts.changes.notify(job.user_id, job.id)


def gpu_type(job: BatchJob, nodes: Mapping[str, NodeInfo]) -> str | None:
    """The type of the GPUs that a job had: what it asked for, or the one type that its nodes have.
    None where they have several, or where a node isn't known any more."""
    asked: str | None = job.resources.get("gpu_type")
    if asked:
        return asked
    names = job.nodes or ([job.node] if job.node else [])
    types = {kind for name in names for kind in (nodes[name].gpus if name in nodes else {"": 0})}
    (one, *others) = types or {""}
    return one if one and not others else None
