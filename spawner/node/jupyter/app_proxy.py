"""Proxy for the apps of a session: requests and websockets below `…/app/NAME/`.

AppProxy needs a login of the session's owner, which its subclass checks. Requests, answers and the
bytes of websockets are streamed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from functools import partial

from tornado import httputil
from tornado.iostream import IOStream, StreamClosedError
from tornado.web import RequestHandler, authenticated, stream_request_body

from spawner.node.apps import headers as app_headers
from spawner.node.apps.app import AppState, StartedApp
from spawner.node.apps.headers import ForeignRedirect, Headers
from spawner.node.apps.session_apps import SessionApps
from spawner.node.jupyter.app_control import APPS_SETTING
from spawner.tasks import end_all

log = logging.getLogger("portal")

PATH = r"/app/([a-z][a-z0-9-]{0,19})(?:/.*)?"
CHUNK_BYTES = 64 * 1024
HEAD_BYTES = 16 * 1024
HANDSHAKE_S = 30.0
CONNECT_S = 5.0
SILENCE_S = 3600.0
"""As long as nginx waits for the next bytes of an answer."""
NOT_RUNNING = "This app isn't running. Start it on the session's page in the portal."
STARTING = "This app is starting. Reload this page in a moment."
FULL = "This app has too many connections. Close some of its tabs."
GARBAGE = "The app sent no valid answer. Its output is on the session's page in the portal."
FOREIGN_PAGE = "This request comes from a page of another origin."
NO_LOGIN = "Your login has ended. Reload this page."
NO_WEBSOCKET = "The app opens no websocket at this address."
FOREIGN = "The app redirects to {host}. The portal doesn't follow it to another host."


@stream_request_body
class AppProxy(RequestHandler):
    """Any method: one request to an app, or a websocket."""

    _relaying: asyncio.Task[None] | None = None
    _own_answer: Callable[[], object] | None = None
    """Answers the request in place of the app."""

    def set_default_headers(self) -> None:
        """Set none: the answer has the app's."""
        self.clear_header("Server")

    def check_xsrf_cookie(self) -> None:
        """Do nothing: `prepare` checks the origin; an app's pages know no token of Jupyter."""

    async def prepare(self) -> None:
        """Admit the request, and start to pass it on; its body arrives afterwards."""
        method = self.request.method or ""
        if not app_headers.is_own_request(method, self.request.headers):
            self._own_answer = partial(self._refuse, 403, FOREIGN_PAGE)
            return
        if (prepared := super().prepare()) is not None:
            await prepared
        if self._finished:
            return
        if self.current_user:
            self._pass_on()
        elif method in {"GET", "HEAD"}:
            self._own_answer = self._log_in
        else:
            self._own_answer = partial(self._refuse, 403, NO_LOGIN)

    @authenticated
    def _log_in(self) -> None:
        """Redirect to the login, which is what the decorator does."""

    def _pass_on(self) -> None:
        """Begin to pass the request on, or prepare another answer."""
        apps: SessionApps = self.settings[APPS_SETTING]
        app = apps.find(str(self.path_args[0]))
        if app is None or app.state is not AppState.RUNNING:
            starting = app is not None and app.state is AppState.STARTING
            self._own_answer = partial(self._refuse, 503, STARTING if starting else NOT_RUNNING)
        elif app.is_full:
            self._own_answer = partial(self._refuse, 503, FULL)
        elif self.request.path == app.base:
            query = f"?{self.request.query}" if self.request.query else ""
            self._own_answer = partial(self.redirect, f"{app.base}/{query}", status=308)
        else:
            self._body: asyncio.Queue[bytes | None] = asyncio.Queue(1)
            self._relaying = asyncio.create_task(self._relay(app))

    async def data_received(self, chunk: bytes) -> None:
        """Pass on a piece of the request's body; it is ignored if the answer needs none."""
        await self._put(chunk)

    async def _put(self, piece: bytes | None) -> None:
        if self._relaying is None:
            return
        putting = asyncio.create_task(self._body.put(piece))
        await asyncio.wait({putting, self._relaying}, return_when=asyncio.FIRST_COMPLETED)
        putting.cancel()

    async def _answer(self, *_args: str) -> None:
        """Wait until the answer has been passed on; called at the end of the request's body.

        Other answers wait for that end, too: a client that still sends might not read them.
        """
        if self._own_answer is not None:
            self._own_answer()
        elif self._relaying is not None:
            await self._put(None)
            await asyncio.wait({self._relaying})
            if not self._relaying.cancelled():
                self._relaying.result()

    get = head = post = put = patch = delete = options = _answer

    def on_connection_close(self) -> None:
        """End the request to the app when the browser has gone."""
        super().on_connection_close()
        if self._relaying is not None:
            self._relaying.cancel()

    async def _relay(self, app: StartedApp) -> None:
        import aiohttp  # noqa: PLC0415 - takes a while; app.py has imported it

        with app.connection():
            try:
                if self.request.headers.get("Upgrade", "").lower() == "websocket":
                    await self._relay_websocket(app)
                else:
                    await self._relay_request(app)
            except ForeignRedirect as error:
                self._refuse(502, FOREIGN.format(host=error))
            except (aiohttp.ClientError, OSError, ValueError) as error:
                log.info("an app sent no valid answer: %s", str(error)[:200])
                self._break_off()

    def _target(self, app: StartedApp) -> str:
        """Return the path and the query that the app gets, as the browser encoded them."""
        target = self.request.uri or ""
        return target.removeprefix(app.base) if app.declared.strips_prefix else target

    def _request_headers(self, app: StartedApp) -> Headers:
        prefix = app.base if app.declared.strips_prefix else None
        return app_headers.to_app(self.request.headers.get_all(), prefix)

    async def _relay_request(self, app: StartedApp) -> None:
        import aiohttp  # noqa: PLC0415 - as above
        from yarl import URL  # noqa: PLC0415 - as above

        asked = self.request.headers
        has_body = asked.get("Content-Length", "0") != "0" or "Transfer-Encoding" in asked
        async with app.client.request(
            self.request.method or "",
            URL(f"http://app{self._target(app)}", encoded=True),
            headers=self._request_headers(app),
            data=self._read_body() if has_body else None,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=SILENCE_S),
        ) as answer:
            self._begin_answer(app, answer.status, list(answer.headers.items()))
            await self.flush()
            async for chunk in answer.content.iter_any():
                self.write(chunk)
                await self.flush()

    def _begin_answer(self, app: StartedApp, status: int, given: Headers) -> None:
        """Set the status and the headers of the app's answer, and no others."""
        host = self.request.headers.get("Host", "")
        strips = app.declared.strips_prefix
        passing = app_headers.to_browser(given, app.base, host, strips_prefix=strips)
        if status < 200:
            raise ValueError(f"status {status} without a request for it")
        self.clear()
        self.set_status(status)
        for name in ("Content-Type", *(name for name, _ in passing)):
            self.clear_header(name)
        for name, value in passing:
            self.add_header(name, value)

    async def _read_body(self) -> AsyncIterator[bytes]:
        while (piece := await self._body.get()) is not None:
            yield piece

    async def _relay_websocket(self, app: StartedApp) -> None:
        """Have the app answer the handshake, then pass on the bytes of both sides."""
        async with asyncio.timeout(CONNECT_S):
            reader, writer = await asyncio.open_unix_connection(app.socket, limit=HEAD_BYTES)
        try:
            upgrade = [("Upgrade", "websocket"), ("Connection", "Upgrade")]
            asked = [*self._request_headers(app), *upgrade]
            writer.write(_render_head(f"GET {self._target(app)} HTTP/1.1", asked))
            status, given = await _read_head(reader)
            if status != 101:
                self._refuse(status if 400 <= status < 600 else 502, NO_WEBSOCKET)
                return
            stream = self.detach()
            try:
                accepted = app_headers.to_websocket(given)
                await stream.write(_render_head("HTTP/1.1 101 Switching Protocols", accepted))
                await _relay_bytes(stream, reader, writer)
            finally:
                stream.close()
        finally:
            writer.close()

    def _refuse(self, status: int, text: str) -> None:
        """Answer in plain text, unless an answer has begun."""
        if self._headers_written or self._finished:
            self._break_off()
            return
        self.clear()
        self.set_status(status)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Cache-Control", "no-store")
        self.finish(f"{text}\n")

    def _break_off(self) -> None:
        """End an incomplete answer so that the browser can't mistake it for a complete one."""
        if self._finished:
            return
        if self._headers_written:
            self.detach().close()
        else:
            self._refuse(502, GARBAGE)


