"""History of the cluster: a sample per minute, kept in coarser steps the older it is.

A sample is taken from the watcher's last data and needs no request to Slurm. While the portal is
down, or Slurm does not answer, there are no samples, and the history has a gap. Every step of a
level is computed from the next finer level, the current one again with each sample. So recording
the same minute twice changes nothing.
"""

from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Literal

from sqlalchemy import delete, extract, func, insert, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from portal.context import AppContext
from portal.db import utcnow
from portal.models import ClusterSample, Job, JobKind, JobState, Session, SessionMeasurements
from portal.services.cluster.samples import Sample, downsample, floor_time, measure

EVERY_S = 60.0
MINUTE = timedelta(minutes=1)
MAX_DATA_AGE = timedelta(minutes=2)
"""The maximum age of nodes and of sessions' reports in a sample."""


@dataclass(frozen=True)
class Level:
    """Samples of one step, and how long they are kept."""

    step: timedelta
    retention: timedelta

    @property
    def step_s(self) -> int:
        return int(self.step.total_seconds())


LEVELS = (
    Level(MINUTE, timedelta(hours=48)),
    Level(timedelta(minutes=5), timedelta(hours=48)),
    Level(timedelta(minutes=30), timedelta(days=10)),
    Level(timedelta(hours=2), timedelta(days=40)),
    Level(timedelta(days=1), timedelta(days=400)),
)
"""The finest first. Each step is a multiple of the one before."""

COLUMNS = [getattr(ClusterSample, column.name) for column in fields(Sample)]

HistoryRange = Literal["24h", "7d", "30d", "1y"]
RANGES: dict[HistoryRange, tuple[timedelta, Level]] = {
    "24h": (timedelta(hours=24), LEVELS[1]),
    "7d": (timedelta(days=7), LEVELS[2]),
    "30d": (timedelta(days=30), LEVELS[3]),
    "1y": (timedelta(days=365), LEVELS[4]),
}
"""The period that each range covers, and the level that shows it, with less than 400 points."""


# --- recording ----------------------------------------------------------------------------------


async def step(context: AppContext) -> timedelta:
    """Record a sample; return the time until the next full minute."""
    await record(context, utcnow())
    now = utcnow()
    return floor_time(now, MINUTE) + MINUTE - now


async def record(context: AppContext, now: datetime) -> None:
    """Write the sample of this minute and what it changes in the coarser levels, and delete what is
    older than its level keeps; all in one transaction.
    """
    cluster = context.settings.cluster_name
    async with context.db.session() as db:
        sample = await _take_sample(context, db, now)
        if sample is None:
            return
        await _replace(db, cluster, LEVELS[0], [asdict(sample)])
        for finer, level in pairwise(LEVELS):
            await _roll_up(db, cluster, finer, level, now)
        for level in LEVELS:
            await _delete_old(db, cluster, level, now)
        await db.commit()


async def _take_sample(context: AppContext, db: AsyncSession, now: datetime) -> Sample | None:
    """Return the sample of this minute; None while Slurm does not answer."""
    watcher = context.watcher
    cluster = watcher.cluster
    if watcher.stale_since or cluster is None or now - cluster.at > MAX_DATA_AGE:
        return None
    measured = await load_gpu_use(db, now)
    return measure(cluster, watcher.jobs.values(), floor_time(now, MINUTE), measured)


async def load_gpu_use(db: AsyncSession, now: datetime) -> tuple[int, float]:
    """Return the number of GPUs that running sessions report now, and the sum of their utilization,
    0 to 1 each. A session counts at most the GPUs it was given.
    """
    columns = select(Session.resources, SessionMeasurements.series)
    query = columns.join(SessionMeasurements, SessionMeasurements.session_id == Session.id).where(
        Session.state == JobState.RUNNING, SessionMeasurements.reported_at > now - MAX_DATA_AGE
    )
    measured, busy = 0, 0.0
    for resources, series in await db.execute(query):
        given = int(resources.get("gpus") or 0) * int(resources.get("nodes") or 1)
        for gpu in (series.get("gpus") or [])[:given]:
            last = gpu["use_percent"][-1] if gpu["use_percent"] else None
            if last is not None:
                measured, busy = measured + 1, busy + last / 100
    return measured, busy


