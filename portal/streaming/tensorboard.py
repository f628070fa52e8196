"""Proxied responses of TensorBoards: rules for their headers, and the streamed response.

The header rules are pure, and allowlists: a TensorBoard belongs to its user, so it gets none of the
portal's data, and its response affects only its own path. Authorization is decided elsewhere.
"""

import time
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import structlog
from starlette.responses import Response
from starlette.types import Receive, Send
from yarl import URL

from portal.errors import NotFound, TooManyRequests, problem_response
from portal.metrics import Metrics
from portal.streaming import proxy
from portal.streaming.proxy import Headers
from spawner import signing
from spawner.timing import measured

log = structlog.get_logger(__name__)

RECHECK_S = 3.0

# No Cookie, Authorization or Origin, no Host, no hop-by-hop header, no address of the viewer.
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
RESPONSE_HEADERS = frozenset(
    {
        b"accept-ranges",
        b"cache-control",
        b"content-disposition",
        b"content-encoding",
        b"content-language",
        b"content-range",
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


# TensorBoard's own policy is sent in addition to ours: a browser obeys all of them.
POLICY = b"content-security-policy"
REPORTING = frozenset({b"report-uri", b"report-to"})


def request_headers(client: Iterable[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    """Return the client's headers that may pass to TensorBoard."""
    return [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in client
        if name in REQUEST_HEADERS or name.startswith(REQUEST_PREFIX)
    ]


@dataclass(frozen=True)
class TensorboardTarget:
    """The location of a TensorBoard.

    In the browser it is at `origin` below the path `prefix`, which ends in its ticket; on its node
    it is below `node_path`. `frames`: the origin that may show it in a frame.
    """

    origin: str
    prefix: str
    node_path: str
    frames: str | None = None


def response_headers(upstream: Iterable[tuple[bytes, bytes]], target: TensorboardTarget) -> Headers:
    """Return the headers for the browser: those that may pass, and those that confine the page.

    A redirect to a path that is not below the TensorBoard's `node_path` is dropped.
    """
    passed: Headers = []
    chunked = False
    length: list[bytes] = []
    for raw_name, value in upstream:
        name = raw_name.lower()
        if name == POLICY:
            passed.append((name, _without_reports(value)))
        elif name in RESPONSE_HEADERS:
            passed.append((name, value))
        elif name == b"transfer-encoding":
            chunked = True
        elif name == b"content-length":
            length.append(value)
        elif name == b"location" and (inside := _to_inside_path(value, target)):
            passed.append((name, inside))
    if len(length) == 1 and not chunked:
        passed.append((b"content-length", length[0]))
    return [*passed, *confinement(target)]


def _without_reports(policy: bytes) -> bytes:
    """Return the policy without reporting directives: a report is a POST with the viewer's cookies,
    and no policy limits its destination.
    """
    return b",".join(
        b";".join(
            directive for directive in directives.split(b";") if not _is_report_directive(directive)
        )
        for directives in policy.split(b",")
    )


def _is_report_directive(directive: bytes) -> bool:
    words = directive.split(maxsplit=1)
    return bool(words) and words[0].lower() in REPORTING


def _to_inside_path(location: bytes, target: TensorboardTarget) -> bytes | None:
    """Return a redirect's path in the browser's form, if it stays below the TensorBoard's, on our
    own host.
    """
    parts = urlsplit(location.decode("latin-1"))
    if not parts.path.startswith(target.node_path) or ".." in parts.path or "%" in parts.path:
        return None
    query = f"?{parts.query}" if parts.query else ""
    return f"{target.prefix}{parts.path.removeprefix(target.node_path)}{query}".encode("latin-1")


def confinement(target: TensorboardTarget) -> Headers:
    """Return headers under which TensorBoard's charts work and its scripts reach nothing else of
    ours.

    `allow-same-origin` is needed, because TensorBoard draws nothing without it.
    """
    policy = tensorboard_policy(f"{target.origin}{target.prefix}", target.frames)
    return [
        (b"content-security-policy", policy.encode("latin-1")),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
        (b"referrer-policy", b"no-referrer"),
        (b"x-content-type-options", b"nosniff"),
        (b"x-frame-options", b"SAMEORIGIN"),  # for browsers without support for frame-ancestors
    ]


def tensorboard_policy(base: str, frames: str | None = None) -> str:
    """Return the Content-Security-Policy of a TensorBoard with URLs below `base`.

    It allows only what TensorBoard 2.21 was observed to need, and only from `base`: WebAssembly and
    templates (`unsafe-eval`), a worker that draws the charts, the frame of the embedding projector,
    which `frame-ancestors` must let in, and the audio player. `frames`: the origin of the notebooks
    that may show it in a frame.
    """
    ancestors = f"'self' {frames}" if frames else "'self'"
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {base} 'unsafe-inline' 'unsafe-eval'",
            f"style-src {base} 'unsafe-inline'",
            f"font-src {base} data:",
            f"img-src {base} data: blob:",
            f"media-src {base}",
            f"connect-src {base}",
            f"frame-src {base}",
            f"worker-src {base}",
            "object-src 'none'",
            "fenced-frame-src 'none'",
            "manifest-src 'none'",
            f"base-uri {base}",
            "form-action 'none'",
            f"frame-ancestors {ancestors}",
            "sandbox allow-scripts allow-same-origin allow-forms allow-downloads allow-modals",
        )
    )


@dataclass(frozen=True)
class Exchange:
    """A request to a TensorBoard, ready to be sent."""

    method: str
    url: URL
    headers: list[tuple[str, str]]
    body: bytes
    target: TensorboardTarget
    guard_key: str = field(repr=False)
    """The run's key: signs our request, and proves that the response is TensorBoard's own."""
    tls: Mapping[str, Any] = field(default_factory=dict)
    """aiohttp's TLS options for the expected certificate; empty: plain HTTP."""


async def _allow_always() -> bool:
    return True


class Forwarded(Response):
    """The response of a TensorBoard, streamed as it arrives; without one, `unavailable` is sent.

    `client` must keep no cookies and decompress nothing. If the browser disconnects, the request to
    the node is cancelled; a long response is cut off once `allowed` returns false. `turn` is held
    while the request runs; entering it may wait, or raise TooManyRequests.
    """

    def __init__(
        self,
        client: aiohttp.ClientSession,
        exchange: Exchange,
        unavailable: Response,
        metrics: Metrics,
        allowed: proxy.Allowed = _allow_always,
        turn: AbstractAsyncContextManager[None] | None = None,
    ) -> None:
        super().__init__()
        self._turn = turn or nullcontext()
        self._metrics = metrics
        self._client = client
        self._exchange = exchange
        self._unavailable = unavailable
        self._allowed = allowed

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await proxy.run_until(
            self._wait_and_forward(scope, receive, send), proxy.wait_for_disconnect(receive)
        )

    async def _wait_and_forward(self, scope: Any, receive: Receive, send: Send) -> None:
        """Forward the request once it is its turn.

        Access is not checked while the request waits, because many may wait: it is checked after a
        long wait, and then regularly while the request runs.
        """
        asked_s = time.monotonic()
        try:
            async with self._turn:
                waited = time.monotonic() - asked_s > RECHECK_S
                if waited and not await self._allowed():
                    await problem_response(NotFound())(scope, receive, send)
                    return
                await proxy.run_until(
                    self._forward(scope, receive, send),
                    proxy.wait_until_forbidden(self._allowed, RECHECK_S),
                )
        except TooManyRequests as error:
            await problem_response(error)(scope, receive, send)

    async def _forward(self, scope: Any, receive: Receive, send: Send) -> None:
        try:
            with measured(self._metrics.proxy, "", (aiohttp.ClientError, TimeoutError)):
                answer = await self._request()
        except (aiohttp.ClientError, TimeoutError) as error:
            log.warning(
                "tensorboard does not answer",
                url=str(self._exchange.url.origin()),
                cause=f"{type(error).__name__}: {error}"[:300],
            )
            await self._unavailable(scope, receive, send)
            return
        async with answer:
            headers = response_headers(answer.raw_headers, self._exchange.target)
            with self._metrics.proxy_open.track_inprogress():
                await proxy.send_stream(send, answer.status, headers, self._count_pieces(answer))

    async def _request(self) -> aiohttp.ClientResponse:
        """Send the request.

        Raises ClientError if the response is not from the run itself: another user's program
        may have taken over its port.
        """
        exchange = self._exchange
        key, target = exchange.guard_key, exchange.url.raw_path_qs
        signature = signing.sign(key, exchange.method, target, time.time())
        headers = [*exchange.headers, (signing.SIGNATURE_HEADER, signature)]
        answer = await proxy.send_request(
            self._client,
            exchange.method,
            exchange.url,
            headers,
            exchange.body or None,
            **exchange.tls,
        )
        if not signing.is_proven(key, signature, answer.headers.get(signing.PROOF_HEADER, "")):
            answer.close()
            raise aiohttp.ClientError("the answer isn't from this TensorBoard")
        return answer

    async def _count_pieces(self, answer: aiohttp.ClientResponse) -> AsyncGenerator[bytes]:
        async for piece in answer.content.iter_any():
            yield piece
            self._metrics.proxy_bytes.inc(len(piece))
