"""GPUs of a node by owner: free, mine, others'. Pure.

Slurm reports how many GPUs of each type are in use on a node, and squeue reports each job's
requested GPUs per node, except for jobs that requested them in another way (`--gpus`). GPUs in use
beyond the known ones are then attributed to the jobs that could have them: mine if all such jobs on
the node are mine, others' if none is, else unclear.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from portal.services.cluster.conditions import accepts_jobs
from spawner.slurm.model import JobInfo, NodeInfo


@dataclass(frozen=True)
class GpuAllocation:
    """All GPUs of one type on a node; the parts add up to `total`. `unclear`: in use by an unknown
    user; `out`: unused, on a node that takes no work.
    """

    type: str
    total: int
    free: int = 0
    mine: int = 0
    others: int = 0
    unclear: int = 0
    out: int = 0


def list_allocations(node: NodeInfo, jobs: Iterable[JobInfo], username: str) -> list[GpuAllocation]:
    """Return the node's GPUs by type, as this user sees them."""
    own: Counter[str] = Counter()
    others: Counter[str] = Counter()
    unspecified: set[bool] = set()
    for job in jobs:
        requested = requested_gpus(node, job)
        if requested is None:
            unspecified.add(job.user == username)
        else:
            (own if job.user == username else others).update(requested)
    is_open = accepts_jobs(node.state)
    return [
        _compute_type_use(node, kind, own[kind], others[kind], unspecified, is_open)
        for kind in sorted(node.gpus)
    ]


@dataclass(frozen=True)
class NodeShare:
    """A user's share of a node; `gpus` is None if unknown."""

    jobs: int
    gpus: int | None


def compute_shares(node: NodeInfo, jobs: Iterable[JobInfo]) -> dict[str, NodeShare]:
    """Return the share of each user of the node, by name."""
    counts: Counter[str] = Counter()
    gpus: Counter[str] = Counter()
    unspecified: set[str] = set()
    for job in jobs:
        counts[job.user] += 1
        requested = requested_gpus(node, job)
        gpus[job.user] += sum((requested or {}).values())
        if requested is None:
            unspecified.add(job.user)
    rest = max(0, sum(node.gpus_allocated.values()) - gpus.total())
    if len(unspecified) == 1:
        gpus.update(dict.fromkeys(unspecified, rest))
        unspecified.clear()
    return {
        name: NodeShare(count, None if rest and name in unspecified else gpus[name])
        for name, count in counts.items()
    }


def requested_gpus(node: NodeInfo, job: JobInfo) -> Mapping[str, int] | None:
    """Return a job's GPUs on a node by type.

    None if unknown: the job specified no number per node, or no type although there are several.
    The portal always requests GPUs per node (spawner/launcher/sbatch.py), so a job of its own
    without a number has none.
    """
    if job.gpus is None or (not job.gpus and job.uuid is None):
        return None
    only = next(iter(node.gpus)) if len(node.gpus) == 1 else None
    counts: Counter[str] = Counter()
    for kind, count in job.gpus:
        known = kind if kind in node.gpus else only
        if known is None:
            return None
        counts[known] += count
    return counts


def _compute_type_use(
    node: NodeInfo, kind: str, own: int, others: int, unspecified: set[bool], is_open: bool
) -> GpuAllocation:
    """Compute the use of one type. Nodes are polled less often than jobs, so either may report more
    GPUs in use than the other.
    """
    total = node.gpus[kind]
    own = min(total, own)
    others = min(total - own, others)
    rest = max(0, min(total, node.gpus_allocated.get(kind, 0)) - own - others)
    left = total - own - others - rest
    unclear = rest if len(unspecified) != 1 else 0
    if unspecified == {True}:
        own += rest
    elif unspecified == {False}:
        others += rest
    free, out = (left, 0) if is_open else (0, left)
    return GpuAllocation(kind, total, free, own, others, unclear, out)
