"""A node program's TLS identity over its lifetime, and the peers that it trusts."""

import asyncio
import json
import socket
import ssl
import subprocess
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from portal.config.settings import Settings
from portal.node_ca import DOMAIN, NodeCa, open_ca
from spawner.node.identity import EARLY, MAX_SLEEP_S, RETRY_S, NodeIdentity, keep_valid
from spawner.node.network.relay import serve
from spawner.node.portal_client import OutOfReach, PortalClient
from tests.needs import needs_program
from tests.unit.portal.test_node_ca import settings

pytestmark = pytest.mark.anyio
ALICES, BOBS = f"alices.session.{DOMAIN}", f"bobs.session.{DOMAIN}"


@pytest.fixture
def authority(tmp_path: Path) -> NodeCa:
    wanted: Settings = settings(tmp_path)
    found = open_ca(wanted)
    assert found is not None
    return found


def identity(authority: NodeCa, name: str = ALICES, hours: float = 1) -> NodeIdentity:
    made = NodeIdentity()
    made.use_certificate(
        authority.sign(made.request, name, datetime.now(UTC) + timedelta(hours=hours))
    )
    return made


# --- renewal --------------------------------------------------------------------------------------


@dataclass
class Portal:
    """The portal's routes: statuses in turn; 200 returns a certificate with the given lifetime."""

    authority: NodeCa
    statuses: list[int] = field(default_factory=list)
    url: str = ""
    life: timedelta = timedelta(days=1)
    asked: int = 0

    def answer(self, sent: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.asked += 1
        status = self.statuses.pop(0)
        if status != 200:
            return status, {}
        until = datetime.now(UTC) + self.life
        return 200, {"certificate": self.authority.sign(sent["csr"], ALICES, until)}


@contextmanager
def served(portal: Portal, context: ssl.SSLContext | None = None) -> Iterator[Portal]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, body = portal.answer(sent)
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *args: Any) -> None:
            """Discard log messages."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    scheme = "http" if context is None else "https"
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    portal.url = f"{scheme}://localhost:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield portal
    server.shutdown()
    thread.join()
    server.server_close()


def home_at(portal: Portal, ca: str | None = None) -> PortalClient:
    return PortalClient(portal.url, "sessions", "some-id", "a-secret", ca=ca)


class Waited(Exception):
    """Raised after enough waiting."""


def test_another_certificate_is_asked_for_before_this_one_ends(authority: NodeCa) -> None:
    own = identity(authority, hours=0.1)
    pauses: list[float] = []

    def wait(seconds: float) -> None:
        pauses.append(seconds)
        if seconds not in (RETRY_S,):
            raise Waited

    with served(Portal(authority, [503, 200])) as portal, pytest.raises(Waited):
        keep_valid(own, home_at(portal), wait)
    assert portal.asked == 2
    assert pauses == [RETRY_S, RETRY_S, MAX_SLEEP_S]
    assert own.ends_at > datetime.now(UTC) + timedelta(hours=23)


def test_a_portal_whose_certificates_end_soon_is_not_asked_without_a_pause(
    authority: NodeCa,
) -> None:
    """Its authority may expire soon, or this node's clock may be ahead."""
    pauses: list[float] = []

    def wait(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            raise Waited

    soon = Portal(authority, [200, 200], life=EARLY / 2)
    with served(soon) as portal, pytest.raises(Waited):
        keep_valid(identity(authority, hours=0.1), home_at(portal), wait)
    assert (portal.asked, pauses) == (2, [RETRY_S, RETRY_S])


@pytest.mark.parametrize("status", [410, 401])
def test_who_is_not_wanted_any_more_asks_no_further(authority: NodeCa, status: int) -> None:
    own = identity(authority, hours=0.1)
    with served(Portal(authority, [status])) as portal:
        keep_valid(own, home_at(portal), lambda _seconds: pytest.fail("it waits"))
    assert portal.asked == 1


# --- trusted peers --------------------------------------------------------------------------------


def _site(folder: Path) -> tuple[ssl.SSLContext, str]:
    """Create a server's self-signed certificate for localhost."""
    chain, key = folder / "chain.pem", folder / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(chain)),
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    return context, chain.read_text("ascii")


@needs_program("openssl")
def test_a_portal_that_can_not_prove_its_name_hears_no_secret(
    authority: NodeCa, tmp_path: Path
) -> None:
    context, ca = _site(tmp_path)
    with served(Portal(authority, [200, 200]), context) as portal:
        for believed in (None, authority.bundle.read_text("ascii")):
            with pytest.raises(OutOfReach):
                home_at(portal, believed).certificate(NodeIdentity().request)
        assert portal.asked == 0
        assert "CERTIFICATE" in home_at(portal, ca).certificate(NodeIdentity().request)


# --- the portal's own connections -----------------------------------------------------------------


@asynccontextmanager
async def answering(context: ssl.SSLContext) -> AsyncIterator[str]:
    """Run a server that keeps its connections open."""

    async def ok(_request: web.Request) -> web.Response:
        return web.Response(text="ok")

    app = web.Application()
    app.router.add_get("/", ok)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    port = runner.addresses[0][1]
    yield f"https://127.0.0.1:{port}/"
    await runner.cleanup()


async def test_a_connection_that_was_kept_serves_no_other_name(authority: NodeCa) -> None:
    """A port may belong to another server soon, while a connection to the former is still open."""
    async with (
        answering(identity(authority).context) as url,
        aiohttp.ClientSession() as client,
    ):
        asked: dict[str, Any] = {"ssl": authority.context}
        for _ in range(2):
            async with client.get(url, server_hostname=ALICES, **asked) as answer:
                assert await answer.text() == "ok"
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await client.get(url, server_hostname=BOBS, **asked)


# --- TLS in front of plain servers ----------------------------------------------------------------


async def test_the_relay_carries_both_ways_and_ends_with_either(authority: NodeCa) -> None:
    async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line.upper() * 20000)
            await writer.drain()
        writer.close()

    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        inner = Path(folder) / "inner"
        behind = await asyncio.start_unix_server(shout, inner)
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        relay = asyncio.create_task(serve(listener, identity(authority).context, inner))
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=authority.context, server_hostname=ALICES
        )
        for word in (b"hello\n", b"again\n"):
            writer.write(word)
            assert await reader.readexactly(6 * 20000) == word.upper() * 20000
        behind.close()
        writer.close()
        with pytest.raises((ssl.SSLError, OSError)):
            await asyncio.open_connection(
                "127.0.0.1", port, ssl=authority.context, server_hostname=BOBS
            )
        relay.cancel()
        await asyncio.gather(relay, return_exceptions=True)
