"""Proxy of TensorBoards' pages at /tensorboard/{id}/{ticket}/…, for the owner and those it is
shared with.

Each request is checked: the cookie, the viewer's access to the TensorBoard, and the ticket that
the portal's page requested.

The target and the key come only from the TensorBoard's row in the database;
streaming/tensorboard.py decides which headers pass. The ticket is not sent to the node.
"""

import re

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from yarl import URL

from portal import errors
from portal.api.gate import HOME, Link, page
from portal.config.settings import Settings, origin_of
from portal.context import AppContext
from portal.db import Database, utcnow
from portal.i18n.translation import Language
from portal.models import TensorboardState
from portal.services.sessions.gate import host_port, record_activity
from portal.services.slurm import certificates
from portal.services.tensorboards import access, runs, tensorboards
from portal.services.tensorboards.access import TensorboardAccess
from portal.services.tensorboards.tickets import TICKET_PATTERN, TicketUse, check_ticket
from portal.streaming.tensorboard import Exchange, Forwarded, TensorboardTarget, request_headers
from portal.web.content_host import (
    at_portal,
    content_host,
    content_origin,
    read_cookie,
    redirect_to_origin,
    to_login,
    wants_page,
)
from portal.web.dependencies import Anyone, ContextDep
from portal.web.language import language_of

router = APIRouter(include_in_schema=False)

NOT_YOURS = "It may belong to a user who hasn't shared it with you, or its data was removed."
NO_TICKET = (
    "A TensorBoard address is valid for one browser and one login. Open the TensorBoard "
    "from its session or job."
)
_TICKET = re.compile(TICKET_PATTERN)
_ID = re.compile(r"[0-9a-f-]{36}")
NO_ANSWER = "TensorBoard doesn't answer. It may be starting or busy with a lot of data."


@router.get("/tensorboard/{board_id}", dependencies=[Anyone])
@router.get("/tensorboard/{board_id}/", dependencies=[Anyone])
async def without_ticket(request: Request, context: ContextDep, board_id: str) -> Response:
    """Show a link to the portal's page that opens the TensorBoard, for an address without a ticket.

    Not a redirect, because that would reveal its destination to another TensorBoard's page.
    """
    return await _refuse_without_ticket(request, context, board_id)


@router.get("/tensorboard/{board_id}/{ticket}", dependencies=[Anyone])
async def add_slash(request: Request, context: ContextDep, board_id: str, ticket: str) -> Response:
    """Redirect to the path with a slash, because TensorBoard's links are relative to its folder."""
    if not _TICKET.fullmatch(ticket):
        return await _refuse_without_ticket(request, context, board_id)
    return RedirectResponse(f"/tensorboard/{board_id}/{ticket}/", status_code=308)


@router.api_route(
    "/tensorboard/{board_id}/{ticket}/{path:path}",
    methods=["GET", "HEAD", "POST"],
    dependencies=[Anyone],
)
async def forward(request: Request, context: ContextDep, board_id: str, ticket: str) -> Response:
    """Forward a viewer's request to a TensorBoard; a page or a problem document if that is
    impossible.
    """
    database, settings = context.db, context.settings
    if _registers_service_worker(request):
        raise errors.NotFound
    token, host = read_cookie(request, settings)
    login, board = await access.load_access(context, token, board_id, host)
    if login is None or not await record_activity(database, settings, token, login, host):
        if wants_page(request):
            return to_login(request, settings)
        raise errors.LoginRequired
    language = await _find_language(request, database, login.user_id)
    home = (at_portal(settings, host, HOME[0]), HOME[1])
    if board is None:
        if wants_page(request):
            title = "TensorBoard not found"
            return page(title, [NOT_YOURS], language, status=404, links=[home])
        raise errors.NotFound("TensorBoard not found.")
    use = check_ticket(settings, ticket, board_id, login.web_session_id, login.user_id)
    if use is None or (use is TicketUse.FRAME and not board.own):
        return await _refuse_without_ticket(request, context, board_id)
    # For every viewer the content is the owner's, and therefore belongs on the owner's host.
    if settings.content and host != settings.content.tensorboards.host_of(board.owner):
        return redirect_to_origin(request, settings.content.tensorboards.origin_of(board.owner))
    now = utcnow()
    if board.last_request_at is None or now - board.last_request_at > tensorboards.TOUCH_EVERY:
        await tensorboards.touch(context, board.id, now)
    frames = settings.notebook_origin(board.owner) if use is TicketUse.FRAME else None
    framed_by = (frames or "'self'") if use is TicketUse.FRAME else None
    if board.state is not TensorboardState.RUNNING or not (board.host and board.port):
        return _respond_not_running(request, board, language, home, framed_by)
    target = f"{certificates.get_scheme(board.tls_name)}://{host_port(board.host, board.port)}"
    exchange = await _build_exchange(request, context, board, target, ticket, frames)

    async def allowed() -> bool:
        granted = await access.load_access(context, token, board_id, host)
        return granted[0] is not None and granted[1] is not None

    unavailable = _respond_unavailable(request, language, home, framed_by)
    turn = context.tensorboard_queue.wait_turn(login.user_id, board.id)
    return Forwarded(
        context.tensorboard_http, exchange, unavailable, context.metrics, allowed, turn
    )


