"""Routes of sessions: start, list, read, extend, stop."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from portal.api.common_schemas import ResourcesIn
from portal.api.session_schemas import SessionOut, sessions_out
from portal.context import AppContext
from portal.errors import NotFound
from portal.models import JobState, Session
from portal.services.idempotency import IdempotentRequest
from portal.services.sessions import extending, notebooks, sessions
from portal.web.dependencies import (
    ClientIp,
    ContextDep,
    CurrentUser,
    FilesUser,
    IdempotencyKey,
    Reader,
    RecentPasswordAdmin,
    SessionsUser,
)
from portal.web.pages import Page

router = APIRouter(tags=["sessions"])
Cursor = Annotated[str | None, Query(max_length=100)]


class SessionIn(BaseModel):
    """A session to start.

    `starter` is one of the environment's `starters`: it is copied into the home, unless a file of
    its name exists, and JupyterLab opens with it.
    """

    model_config = ConfigDict(extra="forbid")

    environment: Annotated[str, Field(min_length=1, max_length=100)]
    name: Annotated[str, Field(max_length=64)] | None = None
    resources: ResourcesIn = ResourcesIn()
    starter: Annotated[str, Field(min_length=1, max_length=200)] | None = None


@router.post("/sessions", status_code=201)
async def start_session(
    body: SessionIn,
    user: SessionsUser,
    context: ContextDep,
    ip: ClientIp,
    idempotency_key: IdempotencyKey = None,
) -> SessionOut:
    """Start a session. A request that can never run is refused, naming the invalid field;
    otherwise it is queued.

    With an Idempotency-Key, the same request returns the same session, however often it is sent; a
    different request under the same key is refused (409).
    """
    fields = body.model_dump()
    session = await sessions.create(
        context, user, environment=body.environment, name=body.name, requested=fields["resources"],
        starter=body.starter, idempotent=IdempotentRequest.of(fields, idempotency_key), ip=ip,
    )  # fmt: skip
    return (await sessions_out(context, [session]))[0]


@router.get("/sessions")
async def list_sessions(
    user: CurrentUser,
    context: ContextDep,
    state: Literal["live", "all"] = "all",
    cursor: Cursor = None,
) -> Page[SessionOut]:
    """Return the caller's sessions, newest first."""
    rows = await sessions.page(context, user=user, live=state == "live", cursor=cursor)
    return await _to_page(context, rows)


@router.get("/sessions/{session_id}")
async def get_session(session_id: str, user: CurrentUser, context: ContextDep) -> SessionOut:
    """Return one of the caller's sessions."""
    return (await sessions_out(context, [await sessions.get(context, user, session_id)]))[0]


# A client that means to stop a session must not remove it because it has ended just before.
Removes = Annotated[
    bool, Query(description="`false`: one that has ended stays on the list (202), as it is.")
]


@router.delete(
    "/sessions/{session_id}", status_code=202, responses={204: {"description": "Removed"}}
)
async def stop_session(
    session_id: str, user: SessionsUser, context: ContextDep, ip: ClientIp, remove: Removes = True
) -> Response:
    """Stop a session (202); an ended one is removed from the list (204)."""
    session = await sessions.get(context, user, session_id)
    if remove and session.state is JobState.ENDED:
        await sessions.remove(context, session, by=user, ip=ip)
        return Response(status_code=204)
    stopping = await sessions.stop(context, session, by=user, ip=ip)
    (shown,) = await sessions_out(context, [stopping])
    return Response(shown.model_dump_json(), status_code=202, media_type="application/json")


class ExtendIn(BaseModel):
    """The time to add."""

    model_config = ConfigDict(extra="forbid")

    minutes: Annotated[int, Field(strict=True, ge=1, le=525_600)]


@router.post("/sessions/{session_id}/extend")
async def extend_session(
    session_id: str, body: ExtendIn, user: SessionsUser, context: ContextDep, ip: ClientIp
) -> SessionOut:
    """Extend a running session, as far as the site, its partition, account and QOS, and
    reservations of its node allow.

    409 if it cannot be extended, 422 if the time is too long, with the reason.
    """
    session = await sessions.get(context, user, session_id)
    extended = await extending.extend(context, user, session, body.minutes, ip=ip)
    return (await sessions_out(context, [extended]))[0]


class NotebookOut(BaseModel):
    """A notebook in the owner's home.

    `environment` is the one to run it in: the environment of the kernel that it names, else the
    session's own; null if that has no kernel.
    """

    path: str
    changed_at: datetime
    environment: str | None


class NotebooksOut(BaseModel):
    """The most recently changed notebooks, newest first.

    `complete` is false if the home holds more than were examined. Hidden folders and copies made by
    jobs are left out.
    """

    items: list[NotebookOut]
    complete: bool


@router.get("/sessions/{session_id}/notebooks")
async def session_notebooks(session_id: str, user: FilesUser, context: ContextDep) -> NotebooksOut:
    """Return the owner's notebooks, with the data that the template `notebook` needs to run them as
    jobs.
    """
    session = await sessions.get(context, user, session_id)
    files, complete = await notebooks.list_notebooks(context, session)
    return NotebooksOut(
        items=[NotebookOut(**asdict(notebook)) for notebook in files], complete=complete
    )


@router.get("/admin/sessions")
async def list_all_sessions(
    _reader: Reader,
    context: ContextDep,
    state: Literal["live", "all"] = "live",
    cursor: Cursor = None,
) -> Page[SessionOut]:
    """Return all users' sessions, newest first, for administrators and viewers."""
    return await _to_page(
        context, await sessions.page(context, user=None, live=state == "live", cursor=cursor)
    )


@router.delete("/admin/sessions/{session_id}", status_code=202)
async def stop_any_session(
    session_id: str, admin: RecentPasswordAdmin, context: ContextDep, ip: ClientIp
) -> SessionOut:
    """Stop any user's session."""
    async with context.db.session() as db:
        session = await db.get(Session, session_id)
    if session is None:
        raise NotFound("There is no such session.")
    stopping = await sessions.stop(context, session, by=admin, ip=ip)
    return (await sessions_out(context, [stopping]))[0]


async def _to_page(context: AppContext, rows: list[Session]) -> Page[SessionOut]:
    shown = await sessions_out(context, rows[: sessions.PAGE])
    return Page[SessionOut](items=shown, next_cursor=sessions.cursor_of(rows))
