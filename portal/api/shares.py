"""Who else may look at the TensorBoard of a session or job: shown, given, taken back.

Only the owner's, as `jobs.get` and `sessions.get` see to: to everyone else there is no such thing.
"""

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel

from portal.api.deps import ClientIp, CurrentUser, JobsUser, PartsDep, PeopleDep, SessionsUser
from portal.services.jobs import jobs
from portal.services.sessions import sessions
from portal.services.tensorboards import shares
from portal.services.tensorboards.shares import SharedWith, Whom

router = APIRouter(tags=["tensorboards"])
Username = Annotated[str, Path(max_length=100)]
Group = Annotated[str, Path(max_length=400)]


class SharesOut(BaseModel):
    """Who besides the owner may look at a TensorBoard: people, and groups of the directory."""

    shared_with: list[str]
    shared_groups: list[str]

    @classmethod
    def of(cls, shared: SharedWith) -> "SharesOut":
        return cls(shared_with=shared.people, shared_groups=shared.groups)


@router.get("/jobs/{job_id}/shares")
async def job_shares(job_id: str, user: CurrentUser, parts: PartsDep) -> SharesOut:
    """With whom this job's TensorBoard is shared."""
    return SharesOut.of(await shares.of(parts, await jobs.get(parts, user, job_id)))


@router.put("/jobs/{job_id}/shares/{username}")
async def share_job(
    job_id: str,
    username: Username,
    user: JobsUser,
    parts: PartsDep,
    people: PeopleDep,
    ip: ClientIp,
) -> SharesOut:
    """Let someone look at this job's TensorBoard, and at nothing else."""
    job = await jobs.get(parts, user, job_id)
    return SharesOut.of(await shares.add(parts, people, job, Whom(username), by=user, ip=ip))


@router.delete("/jobs/{job_id}/shares/{username}")
async def unshare_job(
    job_id: str, username: Username, user: JobsUser, parts: PartsDep, ip: ClientIp
) -> SharesOut:
    """Take that back: the next request of theirs is refused."""
    job = await jobs.get(parts, user, job_id)
    return SharesOut.of(await shares.remove(parts, job, Whom(username), by=user, ip=ip))


@router.put("/jobs/{job_id}/shares/groups/{group:path}")
async def share_job_with_group(
    job_id: str,
    group: Group,
    user: JobsUser,
    parts: PartsDep,
    people: PeopleDep,
    ip: ClientIp,
) -> SharesOut:
    """Let everyone in a group look at this job's TensorBoard; one of the caller's own groups."""
    job = await jobs.get(parts, user, job_id)
    return SharesOut.of(await shares.add(parts, people, job, Whom(group=group), by=user, ip=ip))


@router.delete("/jobs/{job_id}/shares/groups/{group:path}")
async def unshare_job_with_group(
    job_id: str, group: Group, user: JobsUser, parts: PartsDep, ip: ClientIp
) -> SharesOut:
    """Take that back."""
    job = await jobs.get(parts, user, job_id)
    return SharesOut.of(await shares.remove(parts, job, Whom(group=group), by=user, ip=ip))


@router.get("/sessions/{session_id}/shares")
async def session_shares(session_id: str, user: CurrentUser, parts: PartsDep) -> SharesOut:
    """With whom this session's TensorBoard is shared."""
    return SharesOut.of(await shares.of(parts, await sessions.get(parts, user, session_id)))


@router.put("/sessions/{session_id}/shares/{username}")
async def share_session(
    session_id: str,
    username: Username,
    user: SessionsUser,
    parts: PartsDep,
    people: PeopleDep,
    ip: ClientIp,
) -> SharesOut:
    """Let someone look at this session's TensorBoard, and at nothing else of the session."""
    session = await sessions.get(parts, user, session_id)
    return SharesOut.of(await shares.add(parts, people, session, Whom(username), by=user, ip=ip))


@router.delete("/sessions/{session_id}/shares/{username}")
async def unshare_session(
    session_id: str, username: Username, user: SessionsUser, parts: PartsDep, ip: ClientIp
) -> SharesOut:
    """Take that back: the next request of theirs is refused."""
    session = await sessions.get(parts, user, session_id)
    return SharesOut.of(await shares.remove(parts, session, Whom(username), by=user, ip=ip))


@router.put("/sessions/{session_id}/shares/groups/{group:path}")
async def share_session_with_group(
    session_id: str,
    group: Group,
    user: SessionsUser,
    parts: PartsDep,
    people: PeopleDep,
    ip: ClientIp,
) -> SharesOut:
    """Let everyone in a group look at this session's TensorBoard; one of the caller's groups."""
    session = await sessions.get(parts, user, session_id)
    whom = Whom(group=group)
    return SharesOut.of(await shares.add(parts, people, session, whom, by=user, ip=ip))


@router.delete("/sessions/{session_id}/shares/groups/{group:path}")
async def unshare_session_with_group(
    session_id: str, group: Group, user: SessionsUser, parts: PartsDep, ip: ClientIp
) -> SharesOut:
    """Take that back."""
    session = await sessions.get(parts, user, session_id)
    return SharesOut.of(await shares.remove(parts, session, Whom(group=group), by=user, ip=ip))
