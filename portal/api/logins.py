"""Routes of the caller's logins: list and end the browsers they are logged in with."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel

from portal.services.auth import web_sessions
from portal.services.auth.browsers import name_browser, name_system
from portal.web.dependencies import ClientIp, ContextDep, CurrentWebSession

router = APIRouter(prefix="/me/logins", tags=["login"])


class LoginSummary(BaseModel):
    """An open login.

    `browser` and `system` are short names such as "Firefox" and "Linux", empty if unknown;
    `last_used_at` is to the minute; `current`: the login of this request.
    """

    id: str
    address: str
    browser: str
    system: str
    began_at: datetime
    last_used_at: datetime
    expires_at: datetime
    current: bool


class Logins(BaseModel):
    """The caller's open logins, the most recently used first.

    `max_logins` is how many are kept: a further one ends the least recently used.
    """

    items: list[LoginSummary]
    max_logins: int


@router.get("")
async def list_logins(session: CurrentWebSession, context: ContextDep) -> Logins:
    """List the caller's open logins."""
    open_sessions = await web_sessions.list_open(context.db, context.settings, session.user_id)
    items = [
        LoginSummary(
            id=login.id,
            address=login.ip,
            browser=name_browser(login.user_agent),
            system=name_system(login.user_agent),
            began_at=login.created_at,
            last_used_at=login.last_seen_at,
            expires_at=login.expires_at,
            current=login.id == session.id,
        )
        for login in open_sessions
    ]
    return Logins(items=items, max_logins=context.settings.logins_per_user)


@router.delete("", status_code=204)
async def end_other_logins(session: CurrentWebSession, context: ContextDep, ip: ClientIp) -> None:
    """End all of the caller's logins but this one."""
    await web_sessions.end_others(context.db, session, ip)


@router.delete("/{login_id}", status_code=204)
async def end_login(
    login_id: Annotated[str, Path(max_length=36)],
    session: CurrentWebSession,
    context: ContextDep,
    ip: ClientIp,
) -> None:
    """End one of the caller's logins: its next request is refused."""
    await web_sessions.end_one(context.db, session, login_id, ip)
