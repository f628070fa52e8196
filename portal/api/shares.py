"""Routes for sharing the TensorBoard of a session or job.

Only for the owner, which `jobs.get` and `sessions.get` ensure: for other users it does not exist.
"""

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel

from portal.services.jobs import jobs
from portal.services.sessions import sessions
from portal.services.tensorboards import shares
from portal.services.tensorboards.shares import SharedWith, ShareTarget
from portal.web.dependencies import (
    ClientIp,
    ContextDep,
    CurrentUser,
    DirectoryUsersDep,
    JobsUser,
    SessionsUser,
)

router = APIRouter(tags=["tensorboards"])
Username = Annotated[str, Path(max_length=100)]
Group = Annotated[str, Path(max_length=400)]


class SharesOut(BaseModel):
    """The users and directory groups with which a TensorBoard is shared."""

    shared_with: list[str]
    shared_groups: list[str]

    @classmethod
    def of(cls, shared: SharedWith) -> "SharesOut":
        return cls(shared_with=shared.users, shared_groups=shared.groups)


@router.get("/jobs/{batch_job_id}/shares")
async def job_shares(batch_job_id: str, user: CurrentUser, context: ContextDep) -> SharesOut:
    """Return the users and groups with access to this job's TensorBoard."""
    return SharesOut.of(
        await shares.load_shares(context, await jobs.get(context, user, batch_job_id))
    )


@router.put("/jobs/{batch_job_id}/shares/{username}")
async def share_job(
    batch_job_id: str,
    username: Username,
    user: JobsUser,
    context: ContextDep,
    directory_users: DirectoryUsersDep,
    ip: ClientIp,
) -> SharesOut:
    """Share this job's TensorBoard, and nothing else, with a user."""
    job = await jobs.get(context, user, batch_job_id)
    return SharesOut.of(
        await shares.add(context, directory_users, job, ShareTarget(username), by=user, ip=ip)
    )


@router.delete("/jobs/{batch_job_id}/shares/{username}")
async def unshare_job(
    batch_job_id: str, username: Username, user: JobsUser, context: ContextDep, ip: ClientIp
) -> SharesOut:
    """Stop sharing with a user: their next request is refused."""
    job = await jobs.get(context, user, batch_job_id)
    return SharesOut.of(await shares.remove(context, job, ShareTarget(username), by=user, ip=ip))


@router.put("/jobs/{batch_job_id}/shares/groups/{group:path}")
async def share_job_with_group(
    batch_job_id: str,
    group: Group,
    user: JobsUser,
    context: ContextDep,
    directory_users: DirectoryUsersDep,
    ip: ClientIp,
) -> SharesOut:
    """Share this job's TensorBoard with the members of one of the caller's own groups."""
    job = await jobs.get(context, user, batch_job_id)
    return SharesOut.of(
        await shares.add(context, directory_users, job, ShareTarget(group=group), by=user, ip=ip)
    )


@router.delete("/jobs/{batch_job_id}/shares/groups/{group:path}")
async def unshare_job_with_group(
    batch_job_id: str, group: Group, user: JobsUser, context: ContextDep, ip: ClientIp
) -> SharesOut:
    """Stop sharing with a group."""
    job = await jobs.get(context, user, batch_job_id)
    return SharesOut.of(await shares.remove(context, job, ShareTarget(group=group), by=user, ip=ip))


@router.get("/sessions/{session_id}/shares")
async def session_shares(session_id: str, user: CurrentUser, context: ContextDep) -> SharesOut:
    """Return the users and groups with access to this session's TensorBoard."""
    return SharesOut.of(
        await shares.load_shares(context, await sessions.get(context, user, session_id))
    )


@router.put("/sessions/{session_id}/shares/{username}")
async def share_session(
    session_id: str,
    username: Username,
    user: SessionsUser,
    context: ContextDep,
    directory_users: DirectoryUsersDep,
    ip: ClientIp,
) -> SharesOut:
    """Share this session's TensorBoard, and nothing else of the session, with a user."""
    session = await sessions.get(context, user, session_id)
    return SharesOut.of(
        await shares.add(context, directory_users, session, ShareTarget(username), by=user, ip=ip)
    )


@router.delete("/sessions/{session_id}/shares/{username}")
async def unshare_session(
    session_id: str, username: Username, user: SessionsUser, context: ContextDep, ip: ClientIp
) -> SharesOut:
    """Stop sharing with a user: their next request is refused."""
    session = await sessions.get(context, user, session_id)
    return SharesOut.of(
        await shares.remove(context, session, ShareTarget(username), by=user, ip=ip)
    )


@router.put("/sessions/{session_id}/shares/groups/{group:path}")
async def share_session_with_group(
    session_id: str,
    group: Group,
    user: SessionsUser,
    context: ContextDep,
    directory_users: DirectoryUsersDep,
    ip: ClientIp,
) -> SharesOut:
    """Share this session's TensorBoard with the members of one of the caller's own groups."""
    session = await sessions.get(context, user, session_id)
    target = ShareTarget(group=group)
    return SharesOut.of(await shares.add(context, directory_users, session, target, by=user, ip=ip))


@router.delete("/sessions/{session_id}/shares/groups/{group:path}")
async def unshare_session_with_group(
    session_id: str, group: Group, user: SessionsUser, context: ContextDep, ip: ClientIp
) -> SharesOut:
    """Stop sharing with a group."""
    session = await sessions.get(context, user, session_id)
    return SharesOut.of(
        await shares.remove(context, session, ShareTarget(group=group), by=user, ip=ip)
    )
