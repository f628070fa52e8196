"""Content hosts: separate hosts that serve users' own content (notebooks, TensorBoards), so that it
never shares the portal's origin. Finds the content host of a request, and redirects between it
and the portal.

With `same_origin_content` there is only the portal's host.
"""

import re
from urllib.parse import quote, urlencode, urlsplit

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from starlette.requests import HTTPConnection

from portal import errors
from portal.config.settings import Settings
from portal.services.auth import content_logins
from portal.services.hashes import hash_token

CONTENT_HOST_HEADER = "X-Content-Host"
"""The header in which nginx's and the hub's subrequests name the browser's host."""
# The paths of a login at a content host, in the order of a browser's visits: api/content.py.
BEGIN = "/content/begin"
OPEN = "/content/open"
ENTER = "/content/enter"
RETURN_PATH = re.compile(r"/(?:(?:user|hub|tensorboard)/[^\x00-\x20\x7f-\U0010ffff\\]{0,3000})?")
STATE = re.compile(r"[A-Za-z0-9_-]{43}")
NO_STORE_HEADERS = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}


def content_host(connection: HTTPConnection, settings: Settings) -> str | None:
    """Return the content host of this request; None for the portal's own host."""
    origins = settings.content
    return origins.to_content_host(connection.headers.get("host", "")) if origins else None


def content_origin(settings: Settings, host: str) -> str:
    """Return the origin of a content host, in the form that browsers use."""
    return f"{urlsplit(settings.public_url).scheme}://{host}"


def read_cookie(connection: HTTPConnection, settings: Settings) -> tuple[str, str | None]:
    """Return the token of the cookie for this request's host, and that content host.

    Cookies of the other kind of host are ignored.
    """
    host = content_host(connection, settings)
    return connection.cookies.get(settings.cookie_at(host), ""), host


def at_portal(settings: Settings, host: str | None, path: str) -> str:
    """Return an address of the portal's own, for a link from this host."""
    return path if host is None else f"{settings.public_url}{path}"


def wants_page(request: Request) -> bool:
    """Return whether a browser will display the response as a page; nginx decides by the same
    rule.
    """
    headers = request.headers
    if request.method not in {"GET", "HEAD"} or "upgrade" in headers:
        return False
    mode = headers.get("sec-fetch-mode", "")
    return mode == "navigate" or (not mode and "text/html" in headers.get("accept", ""))


def path_of(request: Request) -> str:
    """Return path and query exactly as the browser sent them."""
    raw: bytes = request.scope.get("raw_path") or request.url.path.encode()
    path = raw.decode("latin-1")
    return f"{path}?{request.url.query}" if request.url.query else path


def to_login(request: Request, settings: Settings) -> Response:
    """Redirect to the login page, which leads back here; from a content host through the portal,
    where this browser may already be logged in.
    """
    host = content_host(request, settings)
    if host is not None:
        return redirect_for_code(request, settings, host, path_of(request))
    headers = {"Cache-Control": "no-store"}
    where = f"/login?next={quote(path_of(request), safe='/')}"
    return RedirectResponse(where, status_code=302, headers=headers)


def redirect_for_code(request: Request, settings: Settings, host: str, back: str) -> Response:
    """Redirect to the portal for a code that logs this browser in at this content host, and then to
    `back`.
    """
    state = request.cookies.get(settings.entry_cookie, "")
    if not STATE.fullmatch(state):
        state = content_logins.new_state()
    to = {
        "host": host,
        "state": hash_token(state),
        "next": back if RETURN_PATH.fullmatch(back) else "/",
    }
    answer = RedirectResponse(
        f"{settings.public_url}{OPEN}?{urlencode(to)}", status_code=302, headers=NO_STORE_HEADERS
    )
    set_cookie(answer, settings, settings.entry_cookie, state, None)
    return answer


def set_cookie(
    answer: Response, settings: Settings, name: str, value: str, max_age_s: int | None
) -> None:
    """Set a cookie for this host only, hidden from scripts."""
    answer.set_cookie(
        name,
        value,
        max_age=max_age_s,
        path="/",
        secure=settings.secure_cookies,
        httponly=True,
        samesite="lax",
    )


def redirect_to_origin(request: Request, origin: str) -> Response:
    """Redirect a page to another host; raise NotFound with that host for other requests."""
    if wants_page(request):
        headers = {"Cache-Control": "no-store"}
        return RedirectResponse(f"{origin}{path_of(request)}", status_code=302, headers=headers)
    raise errors.NotFound(f"This is at {origin}.")
