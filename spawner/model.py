"""The words the spawner and the portal share about Slurm: jobs, their states, nodes, partitions.

Data only, frozen; it knows no command, no parser and no database. Memory is in the unit its name
says, times are aware and in UTC, `None` means that Slurm did not say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Literal


class SlurmState(StrEnum):
    """What a job is doing, for the portal; `JobInfo.slurm_state` has Slurm's own word."""

    QUEUED = "queued"
    RUNNING = "running"
    SUSPENDED = "suspended"
    COMPLETING = "completing"
    ENDED = "ended"


class Outcome(StrEnum):
    """How a job ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    NODE_FAILED = "node_failed"


@dataclass(frozen=True)
class Resources:
    """What a job asks for. `gpus`, `cpus` and `memory_gb` are per node; None leaves it to Slurm."""

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
    """One job to submit. `script` is its text; `stdout`/`stderr` are paths in Slurm's syntax, where
    a relative one lies in the job's own state folder. `signal` is Slurm's `--signal` value, `array`
    its `--array` value ("0-9")."""

    uuid: str
    name: str
    resources: Resources
    script: str
    stdout: str = "stdout.log"
    stderr: str = "stderr.log"
    requeue: bool = False
    signal: str | None = None
    array: str | None = None


@dataclass(frozen=True)
class JobKey:
    """Slurm re-uses job ids after a crash, so the id alone names nothing."""

    cluster: str
    job_id: int
    submit_time: datetime


@dataclass(frozen=True, slots=True)
class JobInfo:
    """One job as squeue or sacct tells it. `name` is the user's own text.

    Each task of an array has a job id of its own; `array_job_id` is the one they share, and
    `tasks` says which one this is, or, while they wait as one, which ones. `gpus` are those of each
    of its nodes by type, as it asked for them, "gpu" where any will do; none: it asked for none, or
    not by node; None: that isn't known. Only squeue tells."""

    job_id: int
    user: str
    name: str
    state: SlurmState
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


@dataclass(frozen=True)
class JobUsage:
    """What accounting says that a job, or a task of an array, has used, and how it stands.

    `info` is its last run's; `restarts` counts the runs before. Memory is the most that one node
    held of it, if anything was measured. `complete`: nothing more is to be expected."""

    info: JobInfo
    elapsed_s: int
    cpu_s: float
    cpus: int
    max_rss_bytes: int | None
    restarts: int
    complete: bool


@dataclass(frozen=True)
class JobPaths:
    """Where a job works and writes, as Slurm says; empty where it doesn't."""

    workdir: str = ""
    stdout: str = ""
    stderr: str = ""


def _no_gpus() -> Mapping[str, int]:
    return MappingProxyType({})


@dataclass(frozen=True)
class NodeInfo:
    """One node. `gpus` and `gpus_allocated` count by type; a GPU without a type counts as "gpu".
    `reason` is what an operator, or Slurm, says of why it is out of service, since `reason_at`."""

    name: str
    address: str
    state: str
    partitions: tuple[str, ...] = ()
    cpus: int = 0
    cpus_allocated: int = 0
    memory_mb: int = 0
    memory_allocated_mb: int = 0
    gpus: Mapping[str, int] = field(default_factory=_no_gpus)
    gpus_allocated: Mapping[str, int] = field(default_factory=_no_gpus)
    reason: str | None = None
    reason_at: datetime | None = None


@dataclass(frozen=True)
class PartitionInfo:
    """One partition; a limit of None is unlimited."""

    name: str
    default: bool = False
    state: str = "UP"
    max_time_minutes: int | None = None
    default_time_minutes: int | None = None
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReservationInfo:
    """Nodes that are kept for somebody, or for maintenance, from `start` to `end`: for these users
    and accounts, of whom a leading `-` excludes one. No nodes: it keeps licences or the like."""

    name: str
    start: datetime
    end: datetime
    nodes: tuple[str, ...]
    maintenance: bool = False
    users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()


@dataclass(frozen=True)
class WallLimit:
    """The longest time that one job may have, by an association's limit or a QOS's."""

    minutes: int
    kind: Literal["account", "qos"]
    name: str


@dataclass(frozen=True)
class ClusterInfo:
    """Nodes and partitions as they were at `at`."""

    nodes: tuple[NodeInfo, ...]
    partitions: tuple[PartitionInfo, ...]
    at: datetime
