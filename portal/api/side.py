"""On which host a request came in, the portal's own or one of content, and the ways between.

Without `content_url` there is one host, and all of this says so.
"""

import re
from urllib.parse import quote, urlencode

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from starlette.requests import HTTPConnection

from portal import errors
from portal.services.login import content_logins
from portal.services.login.hashes import hash_token
from portal.settings import Settings

CONTENT_HOST = "X-Content-Host"
"""By this header nginx's question and the hub's say which host the browser is at."""
OPEN = "/content/open"
ENTER = "/content/enter"
INSIDE = re.compile(r"/(?:(?:user|hub|tensorboard)/[^\x00-\x20\x7f-\U0010ffff\\]{0,3000})?")
STATE = re.compile(r"[A-Za-z0-9_-]{43}")
NOT_KEPT = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}


def content_host(connection: HTTPConnection, settings: Settings) -> str | None:
    """The content host that this request came to; None for the portal's own."""
    hosts = settings.content
    return hosts.here(connection.headers.get("host", "")) if hosts else None


def content_origin(settings: Settings, host: str) -> str:
    """The origin of a content host, as browsers write it."""
    scheme = settings.content.scheme if settings.content else ""
    return f"{scheme}://{host}"


def shown(connection: HTTPConnection, settings: Settings) -> tuple[str, str | None]:
    """The token of the cookie that counts where this request came in, and that content host. The
    other side's cookie isn't looked at."""
    host = content_host(connection, settings)
    name = settings.cookie_name if host is None else settings.content_cookie
    return connection.cookies.get(name, ""), host


def at_portal(settings: Settings, host: str | None, path: str) -> str:
    """An address of the portal's own, for a link from here."""
    return path if host is None else f"{settings.public_url}{path}"


def wants_page(request: Request) -> bool:
    """Whether a browser is about to show the answer; nginx decides by the same rule."""
    headers = request.headers
    if request.method not in {"GET", "HEAD"} or "upgrade" in headers:
        return False
    mode = headers.get("sec-fetch-mode", "")
    return mode == "navigate" or (not mode and "text/html" in headers.get("accept", ""))


def path_of(request: Request) -> str:
    """Path and query as the browser wrote them."""
    raw: bytes = request.scope.get("raw_path") or request.url.path.encode()
    path = raw.decode("latin-1")
    return f"{path}?{request.url.query}" if request.url.query else path


def to_login(request: Request, settings: Settings) -> Response:
    """To the login page, which leads back here; from a content host by way of the portal, which may
    know this browser already."""
    host = content_host(request, settings)
    if host is not None:
        return begin(request, settings, host, path_of(request))
    headers = {"Cache-Control": "no-store"}
    where = f"/login?next={quote(path_of(request), safe='/')}"
    return RedirectResponse(where, status_code=302, headers=headers)


def begin(request: Request, settings: Settings, host: str, back: str) -> Response:
    """To the portal for a code that opens this content host in this browser, and then `back`."""
    state = request.cookies.get(settings.entry_cookie, "")
    if not STATE.fullmatch(state):
        state = content_logins.new_state()
    to = {
        "host": host,
        "state": hash_token(state),
        "next": back if INSIDE.fullmatch(back) else "/",
    }
    answer = RedirectResponse(
        f"{settings.public_url}{OPEN}?{urlencode(to)}", status_code=302, headers=NOT_KEPT
    )
    keep(answer, settings, settings.entry_cookie, state, None)
    return answer


def keep(
    answer: Response, settings: Settings, name: str, value: str, max_age_s: int | None
) -> None:
    """A cookie of this host alone, which no script reads."""
    answer.set_cookie(
        name,
        value,
        max_age=max_age_s,
        path="/",
        secure=settings.secure_cookies,
        httponly=True,
        samesite="lax",
    )


def elsewhere(request: Request, origin: str) -> Response:
    """A page is at that other host; a program is told so. Raises NotFound."""
    if wants_page(request):
        headers = {"Cache-Control": "no-store"}
        return RedirectResponse(f"{origin}{path_of(request)}", status_code=302, headers=headers)
    raise errors.NotFound(f"This is at {origin}.")
