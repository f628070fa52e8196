"""Routes for the hub, over loopback: identify a cookie; start, poll and release a server."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel

from portal.errors import LoginRequired, NotFound
from portal.models import Role
from portal.services.auth import authentication, web_sessions
from portal.services.identity.roles import is_admitted_and_enabled
from portal.services.sessions import servers
from portal.web.content_host import CONTENT_HOST_HEADER
from portal.web.dependencies import ContextDep, InternalSecret, LoopbackOnly

router = APIRouter(prefix="/internal", include_in_schema=False)
Username = Annotated[str, Path(max_length=64)]
ServerName = Annotated[str, Path(max_length=64)]


class Whoami(BaseModel):
    """The user of a cookie."""

    name: str
    admin: bool


class KnownUser(Whoami):
    """A user with their present access to the hub."""

    active: bool


class Server(BaseModel):
    """The single-user server that the hub starts."""

    env: dict[str, str]
    args: list[str] = []
    base_url: str


class ServerState(BaseModel):
    """The state of a named server, and its URL."""

    alive: bool
    url: str | None = None


@router.get("/whoami", dependencies=[LoopbackOnly])
async def whoami(request: Request, context: ContextDep) -> Whoami:
    """Return the user of the cookie, without keeping the web session alive: only its owner's own
    requests do.

    With content hosts, the cookie is the one of that host, and the host must be the user's.
    """
    settings = context.settings
    hosts = settings.content.notebooks if settings.content else None
    host = hosts.to_content_host(request.headers.get(CONTENT_HOST_HEADER, "")) if hosts else None
    if hosts and host is None:
        raise LoginRequired
    token = request.cookies.get(settings.cookie_at(host), "")
    session = await web_sessions.resume_at(context.db, settings, token, host, touch=False)
    if session is None or (hosts and hosts.host_of(session.user.username) != host):
        raise LoginRequired
    return Whoami(name=session.user.username, admin=session.user.role is Role.ADMIN)


@router.get("/users/{username}", dependencies=[InternalSecret])
async def known_user(username: Username, context: ContextDep) -> KnownUser:
    """Return a user, and whether they may still use the hub."""
    user = await authentication.load_user_by_name(context.db, username)
    if user is None:
        raise NotFound
    return KnownUser(
        name=user.username, admin=user.role is Role.ADMIN, active=is_admitted_and_enabled(user)
    )


@router.put("/servers/{username}/{name}", dependencies=[InternalSecret])
async def start_server(
    username: Username, name: ServerName, body: Server, context: ContextDep
) -> dict[str, str]:
    """Start a server. The response comes once it serves."""
    return await servers.start(context, username, name, body.env, body.args, body.base_url)


@router.get("/servers/{username}/{name}", dependencies=[InternalSecret])
async def poll_server(username: Username, name: ServerName, context: ContextDep) -> ServerState:
    """Return whether the hub should treat the server as running."""
    session = await servers.find(context, username, name)
    if session is None or not await servers.is_running(context, session):
        return ServerState(alive=False)
    return ServerState(alive=True, url=servers.build_url(session))


@router.delete("/servers/{username}/{name}", status_code=202, dependencies=[InternalSecret])
async def forget_server(username: Username, name: ServerName, context: ContextDep) -> Response:
    """Record that the hub has released the server."""
    await servers.record_hub_stop(context, username, name)
    return Response(status_code=202)
