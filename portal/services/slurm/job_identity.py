"""Verification of the Slurm job behind a job ID, right before any action on the job by its ID.

slurmctld reuses job IDs once it has lost its state. So a job ID in a row proves nothing: the
current job of this ID must belong to the row's user, and must carry the row's UUID or have been
submitted when the row's job was (lifecycle.is_certainly_ours).

A race remains: slurmctld would have to stop, lose its state and reuse the ID between its answer and
the action, which is within the command's timeout. scancel, which also gets the user, then finds no
such job of theirs, so only another job of the same user can be hit. This does not hold for arrays
(`cancelling_user`) and for users that this host no longer knows, with which scancel cannot be given
the user, nor for `scontrol update`, which has no such condition. Steps are started as
the user, so Slurm refuses jobs of other users.
"""

from portal.context import AppContext
from portal.models import Job
from portal.services.slurm import lifecycle
from spawner.errors import JobNotFound
from spawner.slurm.model import JobInfo, JobPhase


async def find_job(context: AppContext, job: Job, job_id: int) -> JobInfo:
    """Return Slurm's current job of this `job_id`, with the user as named by Slurm; a live one is
    preferred to an ended one. Raises JobNotFound if it is not this row's job, and Unreachable.
    """
    shown = await context.slurm.find(job_id)
    with_names = await context.watcher.with_usernames(shown)
    ours = [
        info
        for info, with_name in zip(shown, with_names, strict=True)
        if lifecycle.is_certainly_ours(job, with_name)
    ]
    if not ours:
        raise JobNotFound("Slurm no longer has this job.")
    return min(ours, key=lambda info: info.phase is JobPhase.ENDED)


def cancelling_user(info: JobInfo) -> str | None:
    """Return the user to pass to scancel, None for an array: given a user, scancel ends an array's
    waiting tasks individually, and slurmctld then shows an ended job that is no array.
    """
    return info.user if info.array_job_id is None else None
