"""/tensorboard/{id}/…: a TensorBoard's own pages, for its owner and whom it is shared with, asked
at every request.

The target and the secret come from our row alone; which headers pass is proxy.py's business.
"""

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from yarl import URL

from portal import errors
from portal.api.deps import Anyone, DatabaseDep, PartsDep, PeopleDep, SettingsDep
from portal.api.gate import HOME, Link, page
from portal.api.language import language_of
from portal.api.side import (
    at_portal,
    content_host,
    content_origin,
    elsewhere,
    shown,
    to_login,
    wants_page,
)
from portal.db import Database, utcnow
from portal.models import TensorboardState
from portal.parts import Parts
from portal.proxy import Exchange, Forwarded, request_headers
from portal.said import Language
from portal.services.sessions import certificates
from portal.services.sessions.gate import host_port, keep
from portal.services.tensorboards import tensorboards, viewers
from portal.services.tensorboards.viewers import Board
from portal.settings import Settings, origin_of

router = APIRouter(include_in_schema=False)

NOT_YOURS = (
    "It may belong to somebody else who doesn’t share it with you, or what it showed was removed."
)
AWAY = "TensorBoard does not answer. It may be starting or busy with a lot of data."


@router.get("/tensorboard/{board_id}", dependencies=[Anyone])
async def add_slash(board_id: str) -> Response:
    """TensorBoard's own links are relative to its folder."""
    return RedirectResponse(f"/tensorboard/{board_id}/", status_code=308)


@router.api_route(
    "/tensorboard/{board_id}/{path:path}", methods=["GET", "HEAD", "POST"], dependencies=[Anyone]
)
async def forward(
    request: Request,
    database: DatabaseDep,
    settings: SettingsDep,
    parts: PartsDep,
    people: PeopleDep,
    board_id: str,
) -> Response:
    """A TensorBoard's answer to who may look; a page or a problem document while it has none."""
    token, host = shown(request, settings)
    login, board = await viewers.look(database, settings, people, token, board_id, host)
    if login is None or not await keep(database, settings, token, login, host):
        if wants_page(request):
            return to_login(request, settings)
        raise errors.LoginRequired
    language = await _language(request, database, login.user_id)
    home = (at_portal(settings, host, HOME[0]), HOME[1])
    if board is None:
        if wants_page(request):
            title = "There is no TensorBoard of yours here"
            return page(title, [NOT_YOURS], language, status=404, link=home)
        raise errors.NotFound("There is no TensorBoard of yours here.")
    # It is its owner's content whoever looks at it, and so it is at its owner's host.
    if settings.content and host != settings.content.host_of(board.owner):
        return elsewhere(request, settings.content.origin_of(board.owner))
    now = utcnow()
    if board.last_request_at is None or now - board.last_request_at > tensorboards.TOUCH_EVERY:
        await tensorboards.touch(parts, board.id, now)
    if board.state is not TensorboardState.RUNNING or not (board.host and board.port):
        return _not_running(request, board, language, home)
    target = f"{certificates.scheme(board.tls_name)}://{host_port(board.host, board.port)}"
    exchange = await _exchange(request, parts, board, target)

    async def allowed() -> bool:
        found = await viewers.look(database, settings, people, token, board_id, host)
        return found[0] is not None and found[1] is not None

    return Forwarded(parts.http, exchange, _away(request, language, home), parts.metrics, allowed)


async def _language(request: Request, database: Database, user_id: str) -> Language:
    """Asked for where a page may have to be shown, not for each of TensorBoard's own requests."""
    return await language_of(request, database, user_id) if wants_page(request) else "en"


async def _exchange(request: Request, parts: Parts, board: Board, target: str) -> Exchange:
    prefix = f"/tensorboard/{board.id}/"
    raw: bytes = request.scope["raw_path"]
    query: bytes = request.scope["query_string"]
    if not raw.startswith(prefix.encode()) or not (raw + query).isascii():
        raise errors.NotFound
    tail = f"{raw.decode()}?{query.decode()}" if query else raw.decode()
    return Exchange(
        method=request.method,
        url=URL(f"{target}{tail}", encoded=True),
        headers=request_headers(request.scope["headers"], board.secret),
        body=await request.body() if request.method == "POST" else b"",
        origin=_origin(request, parts.settings),
        prefix=prefix,
        tls=certificates.connecting(parts, board.tls_name),
    )


def _origin(request: Request, settings: Settings) -> str:
    """The origin the browser is at, if it is one of ours: the page is confined to it."""
    content = content_host(request, settings)
    if content is not None:
        return content_origin(settings, content)
    host = request.headers.get("host", "").lower()
    here = (origin for origin in settings.origins if origin.partition("://")[2] == host)
    return next(here, origin_of(settings.public_url))


def _not_running(request: Request, board: Board, language: Language, home: Link) -> Response:
    coming = board.state in tensorboards.LIVE
    title = "TensorBoard is starting" if coming else "This TensorBoard isn’t running"
    again = (
        "You can start it again in the portal." if board.own else f"Ask {board.owner} to start it."
    )
    advice = "This page opens it." if coming else again
    sentences = [text for text in (board.reason, advice) if text]
    if wants_page(request):
        again_s = 1 if coming else None
        return page(title, sentences, language, status=424, refresh_s=again_s, link=home)
    raise errors.NotRunning(" ".join((f"{title}.", *sentences)))


def _away(request: Request, language: Language, home: Link) -> Response:
    if wants_page(request):
        title = "TensorBoard doesn’t answer"
        return page(title, [AWAY], language, status=503, refresh_s=3, link=home)
    return errors.problem_response(errors.Unavailable(AWAY, headers={"Retry-After": "3"}))
