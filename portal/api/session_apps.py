"""Routes of the apps inside a session: list, start, stop, restart."""

from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

from portal import errors
from portal.context import AppContext
from portal.models import Session
from portal.services.sessions import apps, sessions
from portal.web.dependencies import ClientIp, ContextDep, CurrentUser, SessionsUser
from spawner.names import remove_invisible

router = APIRouter(tags=["sessions"])

AppName = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9-]{0,19}$")]
Visible = AfterValidator(remove_invisible)
VisibleLines = AfterValidator(partial(remove_invisible, kept="\n\t"))


class AppIn(BaseModel):
    """What to start an app with: a file, or a command and the port on which it listens.

    Which of them it needs is its `input`. `replace`: if it runs with another input, stop it first,
    once this one has turned out to be valid.
    """

    model_config = ConfigDict(extra="forbid")

    file: Annotated[str, Field(min_length=1, max_length=4000)] | None = None
    command: Annotated[str, Field(min_length=1, max_length=4000)] | None = None
    port: Annotated[int, Field(strict=True, ge=1024, le=65535)] | None = None
    replace: Annotated[bool, Field(strict=True)] = False


class AppOut(BaseModel):
    """An app of a session.

    `input` is what starting it needs, `extensions` the endings of names that it accepts. `state` is
    `failed` if it ended without being stopped, or did not become ready: `problem` is why, and `log`
    has the last lines of its output. `url` is its address while it runs. Texts have no invisible
    characters.
    """

    name: AppName
    title: Annotated[str, Field(max_length=80), Visible]
    description: Annotated[str, Field(max_length=500), Visible]
    input: Literal["file", "command"] | None
    extensions: Annotated[list[Annotated[str, Field(max_length=21)]], Field(max_length=20)]
    state: Literal["stopped", "starting", "running", "failed"]
    problem: Annotated[str, Field(max_length=1000), Visible] | None = None
    started_at: datetime | None = None
    file: Annotated[str, Field(max_length=4000), Visible] | None = None
    command: Annotated[str, Field(max_length=4000), VisibleLines] | None = None
    port: int | None = None
    log: Annotated[list[Annotated[str, Field(max_length=500), Visible]], Field(max_length=40)] = []
    url: str | None = None


class AppsOut(BaseModel):
    """The apps that a session offers."""

    items: list[AppOut]


@router.get("/sessions/{session_id}/apps")
async def list_session_apps(session_id: str, user: CurrentUser, context: ContextDep) -> AppsOut:
    """Return the apps that one of the caller's running sessions offers; 424 if it doesn't run."""
    session = await sessions.get(context, user, session_id)
    found = await apps.list_apps(context, session)
    return AppsOut(items=[to_app(context, session, app) for app in found])


@router.put("/sessions/{session_id}/apps/{name}")
async def start_session_app(
    session_id: str,
    name: AppName,
    body: AppIn,
    user: SessionsUser,
    context: ContextDep,
    ip: ClientIp,
) -> AppOut:
    """Start an app in a running session. It is ready once its `state` is `running`.

    Repeating the request has no effect. 409 if it runs with another input, unless `replace` is set.
    """
    session = await sessions.get(context, user, session_id)
    app = await apps.change_app(context, session, "PUT", name, body.model_dump(), ip=ip)
    return to_app(context, session, app)


@router.delete("/sessions/{session_id}/apps/{name}")
async def stop_session_app(
    session_id: str, name: AppName, user: SessionsUser, context: ContextDep, ip: ClientIp
) -> AppOut:
    """Stop an app, and return it once it has ended."""
    session = await sessions.get(context, user, session_id)
    app = await apps.change_app(context, session, "DELETE", name, ip=ip)
    return to_app(context, session, app)


@router.post("/sessions/{session_id}/apps/{name}/restart")
async def restart_session_app(
    session_id: str, name: AppName, user: SessionsUser, context: ContextDep, ip: ClientIp
) -> AppOut:
    """Stop an app and start it with the same input, without waiting until it has ended; 409 if it
    was never started.
    """
    session = await sessions.get(context, user, session_id)
    app = await apps.change_app(context, session, "POST", name, ip=ip)
    return to_app(context, session, app)


def to_app(context: AppContext, session: Session, found: Any) -> AppOut:
    """Return an app as the session's server describes it. Raises Unavailable if it is malformed."""
    try:
        app = AppOut.model_validate(found)
    except ValidationError as error:
        raise errors.Unavailable(apps.NO_ANSWER) from error
    path = f"{session.base_url}app/{app.name}/"
    url = context.settings.notebook_address(session.user.username, path)
    return app.model_copy(update={"url": url if app.state == "running" else None})
