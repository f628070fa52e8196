"""What the hub asks, over loopback: whose cookie is this, and start, poll, forget a server."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel

from portal.api.deps import InternalSecret, LoopbackOnly, PartsDep, SettingsDep
from portal.api.side import CONTENT_HOST
from portal.errors import LoginRequired, NotFound
from portal.models import Role
from portal.services.login import accounts, web_sessions
from portal.services.people.roles import may_enter
from portal.services.sessions import servers

router = APIRouter(prefix="/internal", include_in_schema=False)
Username = Annotated[str, Path(max_length=64)]


class Whoami(BaseModel):
    """Whose cookie it was."""

    name: str
    admin: bool


class KnownUser(Whoami):
    """A user as the hub may treat them now."""

    active: bool


class Server(BaseModel):
    """The single-user server that the hub wants to run."""

    env: dict[str, str]
    args: list[str] = []
    base_url: str


class ServerState(BaseModel):
    """Whether a named server runs, and where."""

    alive: bool
    url: str | None = None


@router.get("/whoami", dependencies=[LoopbackOnly])
async def whoami(request: Request, parts: PartsDep, settings: SettingsDep) -> Whoami:
    """Does not keep the web session alive: only its owner's own requests do. Where content has
    hosts of its own, it is that host's cookie, and whoever's host it is."""
    hosts = settings.content
    host = hosts.here(request.headers.get(CONTENT_HOST, "")) if hosts else None
    if hosts and host is None:
        raise LoginRequired
    token = request.cookies.get(settings.content_cookie if hosts else settings.cookie_name, "")
    session = await web_sessions.resume_at(parts.db, settings, token, host, touch=False)
    if session is None or (hosts and hosts.host_of(session.user.username) != host):
        raise LoginRequired
    return Whoami(name=session.user.username, admin=session.user.role is Role.ADMIN)


@router.get("/users/{username}", dependencies=[InternalSecret])
async def known_user(username: Username, parts: PartsDep) -> KnownUser:
    """Whether someone may still use the hub."""
    user = await accounts.by_username(parts.db, username)
    if user is None:
        raise NotFound
    return KnownUser(name=user.username, admin=user.role is Role.ADMIN, active=may_enter(user))


@router.put("/servers/{username}/{name}", dependencies=[InternalSecret])
async def start_server(
    username: Username, name: Username, body: Server, parts: PartsDep
) -> dict[str, str]:
    """Answers once the server serves."""
    return await servers.start(parts, username, name, body.env, body.args, body.base_url)


@router.get("/servers/{username}/{name}", dependencies=[InternalSecret])
async def poll_server(username: Username, name: Username, parts: PartsDep) -> ServerState:
    """Whether the hub should think that it runs."""
    session = await servers.find(parts, username, name)
    if session is None or not await servers.runs(parts, session):
        return ServerState(alive=False)
    return ServerState(alive=True, url=servers.url_of(session))


@router.delete("/servers/{username}/{name}", status_code=202, dependencies=[InternalSecret])
async def forget_server(username: Username, name: Username, parts: PartsDep) -> Response:
    """The hub lets go of it."""
    await servers.forget(parts, username, name)
    return Response(status_code=202)
