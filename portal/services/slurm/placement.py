"""Placement of jobs as Slurm reports it: the last known state, and the address of the node."""

from portal.context import AppContext
from portal.errors import Conflict
from portal.models import Job
from portal.services.slurm.lifecycle import is_external, is_ours
from spawner.slurm.model import JobInfo, JobPhase


async def find_running_job(context: AppContext, job: Job) -> JobInfo:
    """Return Slurm's state of a job whose program says that it runs. Raises Conflict if Slurm has
    not reported that it does. Concurrent calls share one query.
    """
    info = find_last_state(context, job)
    if info is None or info.phase is not JobPhase.RUNNING:
        await context.watcher.refresh()
        info = find_last_state(context, job)
    if info is None or info.phase is not JobPhase.RUNNING or not info.nodes:
        raise Conflict("Slurm has not reported this job as running yet.")
    if not is_ours(job, info):
        raise Conflict("Slurm's job with this ID is a different one.")
    return info


def find_last_state(context: AppContext, job: Job) -> JobInfo | None:
    """Return the last state that Slurm reported of a row's job, matched by the row's ID, its owner,
    and Slurm's ID if it is known. If there is none, return None and request a lookup.
    """
    return context.watcher.find_or_request(
        job.id,
        job.user.username,
        job.job_id,
        job.created_at,
        is_external(job),
        job.submit_time,
    )


def get_node_address(context: AppContext, info: JobInfo) -> str:
    """Return the address of a job's first node as known to Slurm. Raises Conflict while it is
    unknown.
    """
    cluster = context.watcher.cluster
    for node in cluster.nodes if cluster else ():
        if node.name == info.nodes[0]:
            return node.address
    raise Conflict("Slurm has not reported this node's address yet.")
