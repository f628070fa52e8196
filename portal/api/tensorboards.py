"""Routes of the TensorBoards of sessions and jobs: start, list, open, stop."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from portal.api.common_schemas import TensorboardOut
from portal.context import AppContext
from portal.errors import NotFound, NotRunning
from portal.models import BatchJob, JobKind, JobState, Session, TensorboardState, User
from portal.services.jobs import jobs
from portal.services.sessions import sessions
from portal.services.tensorboards import access, runs, tensorboards, tickets
from portal.web.dependencies import (
    ClientIp,
    ContextDep,
    CurrentUser,
    CurrentWebSession,
    jobs_user,
    sessions_user,
)
from portal.web.pages import Page

router = APIRouter(tags=["tensorboards"])


class TensorboardIn(BaseModel):
    """The folder to show; by default the one in PORTAL_LOGDIR."""

    model_config = ConfigDict(extra="forbid")

    logdir: Annotated[str, Field(min_length=1, max_length=4000)] | None = None


class SeenTensorboard(BaseModel):
    """A TensorBoard that the caller may view.

    `name`, `kind` and `parent_state` are of the session or job it belongs to;
    `url`, the portal's page that opens it, is present while the TensorBoard runs.

    For a shared one: `shared_with_you` if it is shared by username, and `shared_groups` are the
    caller's groups that it is shared with.
    """

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
    def of(cls, seen: access.ListedTensorboard) -> "SeenTensorboard":
        board = TensorboardOut.of(seen.board)
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


@router.get("/tensorboards")
async def list_tensorboards(
    user: CurrentUser,
    context: ContextDep,
    shared: bool = False,
    cursor: Annotated[str | None, Query(max_length=100)] = None,
) -> Page[SeenTensorboard]:
    """Return the caller's own TensorBoards or, with `shared`, those that other users share with
    them, sorted by their session or job, newest first.
    """
    if shared:
        await context.directory_users.refresh_if_old(user.id, user.username, user.groups_at)
    rows = await access.page(context.db, user, shared=shared, cursor=cursor)
    shown = rows[: access.PAGE]
    next_cursor = access.cursor_of(shown[-1]) if len(rows) > len(shown) else None
    items = [SeenTensorboard.of(seen) for seen in shown]
    return Page[SeenTensorboard](items=items, next_cursor=next_cursor)


class OpenTensorboard(BaseModel):
    """The address at which this browser can view a TensorBoard; valid for its login only."""

    url: str


@router.post("/tensorboards/{tensorboard_id}/open")
async def open_tensorboard(
    tensorboard_id: str, _session: CurrentWebSession, request: Request, context: ContextDep
) -> OpenTensorboard:
    """Return the address at which this browser can view a TensorBoard: the caller's own or a shared
    one.

    While the TensorBoard starts or moves to another job, the page there shows that and opens it
    once it runs. 424 for one that has stopped or failed.
    """
    settings = context.settings
    token = request.cookies.get(settings.cookie_name, "")
    login, board = await access.load_access(context, token, tensorboard_id)
    if login is None or board is None:
        raise NotFound("TensorBoard not found.")
    if board.state not in runs.LIVE:
        raise NotRunning(" ".join(filter(None, ("This TensorBoard isn't running.", board.reason))))
    ticket = tickets.issue_ticket(settings, login.web_session_id, board.id)
    return OpenTensorboard(url=tickets.ticketed_address(settings, board.owner, board.id, ticket))


NONE_YET = {
    "session": "This session has no TensorBoard yet.",
    "job": "This job has no TensorBoard yet.",
}


def _create_router(
    kind: Literal["session", "job"],
    get: Callable[[AppContext, User, str], Awaitable[Session | BatchJob]],
    guard: Callable[..., Awaitable[User]],
) -> APIRouter:
    """Return the routes of the TensorBoards of sessions or of jobs; `get` returns the caller's own,
    `guard` authorizes changes.
    """
    id_name = "session_id" if kind == "session" else "batch_job_id"
    router = APIRouter(prefix=f"/{kind}s/{{{id_name}}}/tensorboard")
    ParentId = Annotated[str, Path(alias=id_name)]  # noqa: N806 - a type
    Owner = Annotated[User, Depends(guard)]  # noqa: N806

    @router.put("", name=f"start_{kind}_tensorboard")
    async def start_tensorboard(
        parent_id: ParentId,
        user: Owner,
        context: ContextDep,
        ip: ClientIp,
        body: TensorboardIn | None = None,
    ) -> TensorboardOut:
        """Start a TensorBoard for this session or job, also for an ended job; a running one is
        kept.
        """
        parent = await get(context, user, parent_id)
        logdir = body.logdir if body else None
        return TensorboardOut.of(
            await tensorboards.request_start(context, parent, user, logdir, ip)
        )

    @router.get("", name=f"get_{kind}_tensorboard")
    async def get_tensorboard(
        parent_id: ParentId, user: CurrentUser, context: ContextDep
    ) -> TensorboardOut:
        """Return the TensorBoard of this session or job."""
        parent = await get(context, user, parent_id)
        board = await tensorboards.load_tensorboard(context, parent)
        if board is None:
            raise NotFound(NONE_YET[kind])
        return TensorboardOut.of(board)

    @router.delete("", name=f"stop_{kind}_tensorboard", status_code=204)
    async def stop_tensorboard(
        parent_id: ParentId, user: Owner, context: ContextDep, ip: ClientIp
    ) -> Response:
        """Stop the TensorBoard of this session or job, if there is one."""
        parent = await get(context, user, parent_id)
        board = await tensorboards.load_tensorboard(context, parent)
        if board is not None:
            await tensorboards.request_stop(context, board, user, ip)
        return Response(status_code=204)

    return router


router.include_router(_create_router("session", sessions.get, sessions_user))
router.include_router(_create_router("job", jobs.get, jobs_user))
