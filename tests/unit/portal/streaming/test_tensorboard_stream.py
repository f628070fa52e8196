"""A TensorBoard's response as it is streamed, with a real server behind the proxy."""

import asyncio
import gzip
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from starlette.responses import PlainTextResponse
from yarl import URL

from portal.metrics import Metrics
from portal.streaming.tensorboard import (
    Exchange,
    Forwarded,
    TensorboardTarget,
    request_headers,
)
from spawner import signing
from tests.polling import PATIENCE_S

KEY = "the-key"
ORIGIN = "https://portal.test"
PREFIX = "/tensorboard/5f1c/"
pytestmark = pytest.mark.anyio

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


async def prove(request: web.BaseRequest, answer: web.StreamResponse) -> None:
    """Add the proof to the response, as a TensorBoard's program does."""
    signature = request.headers[signing.SIGNATURE_HEADER]
    answer.headers[signing.PROOF_HEADER] = signing.prove(KEY, signature)


@asynccontextmanager
async def upstream(handler: Handler) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    app.on_response_prepare.append(prove)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=1)
    await runner.setup()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        await web.SockSite(runner, listener).start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            await runner.cleanup()


class Browser:
    """An ASGI server's side of one request; `leave` disconnects."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self.ended = False
        self.got_some = asyncio.Event()
        self._left = asyncio.Event()
        self._asked = False

    def leave(self) -> None:
        self._left.set()

    async def receive(self) -> dict[str, Any]:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {k.decode(): v.decode("latin-1") for k, v in message["headers"]}
            return
        self.body += message["body"]
        self.ended = not message.get("more_body", False)
        self.got_some.set()


@asynccontextmanager
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    jar = aiohttp.DummyCookieJar()
    async with aiohttp.ClientSession(cookie_jar=jar, auto_decompress=False) as session:
        yield session


def exchange(target: str, path: str = "x", method: str = "GET", body: bytes = b"") -> Exchange:
    url = URL(f"{target}{PREFIX}{path}", encoded=True)
    headers = request_headers([(b"accept", b"*/*"), (b"cookie", b"a=b")])
    return Exchange(method, url, headers, body, TensorboardTarget(ORIGIN, PREFIX, PREFIX), KEY)


async def forward(handler: Handler, **kwargs: Any) -> Browser:
    browser = Browser()
    async with upstream(handler) as target, client() as session:
        asked = exchange(target, **kwargs)
        away = PlainTextResponse("away", 503)
        await Forwarded(session, asked, away, Metrics())(
            {"type": "http"}, browser.receive, browser.send
        )
    return browser


async def test_path_headers_and_body_pass_as_they_are() -> None:
    seen: list[tuple[str, str, dict[str, str], bytes]] = []

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        seen.append((request.method, request.raw_path, headers, await request.read()))
        return web.Response(body=b"{}", content_type="application/json")

    browser = await forward(handler, path="data/x%20y?tag=a%2Fb&run=.", method="POST", body=b"q=1")
    ((method, path, headers, body),) = seen
    assert (method, path, body) == ("POST", f"{PREFIX}data/x%20y?tag=a%2Fb&run=.", b"q=1")
    host = headers.pop("host")
    assert host.startswith("127.0.0.1:")
    signature = headers.pop("x-portal-signature")
    assert signing.is_signed(KEY, method, path, signature, time.time())
    assert headers == {"accept": "*/*", "content-length": "3"}
    assert (browser.status, browser.body, browser.ended) == (200, b"{}", True)
    assert browser.headers["content-type"].startswith("application/json")
    assert browser.headers["content-length"] == "2"


async def test_what_streams_is_measured_and_so_is_who_does_not_answer() -> None:
    metrics = Metrics()
    counted = metrics.registry.get_sample_value
    open_during: list[float | None] = []

    async def handler(_request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=b"x" * 1000)

    class Watching(Browser):
        async def send(self, message: Any) -> None:
            open_during.append(counted("portal_proxy_open"))
            await super().send(message)

    away = PlainTextResponse("away", 503)
    async with client() as session:
        async with upstream(handler) as target:
            browser: Browser = Watching()
            asked = exchange(target)
            response = Forwarded(session, asked, away, metrics)
            await response({"type": "http"}, browser.receive, browser.send)
        assert (browser.ended, set(open_during)) == (True, {1})
        assert counted("portal_proxy_failures_total") == 0
        browser = Browser()
        response = Forwarded(session, asked, away, metrics)
        await response({"type": "http"}, browser.receive, browser.send)
    assert browser.status == 503
    assert counted("portal_proxy_failures_total") == 1
    assert counted("portal_proxy_seconds_count") == 2
    assert counted("portal_proxy_bytes_total") == 1000
    assert counted("portal_proxy_open") == 0


async def test_compressed_stays_compressed() -> None:
    packed = gzip.compress(b"x" * 10_000)

    async def handler(_request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=packed, headers={"Content-Encoding": "gzip"})

    browser = await forward(handler)
    assert browser.body == packed
    assert browser.headers["content-encoding"] == "gzip"
    assert browser.headers["content-length"] == str(len(packed))


async def test_head_has_a_length_and_no_body() -> None:
    async def handler(_request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=b"12345")

    browser = await forward(handler, method="HEAD")
    assert (browser.status, browser.body, browser.ended) == (200, b"", True)
    assert browser.headers["content-length"] == "5"


async def test_redirects_are_the_browsers_to_follow() -> None:
    async def handler(_request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": "http://127.0.0.1:1/api/v1/me"})

    browser = await forward(handler)
    assert browser.status == 302
    assert "location" not in browser.headers


async def test_a_stream_comes_as_it_is_made() -> None:
    go_on = asyncio.Event()

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        await answer.write(b"first")
        await go_on.wait()
        await answer.write(b"-last")
        return answer

    browser = Browser()
    async with upstream(handler) as target, client() as session:
        away = PlainTextResponse("away", 503)
        response = Forwarded(session, exchange(target), away, Metrics())
        running = asyncio.ensure_future(response({"type": "http"}, browser.receive, browser.send))
        async with asyncio.timeout(PATIENCE_S):
            await browser.got_some.wait()
            assert (browser.body, browser.ended) == (b"first", False)
            go_on.set()
            await running
    assert (browser.body, browser.ended) == (b"first-last", True)


@pytest.mark.parametrize("headers_first", [True, False])
async def test_a_browser_that_leaves_ends_the_request(headers_first: bool) -> None:
    arrived, left = asyncio.Event(), asyncio.Event()

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        answer = web.StreamResponse()
        if headers_first:
            await answer.prepare(request)
            await answer.write(b"x")
        arrived.set()
        try:
            await asyncio.Event().wait()
        finally:
            left.set()
        return answer

    browser = Browser()
    async with upstream(handler) as target, client() as session:
        away = PlainTextResponse("away", 503)
        response = Forwarded(session, exchange(target), away, Metrics())
        running = asyncio.ensure_future(response({"type": "http"}, browser.receive, browser.send))
        async with asyncio.timeout(PATIENCE_S):
            await arrived.wait()
            browser.leave()
            await running
            await left.wait()  # the node's program has lost its listener too
        assert not browser.ended


async def test_who_may_look_no_more_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Access is checked repeatedly while a long response is in progress."""
    monkeypatch.setattr("portal.streaming.tensorboard.RECHECK_S", 0.01)
    asked = 0

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        await answer.write(b"x")
        await asyncio.Event().wait()
        return answer

    async def allowed() -> bool:
        nonlocal asked
        asked += 1
        return asked < 3

    browser = Browser()
    async with upstream(handler) as target, client() as session, asyncio.timeout(PATIENCE_S):
        response = Forwarded(
            session, exchange(target), PlainTextResponse("away", 503), Metrics(), allowed
        )
        await response({"type": "http"}, browser.receive, browser.send)
    assert (asked, browser.ended) == (3, False)


