"""Data model of Slurm's jobs, states, nodes and partitions, shared by the spawner and the portal.

Frozen data only; independent of commands, parsers and databases. Memory is in the unit that the
field's name states. Times are timezone-aware and in UTC. `None` means that Slurm did not report a
value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Literal


class JobPhase(StrEnum):
    """Phase of a Slurm job, which the portal derives from Slurm's state (`JobInfo.slurm_state`)."""

    QUEUED = "queued"
    RUNNING = "running"
    SUSPENDED = "suspended"
    COMPLETING = "completing"
    ENDED = "ended"


class Outcome(StrEnum):
    """Outcome of an ended job."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    NODE_FAILED = "node_failed"


@dataclass(frozen=True)
class Resources:
    """Requested resources. `gpus`, `cpus` and `memory_gb` are per node; None leaves it to Slurm."""

    partition: str | None = None
    nodes: int = 1
    gpus: int = 0
    gpu_type: str | None = None
    cpus: int = 1
    memory_gb: float | None = None
    time_limit_minutes: int | None = None
    account: str | None = None
    qos: str | None = None


@dataclass(frozen=True)
class JobSpec:
    """Job to submit.

    `script` is its text; `stdout` and `stderr` are paths in Slurm's syntax, absolute or relative to
    the job's folder, ~/.local/share/portal/jobs/UUID. `signal` is Slurm's `--signal` value, `array`
    its `--array` value ("0-9").
    """

    uuid: str
    name: str
    resources: Resources
    script: str
    stdout: str = "stdout.log"
    stderr: str = "stderr.log"
    requeue: bool = False
    signal: str | None = None
    array: str | None = None


@dataclass(frozen=True, slots=True)
class JobInfo:
    """One job as reported by squeue or sacct.

    `name` is the user's own text.

    Each task of an array has its own job id; `array_job_id` is the common one. `tasks` are the
    index of this task or, while they wait as one record, the indices of all of them. `gpus` are the
    GPUs of each node by type as requested, "gpu" for any type; empty if none were requested, or not
    per node; None if unknown. Only squeue reports them. `cancelled_by` is the uid that cancelled
    the job; only accounting reports it.
    """

    job_id: int
    user: str
    name: str
    phase: JobPhase
    slurm_state: str
    outcome: Outcome | None = None
    reason: str | None = None
    nodes: tuple[str, ...] = ()
    uuid: str | None = None
    submit_time: datetime | None = None
    start_time: datetime | None = None
    end_time: datetime | None = None
    estimated_start: datetime | None = None
    time_limit_minutes: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    array_job_id: int | None = None
    tasks: tuple[int, ...] = ()
    gpus: tuple[tuple[str, int], ...] | None = None
    cancelled_by: int | None = None


@dataclass(frozen=True)
class JobUsage:
    """Measured usage of a job, or of an array's task, with its state, from accounting.

    `info` is that of its last run; `restarts` counts the earlier runs. `max_rss_bytes` is the
    highest memory use on one node, if measured. `complete` means that no further data is expected.
    `elapsed_s` is the sum of its runs; `longest_run_s` is None if there was only one.
    """

    info: JobInfo
    elapsed_s: int
    cpu_s: float
    cpus: int
    max_rss_bytes: int | None
    restarts: int
    complete: bool
    longest_run_s: int | None = None


@dataclass(frozen=True)
class JobPaths:
    """Working directory and output files of a job; empty if Slurm does not report them."""

    workdir: str = ""
    stdout: str = ""
    stderr: str = ""


def _empty_counts() -> Mapping[str, int]:
    return MappingProxyType({})


@dataclass(frozen=True)
class NodeInfo:
    """One node.

    `gpus` and `gpus_allocated` count by type; a GPU without a type counts as "gpu". `cpu_load` is
    its load average. `reason` is why it is out of service, as set by an operator or Slurm at
    `reason_at`.
    """

    name: str
    address: str
    state: str
    partitions: tuple[str, ...] = ()
    cpus: int = 0
    cpus_allocated: int = 0
    memory_mb: int = 0
    memory_allocated_mb: int = 0
    gpus: Mapping[str, int] = field(default_factory=_empty_counts)
    gpus_allocated: Mapping[str, int] = field(default_factory=_empty_counts)
    reason: str | None = None
    reason_at: datetime | None = None
    # not compared: it always changes, and pages don't show it, so it is no change to report
    cpu_load: float | None = field(default=None, compare=False)


@dataclass(frozen=True)
class PartitionInfo:
    """One partition.

    A `max_time_minutes` of None is unlimited; a `default_time_minutes` of None means that the
    partition sets no default.
    """

    name: str
    default: bool = False
    state: str = "UP"
    max_time_minutes: int | None = None
    default_time_minutes: int | None = None
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReservationInfo:
    """Nodes reserved for users and accounts, or for maintenance, from `start` to `end`.

    A leading `-` excludes a user or account. Without nodes it reserves licenses or the like.
    """

    name: str
    start: datetime
    end: datetime
    nodes: tuple[str, ...]
    maintenance: bool = False
    users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()


@dataclass(frozen=True)
class WallLimit:
    """Longest time per job, by the limit of an association or a QOS."""

    minutes: int
    kind: Literal["account", "qos"]
    name: str


@dataclass(frozen=True)
class ClusterInfo:
    """Nodes and partitions at the time `at`."""

    nodes: tuple[NodeInfo, ...]
    partitions: tuple[PartitionInfo, ...]
    at: datetime