async def _roll_up(
    db: AsyncSession, cluster: str, finer: Level, level: Level, now: datetime
) -> None:
    """Compute a level from the next finer one, from the level's newest step on."""
    newest = select(func.max(ClusterSample.at)).where(
        *_belongs(cluster, level), ClusterSample.at <= now
    )
    source = select(*COLUMNS).where(*_belongs(cluster, finer), ClusterSample.at <= now)
    if (since := await db.scalar(newest)) is not None:
        source = source.where(ClusterSample.at >= since)
    samples = [Sample(*row) for row in await db.execute(source)]
    rows = [
        {
            **asdict(sample),
            "median_wait_s": await _load_median_wait(db, cluster, sample.at, level.step),
        }
        for sample in downsample(samples, level.step)
    ]
    await _replace(db, cluster, level, rows)


async def _load_median_wait(
    db: AsyncSession, cluster: str, start: datetime, length: timedelta
) -> float | None:
    """Return the median wait, in seconds, of sessions and jobs that started in a period.

    The median is computed by ordering, because SQLite has no function for it.
    """
    submitted = func.coalesce(Job.submit_time, Job.submitted_at)
    wait = extract("epoch", Job.started_at) - extract("epoch", submitted)
    started = (
        Job.started_at >= start,
        Job.started_at < start + length,
        submitted.is_not(None),
        Job.cluster == cluster,
        Job.kind != JobKind.TENSORBOARD,
    )
    count = await db.scalar(select(func.count()).select_from(Job).where(*started)) or 0
    if count == 0:
        return None
    ordered = select(wait).where(*started).order_by(wait)
    middle = await db.scalars(ordered.offset((count - 1) // 2).limit(2 - count % 2))
    waits = [max(0.0, float(wait)) for wait in middle]
    return sum(waits) / len(waits) if waits else None


async def _replace(
    db: AsyncSession, cluster: str, level: Level, rows: list[dict[str, Any]]
) -> None:
    """Write rows in place of those of the same times."""
    if rows:
        times = [row["at"] for row in rows]
        belongs = _belongs(cluster, level)
        await db.execute(
            delete(ClusterSample).where(
                *belongs, ClusterSample.at >= min(times), ClusterSample.at <= max(times)
            )
        )
        keys = {"cluster": cluster, "step_s": level.step_s}
        await db.execute(insert(ClusterSample), [{**keys, **row} for row in rows])


async def _delete_old(db: AsyncSession, cluster: str, level: Level, now: datetime) -> None:
    """Delete what the level no longer keeps, and samples from the future, written before the clock
    was set back.
    """
    old = or_(ClusterSample.at < now - level.retention, ClusterSample.at > now)
    await db.execute(delete(ClusterSample).where(*_belongs(cluster, level), old))


def _belongs(cluster: str, level: Level) -> tuple[Any, Any]:
    return ClusterSample.cluster == cluster, ClusterSample.step_s == level.step_s


# --- queries ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class History:
    """The steps of a range, the oldest first; None for a step without a sample."""

    start: datetime
    step_s: int
    rows: list[ClusterSample | None]


async def load_history(context: AppContext, requested: HistoryRange, now: datetime) -> History:
    """Return the history of the cluster until now."""
    length, level = RANGES[requested]
    end = floor_time(now, level.step) + level.step
    times = [end - length + level.step * n for n in range(length // level.step)]
    query = select(ClusterSample).where(
        *_belongs(context.settings.cluster_name, level), ClusterSample.at >= times[0]
    )
    async with context.db.session() as db:
        rows = {row.at: row for row in await db.scalars(query)}
    return History(times[0], level.step_s, [rows.get(at) for at in times])