async def test_a_body_that_breaks_off_does_not_look_whole() -> None:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Length": "100"})
        await answer.prepare(request)
        await answer.write(b"half")
        assert request.transport is not None
        request.transport.close()
        return answer

    browser = Browser()
    async with upstream(handler) as target, client() as session:
        response = Forwarded(session, exchange(target), PlainTextResponse("away", 503), Metrics())
        with pytest.raises(aiohttp.ClientError):
            await response({"type": "http"}, browser.receive, browser.send)
    assert not browser.ended


async def test_missing_upstream_gets_the_fallback() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        target = f"http://127.0.0.1:{listener.getsockname()[1]}"
    browser = Browser()
    async with client() as session:
        response = Forwarded(session, exchange(target), PlainTextResponse("away", 503), Metrics())
        await response({"type": "http"}, browser.receive, browser.send)
    assert (browser.status, browser.body) == (503, b"away")


async def test_no_cookie_of_one_tensorboard_goes_to_the_next() -> None:
    seen: list[str | None] = []

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        seen.append(request.headers.get("Cookie"))
        return web.Response(headers={"Set-Cookie": "stolen=1; Path=/"})

    async with upstream(handler) as target, client() as session:
        for _ in range(2):
            browser = Browser()
            response = Forwarded(
                session, exchange(target), PlainTextResponse("away", 503), Metrics()
            )
            await response({"type": "http"}, browser.receive, browser.send)
            assert "set-cookie" not in browser.headers
    assert seen == [None, None]
