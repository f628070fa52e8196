"""GPU limit of Slurm's association that holds a pending job back, and the GPUs in use under it.

From the associations and jobs last read; sends no request to Slurm.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from portal.context import AppContext
from spawner.slurm.model import JobInfo, JobPhase
from spawner.slurm.reasons.explanation import Explanation
from spawner.slurm.reasons.pending import GROUP_GPUS, GpuLimit, explain_reason

Owner = tuple[str, str]
"""An account and a user; the user is empty for the whole account."""


@dataclass
class RunningGpus:
    """GPUs that running jobs hold, at least; `complete` if those are all."""

    number: int = 0
    complete: bool = True


def explain_pending(context: AppContext, info: JobInfo) -> Explanation | None:
    """Explain why a job waits, with the GPU limit that it waits for."""
    return explain_reason(info.reason, find_gpu_limit(context, info))


def find_gpu_limit(context: AppContext, info: JobInfo) -> GpuLimit | None:
    """Return the GPU limit that holds a job back, the user's own before their group's.

    None if another reason does, or a limit that is not known for certain: by GPU type, or of an
    account above.
    """
    if not (info.reason or "").startswith(GROUP_GPUS) or info.account is None:
        return None
    jobs = context.watcher.jobs
    running: Mapping[Owner, RunningGpus] = context.running_gpus.get_or_compute(
        jobs, make=lambda: count_running_gpus(jobs)
    )
    needed = max(1, sum(number for _, number in info.gpus or ()))  # per node
    for user in (info.user, ""):
        total = _find_total(context, info, user)
        in_use = running.get((info.account, user), RunningGpus())
        if total and in_use.number + needed > total:
            is_exact = in_use.complete or in_use.number >= total
            return GpuLimit(total, in_use.number if is_exact else None, own=bool(user))
    return None


def _find_total(context: AppContext, info: JobInfo, user: str) -> int | None:
    """Return the GPU limit of the account, or of the user in it; None if it has none, or if the
    user has another association for the job's partition.
    """
    associations = context.accounting.associations or {}
    if user and (info.account, user, info.partition) in associations:
        return None
    total: int | None = associations.get((info.account or "", user, ""), {}).get("gres/gpu")
    return total


def count_running_gpus(jobs: Mapping[int, JobInfo]) -> dict[Owner, RunningGpus]:
    """Count the GPUs of running jobs by account and user, and by account. Pure.

    Slurm reports no number for GPUs that were not requested per node, as may be those of a job
    submitted outside the portal.
    """
    running: dict[Owner, RunningGpus] = {}
    for job in jobs.values():
        if job.phase is not JobPhase.RUNNING or job.account is None:
            continue
        number = sum(number for _, number in job.gpus or ()) * len(job.nodes)
        # the portal's own jobs (with a uuid) request GPUs per node
        known = bool(job.gpus) or (job.gpus is not None and job.uuid is not None)
        for user in (job.user, ""):
            in_use = running.setdefault((job.account, user), RunningGpus())
            in_use.number += number
            in_use.complete &= known
    return running
