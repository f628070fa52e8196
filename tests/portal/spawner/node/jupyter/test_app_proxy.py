"""Apps at the session's server: what passes between browsers and apps, and the portal's requests.

In place of JupyterLab's login there is a header; tests/cluster/test_apps.py has the real one.
"""

from __future__ import annotations

import asyncio
import io
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application
from yarl import URL

from spawner import signing
from spawner.node.apps import app as app_module
from spawner.node.apps.declared import DeclaredApp
from spawner.node.apps.session_apps import SessionApps
from spawner.node.jupyter import app_control, app_proxy, signed
from tests.polling import until
from tests.portal.spawner.node.apps.programs import SERVE, declared, session_apps, start

pytestmark = pytest.mark.anyio

SECRET = "s" * 64
BASE = "/user/alice/s1/app/demo"
LOGIN = {"X-Login": "alice"}

# Answers as the path says, byte by byte where that matters.
ODD = """
import socket, sys, threading
def serve(connection):
    with connection:
        data = b""
        while b"\\r\\n\\r\\n" not in data:
            piece = connection.recv(65536)
            if not piece:
                return
            data += piece
        path = data.split(b" ")[1].decode()
        head = b"HTTP/1.1 200 OK\\r\\n"
        moved = b"HTTP/1.1 302 Found\\r\\nContent-Length: 0\\r\\nLocation: "
        answers = {
            "/ready": head + b"Content-Length: 2\\r\\n\\r\\nok",
            "/garbage": b"no HTTP at all\\r\\n\\r\\n",
            "/nothing": b"",
            "/cut": head + b"Content-Length: 100\\r\\n\\r\\npart",
            "/chunks": head + b"Transfer-Encoding: chunked\\r\\n\\r\\n4\\r\\npart\\r\\n",
            "/elsewhere": moved + b"https://evil.test/\\r\\n\\r\\n",
            "/home": moved + b"/ready\\r\\n\\r\\n",
            "/switch": b"HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: x\\r\\n\\r\\n",
            "/cookies": head + b"Set-Cookie: mine=1; Path=/\\r\\n"
                        b"Set-Cookie: jupyterhub-user-alice=x\\r\\n"
                        b"Access-Control-Allow-Origin: *\\r\\nContent-Length: 0\\r\\n\\r\\n",
            "/early": b"HTTP/1.1 413 Too Large\\r\\nContent-Length: 3\\r\\n\\r\\nbig",
        }
        if path == "/echo":
            connection.sendall(b"HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\n"
                               b"Connection: Upgrade\\r\\nSet-Cookie: a=b\\r\\n\\r\\nhello")
            while piece := connection.recv(65536):
                connection.sendall(piece)
        elif path == "/stream":
            connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Type: text/event-stream\\r\\n\\r\\n")
            connection.sendall(b"data: 1\\n\\n")
            connection.recv(1)
            print("stream closed", flush=True)
        else:
            connection.sendall(answers[path])
            while path == "/early" and connection.recv(65536):
                pass
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
"""


class OwnersProxy(app_proxy.AppProxy):
    """A login by a header, in place of the hub's."""

    def get_current_user(self) -> str | None:
        return self.request.headers.get("X-Login")

    def get_login_url(self) -> str:
        return "/login"


