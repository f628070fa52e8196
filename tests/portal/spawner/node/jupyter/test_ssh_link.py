"""SSH's websocket at the session's server.

In place of sshd runs a program that returns what it receives: the bytes' way is tested, and its
end. tests/cluster/test_ssh.py has the real sshd.
"""

import asyncio
import os
import stat
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application

from spawner import signing
from spawner.node.jupyter import signed, ssh_link
from spawner.node.portal_client import PortalClient
from spawner.node.ssh import connections, link, sshd
from spawner.node.ssh.connections import SshConnections
from spawner.node.ssh.sshd import Sshd
from spawner.signing import LIFETIME_S
from spawner.ssh.grant import GRANT_HEADER, SshGrant, render_grant
from spawner.ssh.host_key import render_public_key
from tests.polling import until

pytestmark = pytest.mark.anyio

SECRET = "s" * 64
PATH = "/user/alice/s1/ssh"
KEY = render_public_key("the client's")
TOKEN = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True)
class AdmittingPortal(PortalClient):
    """A portal that admits the token's connections until it is `revoked`."""

    revoked: threading.Event = field(default_factory=threading.Event)

    def wait_until_unwanted(
        self, action: str = "wanted", is_over: Callable[[], bool] = lambda: False
    ) -> None:
        assert action == f"ssh/{TOKEN}"
        while not self.revoked.is_set() and not is_over():
            time.sleep(0.02)


@dataclass
class Node:
    """The session's server, with its address."""

    port: int
    portal: AdmittingPortal
    ssh: SshConnections
    folder: Path
    http: aiohttp.ClientSession

    def grant(self, path: str = PATH, secret: str = SECRET, ago_s: float = 0) -> dict[str, str]:
        granted = SshGrant(TOKEN, KEY)
        return {GRANT_HEADER: render_grant(secret, path, granted, time.time() - ago_s)}

    def url(self, path: str = PATH) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    async def connect(self) -> aiohttp.ClientWebSocketResponse:
        return await self.http.ws_connect(self.url(), headers=self.grant())

    async def refusal(self, headers: dict[str, str]) -> tuple[int, str]:
        """Return the answer to a request for a websocket that is not opened."""
        asked = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
        asked["Sec-WebSocket-Key"] = "AAAAAAAAAAAAAAAAAAAAAA=="
        async with self.http.get(self.url(), headers={**asked, **headers}) as answer:
            return answer.status, await answer.text()


@pytest.fixture
async def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Node]:
    echo = tmp_path / "sshd"
    echo.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/started\nexec cat\n')
    echo.chmod(0o755)
    monkeypatch.setattr(sshd, "SSHD", echo)
    async with serve(tmp_path) as made:
        yield made


@asynccontextmanager
async def serve(folder: Path) -> AsyncIterator[Node]:
    portal = AdmittingPortal("http://127.0.0.1:1", "sessions", TOKEN, SECRET)
    ssh = SshConnections(portal, Sshd(folder / "ssh", SECRET, {"SLURM_JOB_ID": "7"}))
    handlers = [(f"/user/alice/s1{path}", handler) for path, handler in ssh_link.HANDLERS]
    app = Application(handlers)
    app.settings[signed.SECRET_SETTING] = SECRET
    app.settings[link.SSH_SETTING] = ssh
    server = HTTPServer(app)
    listener, port = bind_unused_port()
    server.add_socket(listener)
    async with aiohttp.ClientSession() as http:
        yield Node(port, portal, ssh, folder, http)
    server.stop()
    await server.close_all_connections()
    await until(lambda: not [*folder.glob("ssh/key-*")], "every sshd has ended")


async def test_bytes_pass_both_ways_and_the_files_are_private(node: Node) -> None:
    sent = os.urandom(1_000_000)
    async with await node.connect() as socket:
        await asyncio.gather(_send(socket, sent), _receive(socket, sent))
        files = sorted((node.folder / "ssh").iterdir())
        modes = {stat.S_IMODE(file.stat().st_mode) for file in files}
        (key_file,) = (file for file in files if file.name.startswith("key-"))
        assert key_file.read_text() == f"{KEY}\n"
        assert modes == {0o600}
        assert stat.S_IMODE((node.folder / "ssh").stat().st_mode) == 0o700
    await until(lambda: not key_file.exists(), "the key is forgotten")
    started = (node.folder / "started").read_text()
    assert started.split() == [
        *("-i", "-e", "-f", f"{node.folder}/ssh/config", "-o", f"AuthorizedKeysFile={key_file}")
    ]


