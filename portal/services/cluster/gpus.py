"""Whose the GPUs of a node are: free, mine, others'. Pure.

Slurm says how many of each type are in use on a node, and squeue how many of which each job asked
for by node; for a job that asked in another way (`--gpus`) it doesn't. What is in use beyond what
is known is then theirs who could have it: mine if all such jobs on the node are mine, others' if
none is, and else it isn't known whose.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from portal.services.cluster.conditions import takes_work
from spawner.model import JobInfo, NodeInfo


@dataclass(frozen=True)
class GpuUse:
    """All GPUs of one type on a node; the parts add up to `total`. `unclear`: in use, but not known
    by whom; `out`: nobody's, on a node that takes no work."""

    type: str
    total: int
    free: int = 0
    mine: int = 0
    others: int = 0
    unclear: int = 0
    out: int = 0


def gpu_use(node: NodeInfo, jobs: Iterable[JobInfo], username: str) -> list[GpuUse]:
    """Each type of the node's GPUs, as this user sees them."""
    mine: Counter[str] = Counter()
    others: Counter[str] = Counter()
    untold: set[bool] = set()
    for job in jobs:
        asked = asked_of(node, job)
        if asked is None:
            untold.add(job.user == username)
        else:
            (mine if job.user == username else others).update(asked)
    is_open = takes_work(node.state)
    return [
        _of_type(node, kind, mine[kind], others[kind], untold, is_open)
        for kind in sorted(node.gpus)
    ]


@dataclass(frozen=True)
class Share:
    """What somebody has of a node; `gpus` None: that isn't known."""

    jobs: int
    gpus: int | None


def people(node: NodeInfo, jobs: Iterable[JobInfo]) -> dict[str, Share]:
    """Everybody with something on the node, by name."""
    counts: Counter[str] = Counter()
    gpus: Counter[str] = Counter()
    untold: set[str] = set()
    for job in jobs:
        counts[job.user] += 1
        asked = asked_of(node, job)
        gpus[job.user] += sum((asked or {}).values())
        if asked is None:
            untold.add(job.user)
    rest = max(0, sum(node.gpus_allocated.values()) - gpus.total())
    if len(untold) == 1:
        gpus.update(dict.fromkeys(untold, rest))
        untold.clear()
    return {
        name: Share(count, None if rest and name in untold else gpus[name])
        for name, count in counts.items()
    }


def asked_of(node: NodeInfo, job: JobInfo) -> Mapping[str, int] | None:
    """What a job has of a node's GPUs, by type; None where that can't be told: it named no number
    for each node, or any type of several. The portal asks by node only (spawner/sbatch.py), so a
    job of its own that names none has none."""
    if job.gpus is None or (not job.gpus and job.uuid is None):
        return None
    only = next(iter(node.gpus)) if len(node.gpus) == 1 else None
    found: Counter[str] = Counter()
    for kind, count in job.gpus:
        known = kind if kind in node.gpus else only
        if known is None:
            return None
        found[known] += count
    return found


def _of_type(
    node: NodeInfo, kind: str, mine: int, others: int, untold: set[bool], is_open: bool
) -> GpuUse:
    """The nodes are looked at less often than the jobs, so either may know of more in use."""
    total = node.gpus[kind]
    mine = min(total, mine)
    others = min(total - mine, others)
    rest = max(0, min(total, node.gpus_allocated.get(kind, 0)) - mine - others)
    left = total - mine - others - rest
    unclear = rest if len(untold) != 1 else 0
    if untold == {True}:
        mine += rest
    elif untold == {False}:
        others += rest
    free, out = (left, 0) if is_open else (0, left)
    return GpuUse(kind, total, free, mine, others, unclear, out)
