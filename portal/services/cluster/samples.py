"""Samples of the cluster, and their reduction to coarser steps. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from statistics import fmean

from spawner.slurm.model import ClusterInfo, JobInfo, JobPhase


@dataclass(frozen=True)
class Sample:
    """GPUs, CPUs and pending jobs at a time, or their means over the period that begins then.

    `gpus_used` and `cpus_used` are None if not known.
    """

    at: datetime
    gpus: float
    gpus_allocated: float
    gpus_used: float | None
    cpus: float
    cpus_allocated: float
    cpus_used: float | None
    pending_jobs: float


VALUES = tuple(column.name for column in fields(Sample) if column.name != "at")


def measure(
    cluster: ClusterInfo,
    jobs: Iterable[JobInfo],
    at: datetime,
    gpus_measured: tuple[int, float] = (0, 0.0),
) -> Sample:
    """Return the sample for the watcher's last data. Each pending task of an array counts.

    `gpus_measured` is the number of allocated GPUs with a measurement, and the sum of their
    utilization, 0 to 1 each.
    """
    allocated = sum(sum(node.gpus_allocated.values()) for node in cluster.nodes)
    measured, busy = gpus_measured
    return Sample(
        at=at,
        gpus=sum(sum(node.gpus.values()) for node in cluster.nodes),
        gpus_allocated=allocated,
        gpus_used=min(busy, allocated) if measured >= allocated else None,
        cpus=sum(node.cpus for node in cluster.nodes),
        cpus_allocated=sum(node.cpus_allocated for node in cluster.nodes),
        cpus_used=_count_used_cpus(cluster),
        pending_jobs=sum(max(1, len(job.tasks)) for job in jobs if job.phase is JobPhase.QUEUED),
    )


def _count_used_cpus(cluster: ClusterInfo) -> float | None:
    """Return the sum of the nodes' load, at most the CPUs of each; None if a node on which jobs
    run does not report it.
    """
    if any(node.cpu_load is None and node.cpus_allocated > 0 for node in cluster.nodes):
        return None
    return sum(min(node.cpu_load or 0.0, node.cpus) for node in cluster.nodes)


def floor_time(at: datetime, step: timedelta) -> datetime:
    """Return the start of the period of this length that contains a time. Periods of a day begin
    at midnight UTC.
    """
    return datetime.fromtimestamp(
        at.timestamp() // step.total_seconds() * step.total_seconds(), UTC
    )


def downsample(samples: Iterable[Sample], step: timedelta) -> list[Sample]:
    """Return the means over periods of this length, the oldest first; periods without samples are
    left out.
    """
    periods: dict[datetime, list[Sample]] = {}
    for sample in samples:
        periods.setdefault(floor_time(sample.at, step), []).append(sample)
    return [_average(at, periods[at]) for at in sorted(periods)]


def _average(at: datetime, samples: list[Sample]) -> Sample:
    """Return the means; of values that are not always known, over the samples that have them."""
    values = {name: _mean(getattr(sample, name) for sample in samples) for name in VALUES}
    return Sample(at, **values)  # type: ignore[arg-type]  # None only where a sample has None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
