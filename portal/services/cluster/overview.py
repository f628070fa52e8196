"""What an answer of squeue says of nodes and queues, for all who look. Pure.

**A place in the queue is Slurm's order by priority at that moment**, nothing more: a small job may
start before larger ones ahead of it, a new one may come in between, and a job that is held, or
waits for another or for a limit, is in nobody's way.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from spawner.model import JobInfo, SlurmState

HOLDING = (SlurmState.RUNNING, SlurmState.SUSPENDED, SlurmState.COMPLETING)
# Slurm's reasons for which a job isn't in line, by how they begin.
_ASIDE = (
    "Assoc", "QOS", "Max", "JobHeld", "JobHold", "launch failed", "Dependency", "BeginTime",
    "Reservation", "JobArrayTaskLimit", "Licenses", "PartitionTimeLimit", "PartitionNodeLimit",
    "PartitionConfig", "PartitionDown", "PartitionInactive", "BadConstraints",
    "AccountNotAllowed", "Invalid",
)  # fmt: skip


@dataclass(frozen=True)
class Waiting:
    """A job that waits in a partition, with how many are in line before it; None: it isn't."""

    job: JobInfo
    ahead: int | None


@dataclass(frozen=True)
class Queue:
    """What a partition has to do, each task of an array counted. `in_line` are those that wait for
    nothing but their turn and room, `aside` those that wait for something else."""

    running: int = 0
    in_line: int = 0
    aside: int = 0


@dataclass(frozen=True)
class Look:
    """One answer of squeue. `on_node` are the jobs that hold something of a node, `nodes_of` the
    nodes on which a user has some; `waiting` and `running` are by user, then by partition."""

    on_node: Mapping[str, tuple[JobInfo, ...]] = field(default_factory=dict)
    nodes_of: Mapping[str, Set[str]] = field(default_factory=dict)
    queues: Mapping[str, Queue] = field(default_factory=dict)
    waiting: Mapping[str, Mapping[str, tuple[Waiting, ...]]] = field(default_factory=dict)
    running: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


def look(jobs: Mapping[int, JobInfo]) -> Look:
    """Everything at once, in one pass: there may be 20,000."""
    on_node: dict[str, list[JobInfo]] = defaultdict(list)
    nodes_of: dict[str, set[str]] = defaultdict(set)
    running: Counter[str] = Counter()
    in_line: Counter[str] = Counter()
    aside: Counter[str] = Counter()
    waiting: dict[str, dict[str, list[Waiting]]] = defaultdict(lambda: defaultdict(list))
    runs: dict[str, Counter[str]] = defaultdict(Counter)
    for job in jobs.values():
        if job.state in HOLDING:
            for node in job.nodes:
                on_node[node].append(job)
            nodes_of[job.user].update(job.nodes)
            for partition in _partitions(job):
                running[partition] += 1
                runs[job.user][partition] += 1
        elif job.state is SlurmState.QUEUED:
            is_in_line = not (job.reason or "").startswith(_ASIDE)
            for partition in _partitions(job):
                ahead = in_line[partition] if is_in_line else None
                waiting[job.user][partition].append(Waiting(job, ahead))
                (in_line if is_in_line else aside)[partition] += max(1, len(job.tasks))
    names = running.keys() | in_line.keys() | aside.keys()
    return Look(
        on_node={node: tuple(there) for node, there in on_node.items()},
        nodes_of=nodes_of,
        queues={name: Queue(running[name], in_line[name], aside[name]) for name in names},
        waiting={
            user: {name: tuple(jobs) for name, jobs in theirs.items()}
            for user, theirs in waiting.items()
        },
        running=runs,
    )


def _partitions(job: JobInfo) -> list[str]:
    """A job may wait in several at once."""
    return [name for name in (job.partition or "").split(",") if name]
