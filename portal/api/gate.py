"""The front door's question, and the page for a session that can't be entered.

nginx asks `/internal/gate` before it lets a request through to a node, and sends to the portal
what may not go there: for those paths the portal says why, in a page or a problem document.
"""

import asyncio
import html
import ipaddress
import socket
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import HTMLResponse

from portal import errors
from portal.api.deps import Anyone, DatabaseDep, LoopbackOnly, SettingsDep
from portal.api.language import language_of
from portal.api.side import CONTENT_HOST, at_portal, elsewhere, shown, to_login, wants_page
from portal.models import JobState, Session
from portal.said import TAGS, Language, said
from portal.services.login import web_sessions
from portal.services.sessions.gate import (
    Answer,
    Live,
    decide,
    host_port,
    keep,
    look,
    newest,
    portal_address,
)
from spawner.model import Outcome

router = APIRouter(include_in_schema=False)

# While the portal is away nginx goes on with an answer for so long. Short enough that a port which
# a session gave up is hardly anyone else's by then; long enough for an upgrade.
FRESH_S = 3
STALE_IF_AWAY_S = 600
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"

Link = tuple[str, str]
"""An address of ours and its words."""
HOME: Link = ("/", "Go to the portal")
REFUSALS = {Answer.LOGIN: 401, Answer.REFUSED: 403}
CACHED = {"Cache-Control": f"max-age={FRESH_S}"}


@router.get("/internal/gate", dependencies=[LoopbackOnly])
async def gate(
    request: Request,
    database: DatabaseDep,
    settings: SettingsDep,
    owner: Annotated[str, Header(alias="X-Owner")],
    server: Annotated[str, Header(alias="X-Server")],
) -> Response:
    """204 with `X-Target`, 401 or 403; the headers say how long nginx may keep it. To a target that
    has an `X-Target-Name` it speaks TLS, and only if that is the name in its certificate."""
    hosts = settings.content
    host = hosts.here(request.headers.get(CONTENT_HOST, "")) if hosts else None
    if hosts and host != hosts.host_of(owner):
        return Response(status_code=REFUSALS[Answer.REFUSED], headers=CACHED)
    name = settings.content_cookie if hosts else settings.cookie_name
    token = request.cookies.get(name, "")
    login, live = await look(database, settings, token, server, host)
    # Work in a notebook is work: it keeps the web session alive, up to its fixed end.
    if login is not None and not await keep(database, settings, token, login, host):
        login = None
    decision = decide(login.username if login else None, owner, server, live)
    if decision.answer in REFUSALS:
        return Response(status_code=REFUSALS[decision.answer], headers=CACHED)
    if decision.answer is Answer.AWAY:
        # Kept for no time at all, or a session would be ready and the page not know.
        here = {"X-Target": portal_address(settings), "X-Accel-Expires": "0"}
        return Response(status_code=204, headers=here)
    target = host_port(await address_of(decision.host), decision.port)
    kept = f"max-age={FRESH_S}, stale-if-error={STALE_IF_AWAY_S}"
    headers = {"X-Target": target, "Cache-Control": kept}
    if decision.tls_name is not None:
        headers["X-Target-Name"] = decision.tls_name
    return Response(status_code=204, headers=headers)


async def address_of(host: str) -> str:
    """A node's address; nginx resolves no names. Raises Unavailable when nobody knows it."""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise errors.Unavailable(f"The address of node {host[:100]} can't be found.") from error
    return str(found[0][4][0])


@router.api_route("/user/{owner}/{server}/{path:path}", methods=METHODS, dependencies=[Anyone])
async def not_entered(
    request: Request,
    database: DatabaseDep,
    settings: SettingsDep,
    owner: str,
    server: str,
) -> Response:
    """Why this session can't be entered: log in, it is another's, it isn't running, or it is at
    another host."""
    token, host = shown(request, settings)
    if settings.content and host != settings.content.host_of(owner):
        return elsewhere(request, settings.content.origin_of(owner))
    caller = await web_sessions.resume_at(database, settings, token, host, touch=False)
    username = caller.user.username if caller else None
    session = await newest(database, owner, server) if username == owner else None
    answer = decide(username, owner, server, Live.of(session)).answer
    if wants_page(request):
        if answer is Answer.LOGIN:
            return to_login(request, settings)
        user_id = caller.user_id if caller else None
        language = await language_of(request, database, user_id)
        return _page_for(answer, session, language, at_portal(settings, host, ""))
    raise _problem_for(answer, session)


