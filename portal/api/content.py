"""Routes by which a browser logs in at a content host (web/content_host.py): through the portal,
with a single-use code.

content host, unknown browser ─► /content/open at the portal, which reads its own cookie (or asks
for a login) ─► /content/enter at the content host, which takes the code ─► the original page
"""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from portal import errors
from portal.api.gate import METHODS, page
from portal.config.origins import ContentOrigins
from portal.config.settings import Settings
from portal.db import utcnow
from portal.services.auth import content_logins, web_sessions
from portal.services.tensorboards import access
from portal.web.content_host import (
    BEGIN,
    ENTER,
    NO_STORE_HEADERS,
    OPEN,
    RETURN_PATH,
    content_host,
    read_cookie,
    redirect_for_code,
    redirect_to_origin,
    set_cookie,
    to_login,
    wants_page,
)
from portal.web.dependencies import Anyone, ContextDep, SettingsDep
from portal.web.language import language_of

router = APIRouter(include_in_schema=False)

StateHash = Annotated[str, Query(pattern="^[0-9a-f]{64}$")]
ReturnPath = Annotated[str, Query(alias="next", max_length=3100)]
ShortText = Annotated[str, Query(max_length=300)]
NOT_YOURS = (
    "Only the user who started a session can open it. Check that you are logged in as that user."
)
USED = "The link was already used, has expired, or was opened in another browser."


def _require_origins(request: Request, settings: Settings, *, at_content: bool) -> ContentOrigins:
    """Return the content origins if this request's host is (or is not) a content host, as
    `at_content` demands.

    Raises NotFound otherwise, or without content hosts.
    """
    origins = settings.content
    if origins is None or (content_host(request, settings) is not None) is not at_content:
        raise errors.NotFound
    return origins


@router.get(OPEN, dependencies=[Anyone])
async def open_content(
    request: Request, context: ContextDep, host: ShortText, state: StateHash, back: ReturnPath
) -> Response:
    """Redirect from the portal to a content host, with a code for the web session that the
    portal's cookie identifies.
    """
    database, settings = context.db, context.settings
    origins = _require_origins(request, settings, at_content=False)
    netloc = origins.to_content_host(host)
    if netloc is None or not RETURN_PATH.fullmatch(back) or not wants_page(request):
        raise errors.NotFound
    token, _ = read_cookie(request, settings)
    session = await web_sessions.resume(database, settings, token)
    if session is None:
        return to_login(request, settings)
    _, board = await access.load_access(context, token, _parse_tensorboard_id(back))
    theirs = {session.user.username, *([board.owner] if board else [])}
    hosts = origins.notebooks if origins.is_notebook(netloc) else origins.tensorboards
    if netloc not in {hosts.host_of(name) for name in theirs}:
        language = await language_of(request, database, session.user_id)
        return page("This belongs to another user", [NOT_YOURS], language, status=403)
    code = await content_logins.issue(database, session, netloc, state)
    if code is None:
        return to_login(request, settings)
    to = urlencode({"code": code, "next": back})
    return RedirectResponse(
        f"{hosts.scheme}://{netloc}{ENTER}?{to}", status_code=302, headers=NO_STORE_HEADERS
    )


def _parse_tensorboard_id(path: str) -> str:
    """Return the id of the TensorBoard that a path leads to, which another user may own; "" for
    none.
    """
    parts = path.split("/")
    return parts[2] if parts[1] == "tensorboard" else ""


@router.get(ENTER, dependencies=[Anyone])
async def enter(
    request: Request, context: ContextDep, code: ShortText, back: ReturnPath = "/"
) -> Response:
    """Exchange a code for a cookie of this content host, in the browser that was sent for it."""
    settings = context.settings
    _require_origins(request, settings, at_content=True)
    token, host = read_cookie(request, settings)
    if host is None or not RETURN_PATH.fullmatch(back):
        raise errors.NotFound
    state = request.cookies.get(settings.entry_cookie, "")
    entered = await content_logins.exchange(context.db, settings, code, host, state)
    if entered is not None:
        token, session = entered
        answer = RedirectResponse(back, status_code=303, headers=NO_STORE_HEADERS)
        left = int((session.expires_at - utcnow()).total_seconds())
        set_cookie(answer, settings, settings.cookie_at(host), token, left)
        return answer
    if await web_sessions.resume_at(context.db, settings, token, host, touch=False) is not None:
        # another tab has already exchanged a code
        return RedirectResponse(back, status_code=303, headers=NO_STORE_HEADERS)
    language = await language_of(request, context.db, None)
    again = (back, "Try again")
    return page("This page could not be opened", [USED], language, status=403, links=[again])


@router.get(BEGIN, dependencies=[Anyone])
async def begin_content(
    request: Request, settings: SettingsDep, back: ReturnPath = "/"
) -> Response:
    """Start the login at a content host, where the hub sends an unknown browser."""
    _require_origins(request, settings, at_content=True)
    host = content_host(request, settings)
    if host is None or not RETURN_PATH.fullmatch(back):
        raise errors.NotFound
    return redirect_for_code(request, settings, host, back)


@router.api_route("/hub/{path:path}", methods=METHODS, dependencies=[Anyone])
async def redirect_hub(request: Request, context: ContextDep) -> Response:
    """Redirect an old address of the hub at the portal to the user's content host."""
    settings = context.settings
    hosts = _require_origins(request, settings, at_content=False).notebooks
    if not hosts.per_user:
        return redirect_to_origin(request, hosts.origin_of(""))
    token, _ = read_cookie(request, settings)
    session = await web_sessions.resume(context.db, settings, token, touch=False)
    if session is None and wants_page(request):
        return to_login(request, settings)
    if session is None:
        raise errors.LoginRequired
    return redirect_to_origin(request, hosts.origin_of(session.user.username))
