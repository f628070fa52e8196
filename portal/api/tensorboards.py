"""TensorBoards of sessions and jobs: wanted, looked at, ended."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from portal.api.deps import ClientIp, CurrentUser, JobsUser, PartsDep, PeopleDep, SessionsUser
from portal.api.views import TensorboardOut
from portal.errors import NotFound
from portal.models import JobKind, JobState, TensorboardState
from portal.services.jobs import jobs
from portal.services.sessions import sessions
from portal.services.tensorboards import tensorboards, viewers
from portal.settings import Settings

router = APIRouter(tags=["tensorboards"])


class TensorboardIn(BaseModel):
    """Which folder to show; by default the one PORTAL_LOGDIR names."""

    model_config = ConfigDict(extra="forbid")

    logdir: Annotated[str, Field(min_length=1, max_length=4000)] | None = None


class SeenTensorboard(BaseModel):
    """A TensorBoard that the caller may look at. `name` and `kind` are those of the session or job
    it belongs to, `parent_state` how that stands; `url` is there while the TensorBoard runs.

    Of one that somebody shares with the caller: `shared_with_you` by name, and through which
    `shared_groups` of theirs."""

    id: str
    name: str
    kind: Literal["session", "job"]
    owner: str
    owner_name: str
    parent_state: JobState
    state: TensorboardState
    reason: str | None
    url: str | None
    shared_with_you: bool
    shared_groups: list[str]

    @classmethod
    def of(cls, seen: viewers.Seen, settings: Settings) -> "SeenTensorboard":
        board = TensorboardOut.of(seen.board, settings)
        return cls(
            id=board.id,
            name=seen.name,
            kind="session" if seen.kind is JobKind.SESSION else "job",
            owner=seen.owner.username,
            owner_name=seen.owner.display_name,
            parent_state=seen.parent_state,
            state=board.state,
            reason=board.reason,
            url=board.url,
            shared_with_you=seen.by_name,
            shared_groups=seen.groups,
        )


class TensorboardPage(BaseModel):
    """TensorBoards, those of the newest session or job first; `next_cursor` asks for older ones."""

    items: list[SeenTensorboard]
    next_cursor: str | None = None


@router.get("/tensorboards")
async def list_tensorboards(
    user: CurrentUser,
    parts: PartsDep,
    people: PeopleDep,
    shared: bool = False,
    cursor: Annotated[str | None, Query(max_length=100)] = None,
) -> TensorboardPage:
    """The caller's own TensorBoards or, `shared`, those that others let them look at."""
    if shared:
        await people.freshen(user.id, user.username, user.groups_at)
    found = await viewers.page(parts.db, user, shared=shared, cursor=cursor)
    shown = found[: viewers.PAGE]
    more = viewers.cursor_of(shown[-1]) if len(found) > len(shown) else None
    items = [SeenTensorboard.of(seen, parts.settings) for seen in shown]
    return TensorboardPage(items=items, next_cursor=more)


@router.put("/sessions/{session_id}/tensorboard")
async def start_tensorboard(
    session_id: str,
    user: SessionsUser,
    parts: PartsDep,
    ip: ClientIp,
    body: TensorboardIn | None = None,
) -> TensorboardOut:
    """Have a TensorBoard for this session; what runs already is kept."""
    session = await sessions.get(parts, user, session_id)
    logdir = body.logdir if body else None
    return TensorboardOut.of(
        await tensorboards.want(parts, session, user, logdir, ip), parts.settings
    )


@router.get("/sessions/{session_id}/tensorboard")
async def get_tensorboard(session_id: str, user: CurrentUser, parts: PartsDep) -> TensorboardOut:
    """This session's TensorBoard."""
    board = await tensorboards.of_parent(parts, await sessions.get(parts, user, session_id))
    if board is None:
        raise NotFound("This session has no TensorBoard yet.")
    return TensorboardOut.of(board, parts.settings)


@router.delete("/sessions/{session_id}/tensorboard", status_code=204)
async def stop_tensorboard(
    session_id: str, user: SessionsUser, parts: PartsDep, ip: ClientIp
) -> Response:
    """End this session's TensorBoard, if there is one."""
    board = await tensorboards.of_parent(parts, await sessions.get(parts, user, session_id))
    if board is not None:
        await tensorboards.unwant(parts, board, user, ip)
    return Response(status_code=204)


@router.put("/jobs/{job_id}/tensorboard")
async def start_job_tensorboard(
    job_id: str,
    user: JobsUser,
    parts: PartsDep,
    ip: ClientIp,
    body: TensorboardIn | None = None,
) -> TensorboardOut:
    """Have a TensorBoard for this job, whether it runs or has ended; what runs already is kept."""
    job = await jobs.get(parts, user, job_id)
    logdir = body.logdir if body else None
    return TensorboardOut.of(await tensorboards.want(parts, job, user, logdir, ip), parts.settings)


@router.get("/jobs/{job_id}/tensorboard")
async def get_job_tensorboard(job_id: str, user: CurrentUser, parts: PartsDep) -> TensorboardOut:
    """This job's TensorBoard."""
    board = await tensorboards.of_parent(parts, await jobs.get(parts, user, job_id))
    if board is None:
        raise NotFound("This job has no TensorBoard yet.")
    return TensorboardOut.of(board, parts.settings)


@router.delete("/jobs/{job_id}/tensorboard", status_code=204)
async def stop_job_tensorboard(
    job_id: str, user: JobsUser, parts: PartsDep, ip: ClientIp
) -> Response:
    """End this job's TensorBoard, if there is one."""
    board = await tensorboards.of_parent(parts, await jobs.get(parts, user, job_id))
    if board is not None:
        await tensorboards.unwant(parts, board, user, ip)
    return Response(status_code=204)