def _problem_for(answer: Answer, session: Session | None) -> errors.PortalError:
    if answer is Answer.LOGIN:
        return errors.LoginRequired()
    if answer is Answer.REFUSED:
        return errors.Forbidden("This session belongs to somebody else.")
    if answer is Answer.ENTER:
        return errors.Unavailable(
            "The session has just become ready. Please try again.", headers={"Retry-After": "1"}
        )
    title, sentences, _ = explain(session)
    return errors.NotRunning(" ".join((f"{title}.", *sentences)))


def _page_for(answer: Answer, session: Session | None, language: Language, portal: str) -> Response:
    """`portal` is what an address of the portal's own begins with, seen from this page."""
    home = (f"{portal}{HOME[0]}", HOME[1])
    if answer is Answer.REFUSED:
        text = "Only the person who started a session can open it. Are you logged in as them?"
        title = "This session belongs to somebody else"
        return page(title, [text], language, status=403, link=home)
    if answer is Answer.ENTER:
        opens = ["It opens by itself."]
        title = "Your session is ready"
        return page(title, opens, language, status=503, refresh_s=1, link=home)
    title, sentences, refresh_s = explain(session)
    ended = session is not None and session.state is JobState.ENDED
    again = f"{portal}/start-again/{session.name}" if session and ended else ""
    link = (again, "Start it again") if again else home
    return page(title, sentences, language, status=424, refresh_s=refresh_s, link=link)


_ENDED = {
    Outcome.COMPLETED: "It has ended.",
    Outcome.FAILED: "It failed.",
    Outcome.CANCELLED: "It was stopped.",
    Outcome.TIMEOUT: "It reached its time limit.",
    Outcome.OUT_OF_MEMORY: "It needed more memory than it had asked for.",
    Outcome.NODE_FAILED: "Its node failed.",
}
_LIVE = {
    JobState.SUBMITTING: ("Your session is being submitted", 2),
    JobState.QUEUED: ("Your session waits for its resources", 5),
    JobState.STARTING: ("Your session is starting", 1),
    JobState.RUNNING: ("Your session is starting", 1),
    JobState.SUSPENDED: ("Your session is suspended", 15),
    JobState.STOPPING: ("Your session is being stopped", 5),
}


def explain(session: Session | None) -> tuple[str, list[str], int | None]:
    """Title, sentences, and after how many seconds to look again, if that may help."""
    if session is None:
        return "There is no session of this name", ["You can start one in the portal."], None
    said = [text for text in (session.reason, session.advice) if text]
    if session.state in _LIVE:
        title, refresh_s = _LIVE[session.state]
        opens = (
            [] if session.state is JobState.STOPPING else ["This page opens it when it is ready."]
        )
        return title, [*said, *opens], refresh_s
    first = _ENDED.get(session.outcome, "It has ended.") if session.outcome else "It has ended."
    return "This session isn’t running", [first, *said, "You can start it again."], None


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
<p><a href="{address}">{label}</a></p>
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
    link: Link = HOME,
) -> HTMLResponse:
    """A small page that needs nothing else and runs nothing; every text in it is in this language
    as far as it is ours, and escaped."""
    again = f'\n<meta http-equiv="refresh" content="{refresh_s}">' if refresh_s else ""
    paragraphs = [html.escape(said(sentence, language)) for sentence in sentences]
    return HTMLResponse(
        _PAGE.format(
            language=TAGS[language],
            title=html.escape(said(title, language)),
            text="\n".join(f"<p>{paragraph}</p>" for paragraph in paragraphs),
            refresh=again,
            address=html.escape(link[0]),
            label=html.escape(said(link[1], language)),
        ),
        status_code=status,
        headers={"Cache-Control": "no-store", "Content-Security-Policy": PAGE_POLICY},
    )
