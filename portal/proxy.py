"""Streaming to a TensorBoard: which headers may pass, and one function that carries the bytes.

The header rules are pure, and lists of what may pass: TensorBoard belongs to its user, so it gets
nothing of ours and what it says acts on nothing but its own path. Who may look at which TensorBoard
is not decided here.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import structlog
from starlette.responses import Response
from yarl import URL

from portal.metrics import Metrics
from spawner.measured import measured

log = structlog.get_logger(__name__)

Headers = list[tuple[bytes, bytes]]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Allowed = Callable[[], Awaitable[bool]]
"""Whether whoever asked may still look."""

SECRET_HEADER = "X-Portal-Secret"  # noqa: S105 - the name, not the secret
TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=5, sock_read=120)
BUFFER_BYTES = 64 * 1024
ASK_AGAIN_S = 3.0

# No Cookie, Authorization or Origin, no Host, nothing hop-by-hop, no address of the reader.
REQUEST_HEADERS = frozenset(
    {
        b"accept",
        b"accept-encoding",
        b"accept-language",
        b"cache-control",
        b"content-type",
        b"if-modified-since",
        b"if-none-match",
        b"if-range",
        b"pragma",
        b"range",
        b"x-xsrf-protected",
    }
)
REQUEST_PREFIX = b"x-tensorboard-"

# No Set-Cookie, Refresh, Clear-Site-Data, Service-Worker-Allowed, Link, Alt-Svc, NEL, …
# TensorBoard's own policy stays beside ours: of several, a browser obeys all.
RESPONSE_HEADERS = frozenset(
    {
        b"accept-ranges",
        b"cache-control",
        b"content-disposition",
        b"content-encoding",
        b"content-language",
        b"content-range",
        b"content-security-policy",
        b"content-type",
        b"date",
        b"etag",
        b"expires",
        b"last-modified",
        b"retry-after",
        b"vary",
        b"x-content-type-options",
    }
)


def request_headers(client: Iterable[tuple[bytes, bytes]], secret: str) -> list[tuple[str, str]]:
    """What TensorBoard is sent: the client's headers that may pass, and the secret it asks for."""
    passed = [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in client
        if name in REQUEST_HEADERS or name.startswith(REQUEST_PREFIX)
    ]
    return [*passed, (SECRET_HEADER, secret)]


def response_headers(upstream: Iterable[tuple[bytes, bytes]], origin: str, prefix: str) -> Headers:
    """What the browser is sent: the headers that may pass, and those that confine the page.

    `prefix` is the TensorBoard's path; a redirect to anywhere else is dropped.
    """
    passed: Headers = []
    chunked = False
    length: list[bytes] = []
    for raw_name, value in upstream:
        name = raw_name.lower()
        if name in RESPONSE_HEADERS:
            passed.append((name, value))
        elif name == b"transfer-encoding":
            chunked = True
        elif name == b"content-length":
            length.append(value)
        elif name == b"location" and (inside := _inside(value, prefix)):
            passed.append((name, inside))
    if len(length) == 1 and not chunked:
        passed.append((b"content-length", length[0]))
    return [*passed, *confinement(origin, prefix)]


def _inside(location: bytes, prefix: str) -> bytes | None:
    """A redirect's path if it stays below the prefix: our own host, whatever it named."""
    parts = urlsplit(location.decode("latin-1"))
    if not parts.path.startswith(prefix) or ".." in parts.path or "%" in parts.path:
        return None
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.path}{query}".encode("latin-1")


def confinement(origin: str, prefix: str) -> Headers:
    """Headers under which TensorBoard's charts draw and its scripts reach nothing else of ours.

    `allow-same-origin` is there because it draws nothing without.
    """
    base = f"{origin}{prefix}"
    policy = "; ".join(
        (
            "sandbox allow-scripts allow-same-origin allow-forms allow-downloads allow-modals",
            f"connect-src {base}",
            f"frame-src {base}",
            f"img-src {base} data: blob:",
            f"worker-src {base}",
            "form-action 'none'",
            "base-uri 'none'",
            "manifest-src 'none'",
            "frame-ancestors 'none'",
        )
    )
    return [
        (b"content-security-policy", policy.encode("latin-1")),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"referrer-policy", b"same-origin"),
        (b"x-content-type-options", b"nosniff"),
    ]


@dataclass(frozen=True)
class Exchange:
    """One request to a TensorBoard, ready to be sent."""

    method: str
    url: URL
    headers: list[tuple[str, str]]
    body: bytes
    origin: str
    prefix: str
    tls: Mapping[str, Any] = field(default_factory=dict)
    """Whose certificate the other side must show, in aiohttp's words; none: plain HTTP."""


class Forwarded(Response):
    """The answer of a TensorBoard, streamed as it comes; `away` answers when it doesn't.

    `client` must keep no cookies and decompress nothing. If the browser goes away, so does the
    request to the node; and an answer that takes long is cut off once `allowed` says no.
    """

    def __init__(
        self,
        client: aiohttp.ClientSession,
        exchange: Exchange,
        away: Response,
        metrics: Metrics,
        allowed: Allowed | None = None,
    ) -> None:
        super().__init__()
        self._metrics = metrics
        self._client = client
        self._exchange = exchange
        self._away = away
        self._allowed = allowed

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        carrying = asyncio.ensure_future(self._carry(scope, receive, send))
        others = {asyncio.ensure_future(_disconnected(receive))}
        if self._allowed is not None:
            others.add(asyncio.ensure_future(_forbidden(self._allowed)))
        try:
            await asyncio.wait({carrying, *others}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (carrying, *others):
                task.cancel()
            await asyncio.wait({carrying, *others})
        if not carrying.cancelled():
            carrying.result()  # what went wrong half-way must end the connection, not the body

    async def _carry(self, scope: Any, receive: Receive, send: Send) -> None:
        try:
            with measured(self._metrics.proxy, "", (aiohttp.ClientError, TimeoutError)):
                answer = await self._ask()
        except (aiohttp.ClientError, TimeoutError) as error:
            log.warning(
                "tensorboard does not answer",
                url=str(self._exchange.url.origin()),
                cause=f"{type(error).__name__}: {error}"[:300],
            )
            await self._away(scope, receive, send)
            return
        async with answer:
            with self._metrics.proxy_open.track_inprogress():
                await self._pass_on(answer, send)

    async def _ask(self) -> aiohttp.ClientResponse:
        exchange = self._exchange
        return await self._client.request(
            exchange.method,
            exchange.url,
            headers=exchange.headers,
            data=exchange.body or None,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            allow_redirects=False,
            auto_decompress=False,
            timeout=TIMEOUT,
            read_bufsize=BUFFER_BYTES,
            **exchange.tls,
        )

    async def _pass_on(self, answer: aiohttp.ClientResponse, send: Send) -> None:
        exchange = self._exchange
        headers = response_headers(answer.raw_headers, exchange.origin, exchange.prefix)
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        if exchange.method != "HEAD":
            async for chunk in answer.content.iter_any():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                self._metrics.proxy_bytes.inc(len(chunk))
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _forbidden(allowed: Allowed) -> None:
    """Return when whoever asks may no longer."""
    while True:
        await asyncio.sleep(ASK_AGAIN_S)
        if not await allowed():
            return


async def _disconnected(receive: Receive) -> None:
    """Return when the browser has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
