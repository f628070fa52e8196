"""What happens to every request before a route sees it, and to every answer after.

Its name, where it comes from, how large it is, and the headers that keep our own pages ours.
"""

import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse

from portal.api.bearer import has_bearer
from portal.api.side import content_host, content_origin, wants_page
from portal.content import PATHS
from portal.errors import NotFound, OriginRefused, TooLarge, problem_response
from portal.logging import begin_request
from portal.origin import origin_allowed
from portal.services.audit.audit import is_request
from portal.settings import Settings
from spawner.request_id import HEADER

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

PAGE_POLICY = "; ".join(
    (
        "default-src 'self'",
        "img-src 'self' data:",
        "style-src 'self' 'unsafe-inline'",  # the component library sets style attributes
        "font-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Content-Security-Policy": PAGE_POLICY,
}


class RequestIds:
    """Each request has a name: in the log, in the audit, and for the caller in the answer, so that
    a complaint leads to both. It is nginx's own, which lets no other through; the hub hands on what
    its request had from there."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = HTTPConnection(scope).headers.get(HEADER, "")
        request_id = begin_request(given)
        is_request(request_id)

        async def add(message: Any) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = request_id
            await send(message)

        await self.app(scope, receive, add)


class SecurityHeaders:
    """Adds our pages' headers to every answer that doesn't set its own; TensorBoard's do."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith("/tensorboard/"):
            await self.app(scope, receive, send)
            return

        async def add(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, add)


class BodyLimit:
    """Refuses a body over the limit: before it is read when it says so, else once it gets there.
    A chunk of an upload, which nobody keeps in memory, has a limit of its own."""

    CHUNK = re.compile("/api/v1/files/uploads/[^/]+")

    def __init__(self, app: App, max_bytes: int, max_chunk_bytes: int) -> None:
        self.app = app
        self.max_bytes = max_bytes
        self.max_chunk_bytes = max_chunk_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        is_chunk = scope["method"] == "PUT" and self.CHUNK.fullmatch(scope["path"])
        most = self.max_chunk_bytes if is_chunk else self.max_bytes
        announced = HTTPConnection(scope).headers.get("content-length", "0")
        if not announced.isdecimal() or int(announced) > most:
            await problem_response(TooLarge())(scope, receive, send)
            return
        seen = 0

        async def counted() -> Any:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > most:
                # the one error that passes through the framework's reading of a body unchanged
                raise HTTPException(413)
            return message

        await self.app(scope, counted, send)


class ContentHostsOnly:
    """At a content host there is nothing of the portal's but what belongs there: whatever nginx
    lets through, no page of a user's has the API on its own origin."""

    EXEMPT = ("/internal/", "/node/")

    def __init__(self, app: App, settings: Settings) -> None:
        self.app = app
        self.settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        here = scope["type"] in {"http", "websocket"} and not scope["path"].startswith(self.EXEMPT)
        if not here or content_host(HTTPConnection(scope), self.settings) is None:
            await self.app(scope, receive, send)
            return
        path = scope["path"]
        if path.startswith(PATHS):
            await self.app(scope, receive, send)
        elif path == "/" and scope["type"] == "http" and wants_page(Request(scope)):
            home = RedirectResponse(f"{self.settings.public_url}/", status_code=302)
            await home(scope, receive, send)
        else:
            await problem_response(NotFound())(scope, receive, send)


class OriginCheck:
    """Refuses what a foreign page makes a browser send; `EXEMPT` act on no cookie.

    Nor does anything of the API look at the cookie of a request that has an access token: see
    api/deps.py.
    """

    EXEMPT = ("/internal/", "/node/")
    TAKE_TOKENS = "/api/v1/"

    def __init__(self, app: App, settings: Settings) -> None:
        self.app = app
        self.settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"} or scope["path"].startswith(self.EXEMPT):
            await self.app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        if self._allowed(connection):
            await self.app(scope, receive, send)
            return
        refusal = OriginRefused(
            "A change must come from the portal's own pages. A program sends the header "
            f"Origin: {self.settings.public_url}."
        )
        await problem_response(refusal)(scope, receive, send)

    def _allowed(self, connection: HTTPConnection) -> bool:
        takes_token = connection.scope["path"].startswith(self.TAKE_TOKENS)
        own_origins, cookie = self.settings.origins, self.settings.cookie_name
        content = content_host(connection, self.settings)
        if content is not None:
            own_origins = frozenset({content_origin(self.settings, content)})
            cookie = self.settings.content_cookie
        return origin_allowed(
            method=connection.scope.get("method", "GET"),
            websocket=connection.scope["type"] == "websocket",
            has_cookie=cookie in connection.cookies,
            has_token=takes_token and has_bearer(connection),
            origin=connection.headers.get("origin"),
            sec_fetch_site=connection.headers.get("sec-fetch-site"),
            own_origins=own_origins,
        )