async def _send(socket: aiohttp.ClientWebSocketResponse, data: bytes) -> None:
    for start in range(0, len(data), 50_000):
        await socket.send_bytes(data[start : start + 50_000])


async def _receive(socket: aiohttp.ClientWebSocketResponse, expected: bytes) -> None:
    received = b""
    while len(received) < len(expected):
        received += await socket.receive_bytes()
    assert received == expected


async def test_only_a_new_grant_of_the_gate_opens_it(node: Node) -> None:
    used = node.grant()
    async with node.http.ws_connect(node.url(), headers=used):
        pass
    for headers in (
        {},
        used,
        node.grant(secret="another session's"),
        node.grant(path="/user/alice/s2/ssh"),
        node.grant(ago_s=LIFETIME_S + 10),
        {"Cookie": "jupyterhub-user-alice=x", "Authorization": "token x"},
    ):
        assert (await node.refusal(headers))[0] == 403, headers


async def test_a_page_of_another_origin_is_refused(node: Node) -> None:
    headers = {**node.grant(), "Origin": "https://evil.example"}
    assert (await node.refusal(headers))[0] == 403


async def test_connections_are_limited(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 2)
    async with await node.connect(), await node.connect():
        await until(lambda: (node.folder / "ssh").exists() and len(_keys(node)) == 2)
        status, text = await node.refusal(node.grant())
        assert (status, "SSH connections" in text) == (429, True)
    await until(lambda: not _keys(node), "both have ended")
    async with await node.connect() as socket:
        await socket.send_bytes(b"again")
        assert await socket.receive_bytes() == b"again"


async def test_connections_that_are_being_opened_count(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, start = asyncio.Event(), Sshd.start

    async def start_slowly(self: Sshd, public_key: str) -> sshd.SshProcess:
        await go.wait()
        return await start(self, public_key)

    monkeypatch.setattr(Sshd, "start", start_slowly)
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 2)
    async with await node.connect(), await node.connect():
        assert (await node.refusal(node.grant()))[0] == 429
        go.set()
        await until(lambda: (node.folder / "ssh").exists() and len(_keys(node)) == 2)
        assert node.ssh.count == 2
    await until(lambda: node.ssh.count == 0, "both have ended")


async def test_a_request_that_opens_no_connection_leaves_room(node: Node) -> None:
    refused = {**node.grant(), "Origin": "https://evil.example"}
    assert (await node.refusal(refused))[0] == 403
    async with node.http.get(node.url(), headers=node.grant()) as answer:
        assert answer.status == 400
    assert node.ssh.count == 0


def _keys(node: Node) -> list[Path]:
    return list((node.folder / "ssh").glob("key-*"))


async def test_a_revoked_token_cuts_its_connections(node: Node) -> None:
    async with await node.connect() as one, await node.connect() as other:
        for socket in (one, other):
            await socket.send_bytes(b"x")
            assert await socket.receive_bytes() == b"x"
        node.portal.revoked.set()
        for socket in (one, other):
            message = await socket.receive(timeout=10)
            assert message.type is aiohttp.WSMsgType.CLOSE
            assert (message.data, "no longer valid" in str(message.extra)) == (1008, True)
    await until(lambda: not _keys(node), "sshd has ended")


async def test_a_node_without_sshd_says_so(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sshd, "SSHD", node.folder / "missing")
    status, text = await node.refusal(node.grant())
    assert (status, "openssh-server" in text) == (501, True)


async def test_status_is_for_the_portal_alone(node: Node) -> None:
    path = "/user/alice/s1/portal/ssh"
    async with node.http.get(node.url(path)) as answer:
        assert answer.status == 403
    signature = signing.sign(SECRET, "GET", path, time.time())
    asked = {signing.SIGNATURE_HEADER: signature}
    async with node.http.get(node.url(path), headers=asked) as answer:
        assert (await answer.json(content_type=None))["sshd"] is True
        assert signing.is_proven(SECRET, signature, answer.headers[signing.PROOF_HEADER])
