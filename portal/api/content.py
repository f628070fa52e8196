"""How a browser gets into a content host: through the portal, with a code that is good once.

content host, unknown browser ─► /content/open at the portal, which knows its cookie (or asks for
a login) ─► /content/enter at the content host, which takes the code ─► where it wanted to go
"""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from portal import errors
from portal.api.deps import Anyone, DatabaseDep, PeopleDep, SettingsDep
from portal.api.gate import METHODS, page
from portal.api.language import language_of
from portal.api.side import (
    ENTER,
    INSIDE,
    NOT_KEPT,
    OPEN,
    begin,
    content_host,
    elsewhere,
    keep,
    shown,
    to_login,
    wants_page,
)
from portal.content import ContentHosts
from portal.db import utcnow
from portal.services.login import content_logins, web_sessions
from portal.services.tensorboards import viewers
from portal.settings import Settings

router = APIRouter(include_in_schema=False)

Hash = Annotated[str, Query(pattern="^[0-9a-f]{64}$")]
Next = Annotated[str, Query(alias="next", max_length=3100)]
Short = Annotated[str, Query(max_length=300)]
NOT_YOURS = "Only the person who started a session can open it. Are you logged in as them?"
USED = "The link that opens it was used before, was too old, or came from another browser."


def _hosts(request: Request, settings: Settings, *, at_content: bool) -> ContentHosts:
    """The content hosts, where there are any and this is (not) one of them; else NotFound."""
    hosts = settings.content
    if hosts is None or (content_host(request, settings) is not None) is not at_content:
        raise errors.NotFound
    return hosts


@router.get(OPEN, dependencies=[Anyone])
async def open_content(
    request: Request,
    database: DatabaseDep,
    settings: SettingsDep,
    people: PeopleDep,
    host: Short,
    state: Hash,
    back: Next,
) -> Response:
    """At the portal: a code for that content host, for whom the portal's own cookie is."""
    hosts = _hosts(request, settings, at_content=False)
    found = hosts.here(host)
    if found is None or not INSIDE.fullmatch(back) or not wants_page(request):
        raise errors.NotFound
    token, _ = shown(request, settings)
    session = await web_sessions.resume(database, settings, token)
    if session is None:
        return to_login(request, settings)
    _, board = await viewers.look(database, settings, people, token, _board_of(back))
    theirs = {session.user.username, *([board.owner] if board else [])}
    if found not in {hosts.host_of(name) for name in theirs}:
        language = await language_of(request, database, session.user_id)
        return page("This belongs to somebody else", [NOT_YOURS], language, status=403)
    code = await content_logins.issue(database, session, found, state)
    if code is None:
        return to_login(request, settings)
    to = urlencode({"code": code, "next": back})
    return RedirectResponse(
        f"{hosts.scheme}://{found}{ENTER}?{to}", status_code=302, headers=NOT_KEPT
    )


def _board_of(path: str) -> str:
    """The TensorBoard that a path leads to, which may be another's; "" for none."""
    parts = path.split("/")
    return parts[2] if parts[1] == "tensorboard" else ""


@router.get(ENTER, dependencies=[Anyone])
async def enter(
    request: Request, database: DatabaseDep, settings: SettingsDep, code: Short, back: Next = "/"
) -> Response:
    """At a content host: a code that this browser was sent for becomes the cookie of this host."""
    _hosts(request, settings, at_content=True)
    token, host = shown(request, settings)
    if host is None or not INSIDE.fullmatch(back):
        raise errors.NotFound
    state = request.cookies.get(settings.entry_cookie, "")
    entered = await content_logins.exchange(database, settings, code, host, state)
    if entered is not None:
        token, session = entered
        answer = RedirectResponse(back, status_code=303, headers=NOT_KEPT)
        left = int((session.expires_at - utcnow()).total_seconds())
        keep(answer, settings, settings.content_cookie, token, left)
        return answer
    if await web_sessions.resume_at(database, settings, token, host, touch=False) is not None:
        # another tab was faster
        return RedirectResponse(back, status_code=303, headers=NOT_KEPT)
    language = await language_of(request, database, None)
    again = (back, "Try again")
    return page("This page could not be opened", [USED], language, status=403, link=again)


@router.get("/content/begin", dependencies=[Anyone])
async def begin_content(request: Request, settings: SettingsDep, back: Next = "/") -> Response:
    """At a content host: where the hub sends a browser that it doesn't know."""
    _hosts(request, settings, at_content=True)
    host = content_host(request, settings)
    if host is None or not INSIDE.fullmatch(back):
        raise errors.NotFound
    return begin(request, settings, host, back)


@router.api_route("/hub/{path:path}", methods=METHODS, dependencies=[Anyone])
async def hub_elsewhere(request: Request, database: DatabaseDep, settings: SettingsDep) -> Response:
    """At the portal, an old address of the hub's: its pages are at one's content host."""
    hosts = _hosts(request, settings, at_content=False)
    if not hosts.by_person:
        return elsewhere(request, hosts.origin_of(""))
    token, _ = shown(request, settings)
    session = await web_sessions.resume(database, settings, token, touch=False)
    if session is None and wants_page(request):
        return to_login(request, settings)
    if session is None:
        raise errors.LoginRequired
    return elsewhere(request, hosts.origin_of(session.user.username))
