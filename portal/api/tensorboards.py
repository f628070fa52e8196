"""TensorBoards of sessions and jobs: wanted, looked at, ended."""

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from portal.api.deps import ClientIp, CurrentUser, PartsDep
from portal.api.views import TensorboardOut
from portal.errors import NotFound
from portal.services import jobs, sessions, tensorboards

router = APIRouter(tags=["tensorboards"])


class TensorboardIn(BaseModel):
    """Which folder to show; by default the one PORTAL_LOGDIR names."""

    model_config = ConfigDict(extra="forbid")

    logdir: Annotated[str, Field(min_length=1, max_length=4000)] | None = None


@router.put("/sessions/{session_id}/tensorboard")
async def start_tensorboard(
    session_id: str,
    user: CurrentUser,
    parts: PartsDep,
    ip: ClientIp,
    body: TensorboardIn | None = None,
) -> TensorboardOut:
    """Have a TensorBoard for this session; what runs already is kept."""
    session = await sessions.get(parts, user, session_id)
    logdir = body.logdir if body else None
    return TensorboardOut.of(await tensorboards.want(parts, session, user, logdir, ip))


@router.get("/sessions/{session_id}/tensorboard")
async def get_tensorboard(session_id: str, user: CurrentUser, parts: PartsDep) -> TensorboardOut:
    """This session's TensorBoard."""
    board = await tensorboards.of_parent(parts, await sessions.get(parts, user, session_id))
    if board is None:
        raise NotFound("This session has no TensorBoard yet.")
    return TensorboardOut.of(board)


@router.delete("/sessions/{session_id}/tensorboard", status_code=204)
async def stop_tensorboard(
    session_id: str, user: CurrentUser, parts: PartsDep, ip: ClientIp
) -> Response:
    """End this session's TensorBoard, if there is one."""
    board = await tensorboards.of_parent(parts, await sessions.get(parts, user, session_id))
    if board is not None:
        await tensorboards.unwant(parts, board, user, ip)
    return Response(status_code=204)


@router.put("/jobs/{job_id}/tensorboard")
async def start_job_tensorboard(
    job_id: str,
    user: CurrentUser,
    parts: PartsDep,
    ip: ClientIp,
    body: TensorboardIn | None = None,
) -> TensorboardOut:
    """Have a TensorBoard for this job, whether it runs or has ended; what runs already is kept."""
    job = await jobs.get(parts, user, job_id)
    logdir = body.logdir if body else None
    return TensorboardOut.of(await tensorboards.want(parts, job, user, logdir, ip))


@router.get("/jobs/{job_id}/tensorboard")
async def get_job_tensorboard(job_id: str, user: CurrentUser, parts: PartsDep) -> TensorboardOut:
    """This job's TensorBoard."""
    board = await tensorboards.of_parent(parts, await jobs.get(parts, user, job_id))
    if board is None:
        raise NotFound("This job has no TensorBoard yet.")
    return TensorboardOut.of(board)


@router.delete("/jobs/{job_id}/tensorboard", status_code=204)
async def stop_job_tensorboard(
    job_id: str, user: CurrentUser, parts: PartsDep, ip: ClientIp
) -> Response:
    """End this job's TensorBoard, if there is one."""
    board = await tensorboards.of_parent(parts, await jobs.get(parts, user, job_id))
    if board is not None:
        await tensorboards.unwant(parts, board, user, ip)
    return Response(status_code=204)
