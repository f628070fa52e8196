"""The gate: authorization of requests that nginx proxies to sessions, and the page for a session
that cannot be opened.

nginx requests `/internal/gate` before it proxies a request to a node, and sends refused ones to the
portal: for those paths the portal responds with the reason, as a page or a problem document.
"""

import asyncio
import html
import ipaddress
import socket
from collections.abc import Sequence
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import HTMLResponse

from portal import errors
from portal.i18n.translation import TAGS, Language, translate
from portal.models import JobState, Session
from portal.services.auth import web_sessions
from portal.services.sessions import servers
from portal.services.sessions.gate import (
    GateAnswer,
    LiveSession,
    decide,
    host_port,
    load_gate_row,
    load_newest_session,
    record_activity,
)
from portal.web.content_host import (
    BEGIN,
    CONTENT_HOST_HEADER,
    at_portal,
    path_of,
    read_cookie,
    redirect_to_origin,
    to_login,
    wants_page,
)
from portal.web.dependencies import Anyone, ContextDep, LoopbackOnly
from portal.web.language import language_of
from spawner.slurm.model import Outcome

router = APIRouter(include_in_schema=False)

FRESH_S = 3
# While the portal is down, nginx keeps using a cached answer for this long. It is short enough that
# a port freed by a session is rarely reused by another user, and long enough for an upgrade.
STALE_IF_ERROR_S = 600
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
SMALL_PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors {frames}"

Link = tuple[str, str]
"""An address and its label."""
HOME: Link = ("/", "Go to the portal")
REFUSALS = {GateAnswer.LOGIN: 401, GateAnswer.REFUSED: 403}
CACHED = {"Cache-Control": f"max-age={FRESH_S}"}


@router.get("/internal/gate", dependencies=[LoopbackOnly])
async def gate(
    request: Request,
    context: ContextDep,
    owner: Annotated[str, Header(alias="X-Owner")],
    server: Annotated[str, Header(alias="X-Server")],
) -> Response:
    """Return 204 with `X-Target`, 401 or 403; the headers limit for how long nginx may cache it.

    For a session that cannot be opened now, the target is the portal itself, which responds with
    the reason (`not_entered`). nginx speaks TLS to a target with an `X-Target-Name`, and only if
    its certificate has that name.
    """
    settings = context.settings
    hosts = settings.content.notebooks if settings.content else None
    host = hosts.to_content_host(request.headers.get(CONTENT_HOST_HEADER, "")) if hosts else None
    if hosts and host != hosts.host_of(owner):
        return Response(status_code=REFUSALS[GateAnswer.REFUSED], headers=CACHED)
    token = request.cookies.get(settings.cookie_at(host), "")
    login, live = await load_gate_row(context.db, settings, token, server, host)
    # Requests to a notebook count as activity: they keep the web session alive, up to its fixed
    # end.
    if login is not None and not await record_activity(context.db, settings, token, login, host):
        login = None
    decision = decide(login.username if login else None, owner, server, live)
    decision = await servers.confirm(context, decision, live)
    if decision.answer in REFUSALS:
        return Response(status_code=REFUSALS[decision.answer], headers=CACHED)
    if decision.answer is GateAnswer.UNAVAILABLE:
        # Not cached at all: otherwise the page would not notice that the session has become ready.
        headers = {"X-Target": settings.address, "X-Accel-Expires": "0"}
        return Response(status_code=204, headers=headers)
    target = host_port(await address_of(decision.host), decision.port)
    cache_control = f"max-age={FRESH_S}, stale-if-error={STALE_IF_ERROR_S}"
    headers = {"X-Target": target, "Cache-Control": cache_control}
    if decision.tls_name is not None:
        headers["X-Target-Name"] = decision.tls_name
    return Response(status_code=204, headers=headers)


async def address_of(host: str) -> str:
    """Return a node's address, because nginx resolves no names.

    Raises Unavailable if it is unknown.
    """
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        addresses = await asyncio.get_running_loop().getaddrinfo(
            host, None, type=socket.SOCK_STREAM
        )
    except OSError as error:
        raise errors.Unavailable(f"The address of node {host[:100]} can't be found.") from error
    return str(addresses[0][4][0])


@router.api_route("/user/{owner}/{server}/{path:path}", methods=METHODS, dependencies=[Anyone])
async def not_entered(request: Request, context: ContextDep, owner: str, server: str) -> Response:
    """Respond with the reason why this session cannot be opened: no login, another user's session,
    not running, or on another host.
    """
    settings = context.settings
    token, host = read_cookie(request, settings)
    if settings.content and host != settings.content.notebooks.host_of(owner):
        return redirect_to_origin(request, settings.content.notebooks.origin_of(owner))
    caller = await web_sessions.resume_at(context.db, settings, token, host, touch=False)
    username = caller.user.username if caller else None
    session = await load_newest_session(context.db, owner, server) if username == owner else None
    live = LiveSession.of(session)
    decision = decide(username, owner, server, live)
    answer = (await servers.confirm(context, decision, live)).answer
    if wants_page(request):
        if answer is GateAnswer.LOGIN:
            return to_login(request, settings)
        user_id = caller.user_id if caller else None
        language = await language_of(request, context.db, user_id)
        # A cookie that another page planted looks like another user's. A new login replaces it.
        log_in_again = f"{BEGIN}?next={quote(path_of(request), safe='')}" if host else None
        portal = at_portal(settings, host, "")
        return _render_page(answer, session, language, portal, log_in_again)
    raise to_problem(answer, session)


