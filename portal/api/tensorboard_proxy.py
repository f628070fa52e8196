"""/tensorboard/{id}/…: a TensorBoard's own pages, for its owner, asked at every request.

The target and the secret come from our row alone; which headers pass is proxy.py's business.
"""

from dataclasses import dataclass
from datetime import datetime

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from sqlalchemy import and_, bindparam, exists, or_
from yarl import URL

from portal import errors
from portal.api.deps import Anyone, DatabaseDep, PartsDep, SettingsDep
from portal.api.gate import page, to_login, wants_page
from portal.db import Database, utcnow
from portal.models import Share, Tensorboard, TensorboardState, User
from portal.proxy import Exchange, Forwarded, request_headers
from portal.services import tensorboards
from portal.services.gate import Login, host_port, keep, login_parameters, open_login
from portal.settings import Settings, origin_of

router = APIRouter(include_in_schema=False)

NOT_YOURS = "It may belong to somebody else, or its session may have been removed."
AWAY = "TensorBoard does not answer. It may be starting or busy with a lot of data."


@dataclass(frozen=True)
class Board:
    """What a request needs to know of a TensorBoard."""

    id: str
    state: TensorboardState
    reason: str | None
    host: str | None
    port: int | None
    secret: str
    last_request_at: datetime | None


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
    board_id: str,
) -> Response:
    """A TensorBoard's answer to its owner; a page or a problem document while it has none."""
    token = request.cookies.get(settings.cookie_name, "")
    login, board = await _look(database, settings, token, board_id)
    if login is None or not await keep(database, settings, token, login):
        if wants_page(request):
            return to_login(request)
        raise errors.LoginRequired
    if board is None:
        if wants_page(request):
            return page("There is no TensorBoard of yours here", [NOT_YOURS], status=404)
        raise errors.NotFound("There is no TensorBoard of yours here.")
    now = utcnow()
    if board.last_request_at is None or now - board.last_request_at > tensorboards.TOUCH_EVERY:
        await tensorboards.touch(parts, board.id, now)
    if board.state is not TensorboardState.RUNNING or not (board.host and board.port):
        return _not_running(request, board)
    exchange = await _exchange(
        request, settings, board, f"http://{host_port(board.host, board.port)}"
    )
    return Forwarded(parts.http, exchange, _away(request))


_SHARED = exists().where(Share.parent_id == Tensorboard.parent_id, Share.username == User.username)
_OWN = and_(Tensorboard.id == bindparam("board_id"), or_(Tensorboard.user_id == User.id, _SHARED))
_LOOK = open_login(
    Tensorboard.id,
    Tensorboard.state,
    Tensorboard.reason,
    Tensorboard.host,
    Tensorboard.port,
    Tensorboard.secret,
    Tensorboard.last_request_at,
).outerjoin(Tensorboard, _OWN)


async def _look(
    database: Database, settings: Settings, token: str, board_id: str
) -> tuple[Login | None, Board | None]:
    """Whose cookie this is, and the TensorBoard of that id if it is theirs or has been shared with
    them: one query."""
    parameters = {**login_parameters(settings, token), "board_id": board_id}
    async with database.engine.connect() as connection:
        row = (await connection.execute(_LOOK, parameters)).one_or_none()
    if row is None:
        return None, None
    return Login(*row[:3]), Board(*row[3:]) if row[3] is not None else None


async def _exchange(request: Request, settings: Settings, board: Board, target: str) -> Exchange:
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
        origin=_origin(request, settings),
        prefix=prefix,
    )


def _origin(request: Request, settings: Settings) -> str:
    """The origin the browser is at, if it is one of ours: the page is confined to it."""
    host = request.headers.get("host", "").lower()
    here = (origin for origin in settings.origins if origin.partition("://")[2] == host)
    return next(here, origin_of(settings.public_url))


def _not_running(request: Request, board: Board) -> Response:
    coming = board.state in tensorboards.LIVE
    title = "TensorBoard is starting" if coming else "This TensorBoard isn’t running"
    advice = "This page opens it." if coming else "You can start it again in the portal."
    sentences = [text for text in (board.reason, advice) if text]
    if wants_page(request):
        return page(title, sentences, status=424, refresh_s=1 if coming else None)
    raise errors.NotRunning(" ".join((f"{title}.", *sentences)))


def _away(request: Request) -> Response:
    if wants_page(request):
        return page("TensorBoard doesn’t answer", [AWAY], status=503, refresh_s=3)
    return errors.problem_response(errors.Unavailable(AWAY, headers={"Retry-After": "3"}))
