"""Limit of the bodies of requests without a login.

Tornado reads a request's body before any handler runs, into the memory of the session's job. The
address is open to the cluster's network, so a request without a cookie of the server's own login
may have only a small body.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

from tornado.http1connection import HTTP1Connection
from tornado.httputil import (
    HTTPConnection,
    HTTPHeaders,
    HTTPMessageDelegate,
    HTTPServerConnectionDelegate,
    RequestStartLine,
    ResponseStartLine,
    parse_cookie,
)
from tornado.web import Application, decode_signed_value

ANONYMOUS_BODY_BYTES = 64 * 1024
"""Limit without a login: also for the portal's own requests, whose signature covers the body."""


class AnonymousBodyLimit(HTTPServerConnectionDelegate):
    """Passes connections to an application, and limits the bodies of requests without a login.

    The login is the signed cookie `cookie_name()`.
    """

    def __init__(self, app: Application, cookie_name: Callable[[], str]) -> None:
        self._app = app
        self._cookie_name = cookie_name

    def start_request(
        self, server_conn: object, request_conn: HTTPConnection
    ) -> HTTPMessageDelegate:
        message = self._app.start_request(server_conn, request_conn)
        return _Message(message, cast(HTTP1Connection, request_conn), self._has_login)

    def on_close(self, server_conn: object) -> None:
        self._app.on_close(server_conn)

    def _has_login(self, headers: HTTPHeaders) -> bool:
        """Return whether this server has issued the cookie; the handler checks if it is valid."""
        name = self._cookie_name()
        cookie = parse_cookie(headers.get("Cookie", "")).get(name)
        return decode_signed_value(self._app.settings["cookie_secret"], name, cookie) is not None


class _Message(HTTPMessageDelegate):
    """A request on its way to the application."""

    def __init__(
        self,
        message: HTTPMessageDelegate,
        connection: HTTP1Connection,
        has_login: Callable[[HTTPHeaders], bool],
    ) -> None:
        self._message = message
        self._connection = connection
        self._has_login = has_login

    def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> Awaitable[None] | None:
        if not self._has_login(headers):
            self._connection.set_max_body_size(ANONYMOUS_BODY_BYTES)
        return self._message.headers_received(start_line, headers)

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        return self._message.data_received(chunk)

    def finish(self) -> None:
        self._message.finish()

    def on_connection_close(self) -> None:
        self._message.on_connection_close()