@dataclass
class Node:
    """The session's server, with its address."""

    port: int
    apps: SessionApps
    http: aiohttp.ClientSession

    def url(self, path: str) -> URL:
        return URL(f"http://127.0.0.1:{self.port}{path}", encoded=True)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def get(self, path: str, method: str = "GET", **options: Any) -> aiohttp.ClientResponse:
        """Return an answer that has been read."""
        headers = {**LOGIN, **options.pop("headers", {})}
        async with self.http.request(
            method, self.url(path), headers=headers, allow_redirects=False, **options
        ) as answer:
            await answer.read()
            return answer

    async def handshake(self, path: str, **headers: str) -> tuple[bytes, asyncio.StreamWriter, Any]:
        """Ask for a websocket; return the head of the answer and the connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        asked = {
            "Host": f"127.0.0.1:{self.port}", "Upgrade": "websocket", "Connection": "Upgrade",
            "Origin": self.origin, **LOGIN, **headers,
        }  # fmt: skip
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in asked.items())]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        return await reader.readuntil(b"\r\n\r\n"), writer, reader


@asynccontextmanager
async def serve(folder: Path, *apps: DeclaredApp) -> AsyncIterator[Node]:
    offered = session_apps(folder, *apps)
    handlers = [*app_control.HANDLERS, (app_proxy.PATH, OwnersProxy)]
    app = Application([(f"/user/alice/s1{path}", handler) for path, handler in handlers])
    app.settings[app_control.APPS_SETTING] = offered
    app.settings[signed.SECRET_SETTING] = SECRET
    server = HTTPServer(app)
    listener, port = bind_unused_port()
    server.add_socket(listener)
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:
        yield Node(port, offered, http)
    await offered.stop_all()
    server.stop()
    await server.close_all_connections()


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Node]:
    """A server with an app that describes the requests it gets."""
    async with serve(tmp_path, declared("demo", SERVE)) as made:
        assert (await start(made.apps, "demo"))["state"] == "running"
        yield made


@pytest.fixture
async def odd(tmp_path: Path) -> AsyncIterator[Node]:
    """A server with an app that answers oddly."""
    async with serve(tmp_path, declared("demo", ODD)) as made:
        assert (await start(made.apps, "demo"))["state"] == "running"
        yield made


# --- requests -------------------------------------------------------------------------------------


async def test_a_request_passes_without_the_sessions_credentials(node: Node) -> None:
    headers = {
        "Cookie": "jupyterhub-user-alice=secret; theme=dark; _xsrf=secret",
        "Authorization": "token secret",
    }
    seen = await (await node.get(f"{BASE}/a%2Fb/../c?q=%20x", headers=headers)).json(
        content_type=None
    )
    assert seen["path"] == "/a%2Fb/../c?q=%20x"
    asked = {name.lower(): value for name, value in seen["headers"]}
    assert asked["cookie"] == "theme=dark"
    assert asked["x-forwarded-prefix"] == BASE
    assert asked["host"] == f"127.0.0.1:{node.port}"
    assert "secret" not in str(seen)


async def test_an_absolute_app_gets_the_whole_path(tmp_path: Path) -> None:
    async with serve(tmp_path, declared("demo", SERVE, strips_prefix=False)) as node:
        await start(node.apps, "demo")
        seen = await (await node.get(f"{BASE}/x")).json(content_type=None)
        assert seen["path"] == f"{BASE}/x"
        assert "X-Forwarded-Prefix" not in dict(seen["headers"])


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_is_streamed(node: Node, chunked: bool) -> None:
    body = b"x" * 3_000_000
    headers = {"Origin": node.origin}
    data: Any = _pieces(body) if chunked else io.BytesIO(body)
    answer = await node.get(f"{BASE}/", "POST", data=data, headers=headers)
    seen = await answer.json(content_type=None)
    assert seen["body"] == len(body)
    assert ("Transfer-Encoding" in dict(seen["headers"])) is chunked


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(body), 100_000):
        yield body[at : at + 100_000]


async def test_a_head_request_has_no_body(node: Node) -> None:
    answer = await node.get(f"{BASE}/", "HEAD")
    assert (answer.status, await answer.text()) == (200, "")
    assert int(answer.headers["Content-Length"]) > 0


async def test_the_address_without_a_slash_redirects(node: Node) -> None:
    answer = await node.get(f"{BASE}?a=1")
    assert (answer.status, answer.headers["Location"]) == (308, f"{BASE}/?a=1")


async def test_without_a_login_nothing_reaches_the_app(node: Node) -> None:
    answer = await node.get(f"{BASE}/", headers={"X-Login": ""})
    assert answer.status == 302
    assert answer.headers["Location"].startswith("/login")
    own = {"X-Login": "", "Origin": node.origin}
    assert (await node.get(f"{BASE}/", "POST", headers=own, data=b"x" * 100_000)).status == 403
    head, writer, _ = await node.handshake(f"{BASE}/", **{"X-Login": ""})
    writer.close()
    assert head.split()[1] in {b"302", b"403"}


async def test_a_page_of_another_origin_changes_nothing(node: Node) -> None:
    foreign = {"Origin": "https://tensorboard.test"}
    assert (await node.get(f"{BASE}/", "POST", data=b"x", headers=foreign)).status == 403
    assert (await node.get(f"{BASE}/", "POST", data=b"x")).status == 403
    quiet = {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}
    assert (await node.get(f"{BASE}/", headers=quiet)).status == 403
    head, writer, _ = await node.handshake(f"{BASE}/", Origin="https://tensorboard.test")
    writer.close()
    assert head.split()[1] == b"403"


async def test_an_app_that_does_not_run_says_so(node: Node) -> None:
    await node.apps.stop("demo")
    for path in (f"{BASE}/", "/user/alice/s1/app/unknown/"):
        answer = await node.get(path)
        assert (answer.status, "isn't running" in await answer.text()) == (503, True)
        assert answer.headers["Content-Type"].startswith("text/plain")
    assert (await node.get("/user/alice/s1/app/De%6do/")).status == 404


async def test_the_number_of_connections_is_limited(
    odd: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_module, "MAX_CONNECTIONS", 1)
    async with odd.http.get(odd.url(f"{BASE}/stream"), headers=LOGIN) as answer:
        assert await answer.content.readline() == b"data: 1\n"
        assert (await odd.get(f"{BASE}/ready")).status == 503
    app = odd.apps.find("demo")
    assert app
    await until(lambda: not app.is_full, "the connection has ended")
    assert (await odd.get(f"{BASE}/ready")).status == 200


# --- answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/garbage", "/nothing", "/switch"])
async def test_an_invalid_answer_is_a_bad_gateway(odd: Node, path: str) -> None:
    answer = await odd.get(f"{BASE}{path}")
    assert (answer.status, "no valid answer" in await answer.text()) == (502, True)
    assert (await odd.get(f"{BASE}/ready")).status == 200


@pytest.mark.parametrize("path", ["/cut", "/chunks"])
async def test_an_incomplete_answer_stays_incomplete(odd: Node, path: str) -> None:
    with pytest.raises(aiohttp.ClientPayloadError):
        await odd.get(f"{BASE}{path}")


async def test_redirects_stay_at_the_app(odd: Node) -> None:
    answer = await odd.get(f"{BASE}/home")
    assert (answer.status, answer.headers["Location"]) == (302, f"{BASE}/ready")
    answer = await odd.get(f"{BASE}/elsewhere")
    assert (answer.status, "Location" in answer.headers) == (502, False)
    assert "evil.test" in await answer.text()


async def test_cookies_and_headers_are_confined(odd: Node) -> None:
    answer = await odd.get(f"{BASE}/cookies")
    assert answer.headers.getall("Set-Cookie") == [f"mine=1; Path={BASE}/"]
    assert answer.headers.getall("Content-Security-Policy") == ["frame-ancestors 'self'"]
    assert not [name for name in answer.headers if name.startswith("Access-Control")]


async def test_an_answer_before_the_end_of_the_body_passes(odd: Node) -> None:
    own = {"Origin": odd.origin}
    answer = await odd.get(f"{BASE}/early", "POST", data=io.BytesIO(b"x" * 5_000_000), headers=own)
    assert (answer.status, await answer.text()) == (413, "big")


async def test_a_stream_arrives_at_once_and_ends_with_the_browser(odd: Node) -> None:
    async with odd.http.get(odd.url(f"{BASE}/stream"), headers=LOGIN) as answer:
        assert await answer.content.readline() == b"data: 1\n"
        assert odd.apps.are_used()
    await until(lambda: "stream closed" in odd.apps.describe("demo")["log"], "the app notices it")


# --- websockets -----------------------------------------------------------------------------------


async def test_the_bytes_of_a_websocket_pass_both_ways(odd: Node) -> None:
    head, writer, reader = await odd.handshake(f"{BASE}/echo")
    assert head.startswith(b"HTTP/1.1 101 ")
    assert b"Set-Cookie" not in head
    assert await reader.readexactly(5) == b"hello"
    for piece in (b"\x81\x85abcd", b"x" * 500_000):
        writer.write(piece)
        assert await reader.readexactly(len(piece)) == piece
    writer.close()


async def test_a_refused_websocket_is_an_error(odd: Node) -> None:
    for path, status in (("/garbage", b"502"), ("/early", b"413"), ("/ready", b"502")):
        head, writer, _ = await odd.handshake(f"{BASE}{path}")
        writer.close()
        assert head.split()[1] == status


# --- the portal's requests ------------------------------------------------------------------------


@dataclass(frozen=True)
class Signed:
    """Requests as the portal sends them."""

    node: Node

    async def __call__(
        self, method: str, path: str, body: Any = None, signed_body: Any = ..., key: str = SECRET
    ) -> tuple[int, Any]:
        content = b"" if body is None else json.dumps(body).encode()
        other = content if signed_body is ... else json.dumps(signed_body).encode()
        target = f"/user/alice/s1/portal/apps{path}"
        signature = signing.sign(key, method, signing.with_body(target, other), time.time())
        asked = {signing.SIGNATURE_HEADER: signature}
        async with self.node.http.request(
            method, self.node.url(target), data=content or None, headers=asked
        ) as answer:
            if answer.status == 403:
                return 403, None
            assert signing.is_proven(key, signature, answer.headers[signing.PROOF_HEADER])
            return answer.status, await answer.json(content_type=None)


async def test_the_portal_starts_and_stops_an_app(tmp_path: Path) -> None:
    own = declared("own", "", command=[sys.executable, "-c", SERVE, "{port}"])
    async with serve(tmp_path, own) as node:
        signed = Signed(node)
        status, listed = await signed("GET", "")
        assert (status, [app["state"] for app in listed["apps"]]) == (200, ["stopped"])

        async def change(method: str, body: Any = None) -> tuple[str, bool]:
            _, app = await signed(method, "/own", body)
            return app["state"], app["changed"]

        assert await change("PUT", {}) == ("starting", True)
        await until(lambda: node.apps.describe("own")["state"] == "running", "it runs")
        assert await change("PUT", {}) == ("running", False)
        assert await change("POST") == ("starting", True)
        assert await change("DELETE") == ("stopped", True)
        assert await change("DELETE") == ("stopped", False)
        assert (await signed("PUT", "/other", {}))[0] == 404


async def test_the_portal_replaces_an_app(tmp_path: Path) -> None:
    own = declared("own", "", command=["sh", "-c", "{command}"], input="command")
    async with serve(tmp_path, own) as node:
        signed = Signed(node)
        first = {"command": "sleep 600", "port": 8080}
        assert (await signed("PUT", "/own", first))[0] == 200
        other = {"command": "sleep 601", "port": 8080}
        assert (await signed("PUT", "/own", other))[0] == 409
        assert (await signed("PUT", "/own", {**other, "replace": "yes"}))[0] == 409
        replaced = (await signed("PUT", "/own", {**other, "replace": True}))[1]
        assert (replaced["command"], replaced["changed"]) == ("sleep 601", True)


async def test_a_refusal_names_the_field(tmp_path: Path) -> None:
    own = declared("own", "", command=["sh", "-c", "{command}"], input="command")
    async with serve(tmp_path, own) as node:
        status, answer = await Signed(node)("PUT", "/own", {"command": "x", "port": 80})
        assert (status, answer["field"]) == (422, "port")


async def test_only_the_portal_is_answered(node: Node) -> None:
    signed = Signed(node)
    assert (await signed("GET", "", key="another session's"))[0] == 403
    # one body is signed, and another sent
    assert (await signed("PUT", "/demo", {"command": "evil"}, signed_body={}))[0] == 403
    answer = await node.get("/user/alice/s1/portal/apps", headers={"X-Login": "alice"})
    assert answer.status == 403
