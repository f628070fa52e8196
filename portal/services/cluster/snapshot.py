"""Nodes and queues as reported by one result of squeue, for all viewers. Pure.

**A position in the queue is Slurm's current order by priority**, nothing more: a small job may
start before larger ones ahead of it, a new one may come in between, and a job that is held, or
waits for another job or for a limit, does not block others.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from spawner.slurm.model import JobInfo, JobPhase

HOLDING = (JobPhase.RUNNING, JobPhase.SUSPENDED, JobPhase.COMPLETING)
# Prefixes of Slurm's reasons for which a job is not in line.
_NOT_IN_LINE = (
    "Assoc", "QOS", "Max", "JobHeld", "JobHold", "launch failed", "Dependency", "BeginTime",
    "Reservation", "JobArrayTaskLimit", "Licenses", "PartitionTimeLimit", "PartitionNodeLimit",
    "PartitionConfig", "PartitionDown", "PartitionInactive", "BadConstraints",
    "AccountNotAllowed", "Invalid",
)  # fmt: skip


@dataclass(frozen=True)
class WaitingJob:
    """A job that waits in a partition, and the number of jobs in line before it; None if it is not
    in line.
    """

    job: JobInfo
    ahead: int | None


@dataclass(frozen=True)
class Queue:
    """A partition's jobs, counting each task of an array. `in_line` are those that wait only for
    resources and priority, `aside` those that wait for something else.
    """

    running: int = 0
    in_line: int = 0
    aside: int = 0


@dataclass(frozen=True)
class ClusterSnapshot:
    """Aggregates of one result of squeue. `on_node` has the jobs that hold resources of a node,
    `nodes_of` the nodes on which a user has jobs; `waiting` and `running` are by user, then by
    partition.
    """

    on_node: Mapping[str, tuple[JobInfo, ...]] = field(default_factory=dict)
    nodes_of: Mapping[str, Set[str]] = field(default_factory=dict)
    queues: Mapping[str, Queue] = field(default_factory=dict)
    waiting: Mapping[str, Mapping[str, tuple[WaitingJob, ...]]] = field(default_factory=dict)
    running: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


def build_snapshot(jobs: Mapping[int, JobInfo]) -> ClusterSnapshot:
    """Compute all aggregates in one pass: there may be 20,000 jobs."""
    on_node: dict[str, list[JobInfo]] = defaultdict(list)
    nodes_of: dict[str, set[str]] = defaultdict(set)
    running: Counter[str] = Counter()
    in_line: Counter[str] = Counter()
    aside: Counter[str] = Counter()
    waiting: dict[str, dict[str, list[WaitingJob]]] = defaultdict(lambda: defaultdict(list))
    runs: dict[str, Counter[str]] = defaultdict(Counter)
    for job in jobs.values():
        if job.phase in HOLDING:
            for node in job.nodes:
                on_node[node].append(job)
            nodes_of[job.user].update(job.nodes)
            for partition in _split_partitions(job):
                running[partition] += 1
                runs[job.user][partition] += 1
        elif job.phase is JobPhase.QUEUED:
            is_in_line = not (job.reason or "").startswith(_NOT_IN_LINE)
            for partition in _split_partitions(job):
                ahead = in_line[partition] if is_in_line else None
                waiting[job.user][partition].append(WaitingJob(job, ahead))
                (in_line if is_in_line else aside)[partition] += max(1, len(job.tasks))
    names = running.keys() | in_line.keys() | aside.keys()
    return ClusterSnapshot(
        on_node={node: tuple(there) for node, there in on_node.items()},
        nodes_of=nodes_of,
        queues={name: Queue(running[name], in_line[name], aside[name]) for name in names},
        waiting={
            user: {name: tuple(jobs) for name, jobs in by_partition.items()}
            for user, by_partition in waiting.items()
        },
        running=runs,
    )


def _split_partitions(job: JobInfo) -> list[str]:
    """Return the job's partitions; a job may wait in several at once."""
    return [name for name in (job.partition or "").split(",") if name]