def _registers_service_worker(request: Request) -> bool:
    """Return whether the browser requests this response as a service worker.

    A service worker answers its pages' requests itself, without the policy that confines them.
    """
    headers = request.headers
    return "service-worker" in headers or headers.get("sec-fetch-dest") == "serviceworker"


async def _find_language(request: Request, database: Database, user_id: str) -> Language:
    """Return the language; looked up only for pages, not for each of TensorBoard's own requests."""
    return await language_of(request, database, user_id) if wants_page(request) else "en"


async def _refuse_without_ticket(request: Request, context: AppContext, board_id: str) -> Response:
    if not wants_page(request):
        raise errors.NotFound(NO_TICKET)
    language = await language_of(request, context.db, None)
    path = f"/tensorboards/{board_id}" if _ID.fullmatch(board_id) else "/"
    link = (at_portal(context.settings, content_host(request, context.settings), path), "Open it")
    return page(
        "Open this TensorBoard from the portal", [NO_TICKET], language, status=404, links=[link]
    )


async def _build_exchange(
    request: Request,
    context: AppContext,
    board: TensorboardAccess,
    target: str,
    ticket: str,
    frames: str | None,
) -> Exchange:
    node_path, prefix = f"/tensorboard/{board.id}/", f"/tensorboard/{board.id}/{ticket}/"
    raw: bytes = request.scope["raw_path"]
    query: bytes = request.scope["query_string"]
    if not raw.startswith(prefix.encode()) or not (raw + query).isascii():
        raise errors.NotFound
    path = node_path + raw.decode().removeprefix(prefix)
    tail = f"{path}?{query.decode()}" if query else path
    return Exchange(
        method=request.method,
        url=URL(f"{target}{tail}", encoded=True),
        headers=request_headers(request.scope["headers"]),
        body=await request.body() if request.method == "POST" else b"",
        target=TensorboardTarget(
            _find_origin(request, context.settings), prefix, node_path, frames
        ),
        guard_key=board.guard_key,
        tls=certificates.build_connect_arguments(context, board.tls_name),
    )


def _find_origin(request: Request, settings: Settings) -> str:
    """Return the origin of the browser's address, if it is one of ours: the page is confined to
    it.
    """
    content = content_host(request, settings)
    if content is not None:
        return content_origin(settings, content)
    host = request.headers.get("host", "").lower()
    here = (origin for origin in settings.origins if origin.partition("://")[2] == host)
    return next(here, origin_of(settings.public_url))


def _respond_not_running(
    request: Request, board: TensorboardAccess, language: Language, home: Link, frames: str | None
) -> Response:
    coming = board.state in runs.LIVE
    title = "TensorBoard is starting" if coming else "This TensorBoard isn't running"
    again = (
        "You can start it again in the portal." if board.own else f"Ask {board.owner} to start it."
    )
    suggestion = "This page opens it." if coming else again
    sentences = [text for text in (board.reason, suggestion) if text]
    if wants_page(request):
        again_s = 1 if coming else None
        return page(
            title, sentences, language, status=424, refresh_s=again_s, links=[home], frames=frames
        )
    raise errors.NotRunning(" ".join((f"{title}.", *sentences)))


def _respond_unavailable(
    request: Request, language: Language, home: Link, frames: str | None
) -> Response:
    if wants_page(request):
        title = "TensorBoard doesn't answer"
        return page(
            title, [NO_ANSWER], language, status=503, refresh_s=3, links=[home], frames=frames
        )
    return errors.problem_response(errors.Unavailable(NO_ANSWER, headers={"Retry-After": "3"}))