def _render_head(first: str, headers: Headers) -> bytes:
    lines = [first, *(f"{name}: {value}" for name, value in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, Headers]:
    """Return the status and the headers of an answer. Raises ValueError."""
    try:
        async with asyncio.timeout(HANDSHAKE_S):
            head = await reader.readuntil(b"\r\n\r\n")
        first, _, rest = head.decode("latin-1").partition("\r\n")
        status = httputil.parse_response_start_line(first).code
        return status, list(httputil.HTTPHeaders.parse(rest).get_all())
    except (EOFError, asyncio.LimitOverrunError, TimeoutError, httputil.HTTPInputError) as error:
        raise ValueError(f"no answer to a websocket's handshake: {error}") from error


async def _relay_bytes(
    stream: IOStream, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Pass on bytes in both directions until either side ends."""

    async def to_app() -> None:
        with contextlib.suppress(StreamClosedError, OSError):
            while True:
                writer.write(await stream.read_bytes(CHUNK_BYTES, partial=True))
                await writer.drain()

    async def to_browser() -> None:
        with contextlib.suppress(StreamClosedError, OSError):
            while chunk := await reader.read(CHUNK_BYTES):
                await stream.write(chunk)

    directions = [asyncio.create_task(to_app()), asyncio.create_task(to_browser())]
    try:
        await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await end_all(directions)