def to_problem(answer: GateAnswer, session: Session | None) -> errors.PortalError:
    """Return the error of a request for a session that is not proxied."""
    if answer is GateAnswer.LOGIN:
        return errors.LoginRequired()
    if answer is GateAnswer.REFUSED:
        return errors.Forbidden("This session belongs to another user.")
    if answer is GateAnswer.ENTER:
        return errors.Unavailable(
            "The session is ready now. Try again.", headers={"Retry-After": "1"}
        )
    title, sentences, _ = explain(session)
    return errors.NotRunning(" ".join((f"{title}.", *sentences)))


def _render_page(
    answer: GateAnswer,
    session: Session | None,
    language: Language,
    portal: str,
    log_in_again: str | None,
) -> Response:
    """Return the page for this answer.

    `portal` is the prefix of the portal's own addresses as seen from this page. `log_in_again`: the
    path of a new login at this content host; None at the portal's own host.
    """
    home = (f"{portal}{HOME[0]}", HOME[1])
    if answer is GateAnswer.REFUSED:
        text = (
            "Only the user who started a session can open it. Check that you are logged in as "
            "that user."
        )
        title = "This session belongs to another user"
        links = [home] if log_in_again is None else [(log_in_again, "Log in again"), home]
        return page(title, [text], language, status=403, links=links)
    if answer is GateAnswer.ENTER:
        opens = ["It opens automatically."]
        title = "Your session is ready"
        return page(title, opens, language, status=503, refresh_s=1, links=[home])
    title, sentences, refresh_s = explain(session)
    ended = session is not None and session.state is JobState.ENDED
    again = f"{portal}/start-again/{session.name}" if session and ended else ""
    link = (again, "Start it again") if again else home
    return page(title, sentences, language, status=424, refresh_s=refresh_s, links=[link])


_ENDED = {
    Outcome.COMPLETED: "It has ended.",
    Outcome.FAILED: "It failed.",
    Outcome.CANCELLED: "It was stopped.",
    Outcome.TIMEOUT: "It reached its time limit.",
    Outcome.OUT_OF_MEMORY: "It used more memory than it requested.",
    Outcome.NODE_FAILED: "Its node failed.",
}
_LIVE = {
    JobState.SUBMITTING: ("Your session is being submitted", 2),
    JobState.QUEUED: ("Your session is waiting for resources", 5),
    JobState.STARTING: ("Your session is starting", 1),
    JobState.RUNNING: ("Your session is starting", 1),
    JobState.SUSPENDED: ("Your session is suspended", 15),
    JobState.STOPPING: ("Your session is being stopped", 5),
}

_UNCONFIRMED = (
    "Your session doesn't answer",
    [
        "Neither Slurm nor the session's server answers.",
        "This page opens it when it is ready.",
    ],
    5,
)


def explain(session: Session | None) -> tuple[str, list[str], int | None]:
    """Return the title, the sentences, and the seconds until a reload, if one may help."""
    if session is None:
        return "There is no session with this name", ["You can start one in the portal."], None
    details = [text for text in (session.reason, session.suggestion) if text]
    if session.state is JobState.RUNNING and session.stale_since is not None:
        return _UNCONFIRMED
    if session.state in _LIVE:
        title, refresh_s = _LIVE[session.state]
        opens = (
            [] if session.state is JobState.STOPPING else ["This page opens it when it is ready."]
        )
        return title, [*details, *opens], refresh_s
    first = _ENDED.get(session.outcome, "It has ended.") if session.outcome else "It has ended."
    return "This session isn't running", [first, *details, "You can start it again."], None


_PAGE = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">{refresh}
<title>{title}</title>
<style>
  body {{ margin: 0; min-height: 100vh; display: grid; place-items: center;
         font: 16px/1.5 system-ui, sans-serif; background: Canvas; color: CanvasText; }}
  main {{ max-width: 34rem; padding: 2rem; overflow-wrap: anywhere; }}
  h1 {{ font-size: 1.4rem; margin: 0 0 .5rem; }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
{text}
{links}
</main>
</body>
</html>
"""


def page(
    title: str,
    sentences: Sequence[str],
    language: Language,
    *,
    status: int,
    refresh_s: int | None = None,
    links: Sequence[Link] = (HOME,),
    frames: str | None = None,
) -> HTMLResponse:
    """Return a small page without scripts or other resources.

    The portal's own texts are translated to the language, and all are escaped. `frames`: the origin
    that may show it in a frame; its links then open a new tab, because the portal's own pages are
    never framed.
    """
    target = ' target="_blank" rel="noopener"' if frames else ""
    framing = {"X-Frame-Options": "SAMEORIGIN"} if frames else {}  # as in streaming/tensorboard.py
    refresh = f'\n<meta http-equiv="refresh" content="{refresh_s}">' if refresh_s else ""

    def escaped(text: str) -> str:
        return html.escape(translate(text, language))

    anchors = [
        f'<a href="{html.escape(address)}"{target}>{escaped(label)}</a>' for address, label in links
    ]
    return HTMLResponse(
        _PAGE.format(
            language=TAGS[language],
            title=escaped(title),
            text="\n".join(f"<p>{escaped(sentence)}</p>" for sentence in sentences),
            refresh=refresh,
            links="\n".join(f"<p>{anchor}</p>" for anchor in anchors),
        ),
        status_code=status,
        headers={
            "Cache-Control": "no-store",
            "Content-Security-Policy": SMALL_PAGE_POLICY.format(frames=frames or "'none'"),
            **framing,
        },
    )
