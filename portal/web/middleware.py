"""Middleware for every request: request id, security headers, body limit, content hosts
(content_host.py), origin check.
"""

import re
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from portal.config.settings import Settings
from portal.errors import NotFound, OriginRefused, TooLarge, problem_response
from portal.logging import begin_request
from portal.services.audit.audit import set_request_id
from portal.web.bearer import has_bearer
from portal.web.content_host import content_host, content_origin, wants_page
from portal.web.request_origin import origin_allowed
from spawner.request_id import HEADER

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
    """Assigns each request an id, which is in the log, the audit log and the response header, so
    that a report of an error leads to both.

    The id is nginx's own, which replaces any other; the hub forwards the id of its own request.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = HTTPConnection(scope).headers.get(HEADER, "")
        request_id = begin_request(given)
        set_request_id(request_id)

        async def add(message: Any) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = request_id
            await send(message)

        await self.app(scope, receive, add)


class SecurityHeaders:
    """Adds the security headers of our pages to every response that does not set its own."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        secure = {"Strict-Transport-Security": "max-age=31536000"}
        self.headers = {**HEADERS, **(secure if settings.secure_cookies else {})}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def add(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, add)


class BodyLimit:
    """Rejects a body over the limit: before reading if Content-Length is too large, else at the
    limit.

    A body is parsed before a route knows the caller, so large bodies are accepted on few paths. A
    chunk of an upload, which is not kept in memory, has a limit of its own.
    """

    CHUNK = re.compile("/api/v1/files/uploads/[^/]+")
    LARGE = re.compile(
        "/api/v1/(?:files/(?:text|delete|move)|jobs(?:/[^/]+)?|templates/[^/]+/render"
        "|scripts/import|admin/users/import)|/(?:internal|tensorboard)/.*"
    )

    def __init__(
        self, app: ASGIApp, max_bytes: int, max_large_bytes: int, max_chunk_bytes: int
    ) -> None:
        self.app = app
        self.max_bytes = max_bytes
        self.max_large_bytes = max_large_bytes
        self.max_chunk_bytes = max_chunk_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        max_bytes = self._max_body_bytes(scope)
        announced = HTTPConnection(scope).headers.get("content-length", "0")
        if not announced.isdecimal() or int(announced) > max_bytes:
            await problem_response(TooLarge())(scope, receive, send)
            return
        seen = 0

        async def counted() -> Any:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > max_bytes:
                # The one exception that the framework's body parsing passes on unchanged.
                raise HTTPException(413)
            return message

        await self.app(scope, counted, send)

    def _max_body_bytes(self, scope: Scope) -> int:
        if scope["method"] == "PUT" and self.CHUNK.fullmatch(scope["path"]):
            return self.max_chunk_bytes
        return self.max_large_bytes if self.LARGE.fullmatch(scope["path"]) else self.max_bytes


class ContentHostsOnly:
    """Serves at a content host (content_host.py) only the paths that belong there, even if nginx
    lets others through.

    No page of a user may have the API on its own origin.
    """

    EXEMPT = ("/internal/", "/node/")

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        here = scope["type"] in {"http", "websocket"} and not scope["path"].startswith(self.EXEMPT)
        host = content_host(HTTPConnection(scope), self.settings) if here else None
        if host is None or self.settings.content is None:
            await self.app(scope, receive, send)
            return
        path = scope["path"]
        if path.startswith(self.settings.content.paths(host)):
            await self.app(scope, receive, send)
        elif path == "/" and scope["type"] == "http" and wants_page(Request(scope)):
            home = RedirectResponse(f"{self.settings.public_url}/", status_code=302)
            await home(scope, receive, send)
        else:
            await problem_response(NotFound())(scope, receive, send)


class OriginCheck:
    """Rejects requests that a foreign page makes a browser send; paths in `EXEMPT` do not use
    cookies.

    The API also ignores the cookie of a request with an access token: see web/dependencies.py.
    """

    EXEMPT = ("/internal/", "/node/")
    TAKE_TOKENS = "/api/v1/"
    OWN_PAGES_ONLY = ("/api/v1/", "/tensorboard/")

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
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
            "Changes are accepted only from the portal's own pages. A program must send "
            f"the header Origin: {self.settings.public_url}."
        )
        await problem_response(refusal)(scope, receive, send)

    def _allowed(self, connection: HTTPConnection) -> bool:
        takes_token = connection.scope["path"].startswith(self.TAKE_TOKENS)
        own_origins, cookie = self.settings.origins, self.settings.cookie_name
        content = content_host(connection, self.settings)
        if content is not None:
            own_origins = frozenset({content_origin(self.settings, content)})
            cookie = self.settings.cookie_at(content)
        return origin_allowed(
            method=connection.scope.get("method", "GET"),
            websocket=connection.scope["type"] == "websocket",
            has_cookie=cookie in connection.cookies,
            has_token=takes_token and has_bearer(connection),
            origin=connection.headers.get("origin"),
            sec_fetch_site=connection.headers.get("sec-fetch-site"),
            own_origins=own_origins,
            own_pages_only=self._is_for_own_pages(connection),
        )

    def _is_for_own_pages(self, connection: HTTPConnection) -> bool:
        """Return whether only pages of the same origin may read this: not for navigations, such as
        from a link in an e-mail.
        """
        is_page = connection.headers.get("sec-fetch-mode") == "navigate"
        return connection.scope["path"].startswith(self.OWN_PAGES_ONLY) and not is_page
