"""The real nginx, with a portal, a hub and a node made of plain sockets.

The upstreams record the requests they receive, byte for byte, and respond as a test defines.
"""

import contextlib
import http.client
import os
import pwd
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from deploy.nginx import command, write
from deploy.nginx_inputs import Certificate, Content, ContentServer, NginxInputs, NginxListener
from deploy.nginx_program import version_here
from portal.config.listen import CONNECTIONS_PER_ADDRESS
from portal.config.origins import ContentHosts
from spawner import signing
from tests.polling import wait_until

USERS = {"token-of-alice": "alice", "token-of-bob": "bob", "token-of-carol": "carol"}
WAIT_S = 60.0
PAGE = {"Accept": "text/html", "Sec-Fetch-Mode": "navigate"}
HOME = "/user/alice/s1/"
GUARD_KEY = "the-key"


@dataclass(frozen=True)
class ReceivedRequest:
    """One request as an upstream received it. Header names are lowercase."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key == name]

    def one(self, name: str) -> str:
        (value,) = self.all(name)
        return value


Answerer = Callable[[ReceivedRequest, socket.socket], bytes]


def reply(status: int = 200, headers: str = "", body: bytes = b"ok") -> bytes:
    """Return a complete response that closes its connection."""
    head = (
        f"HTTP/1.1 {status} X\r\n{headers}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode("latin-1") + body


class Upstream:
    """A server on 127.0.0.1 that can stop and restart on the same port.

    It proves to signed requests that it has `guard_key`, as a TensorBoard's program does; with
    None, it cannot.
    """

    def __init__(self, answer: Answerer) -> None:
        self.answer = answer
        self.guard_key: str | None = GUARD_KEY
        self.seen: list[ReceivedRequest] = []
        self.tls: ssl.SSLContext | None = None
        self.silent = 0  # connections that ended without a request
        self._open: set[socket.socket] = set()
        # Keeps the port reserved while this server is stopped: bound but not listening, it refuses
        # connections.
        place = socket.socket()
        weakref.finalize(self, place.close)
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        place.bind(("127.0.0.1", 0))
        self.port: int = place.getsockname()[1]
        self.start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def stop(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in list(self._open):
            connection.close()

    def start(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._serve()

    def _serve(self) -> None:
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                self._open.add(connection)
                threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        seen = None
        with contextlib.suppress(OSError), connection, self._shaken(connection) as talked_to:
            seen = _read(talked_to)
            if seen is not None:
                self.seen.append(seen)
                talked_to.sendall(self._proven(seen, self.answer(seen, talked_to)))
        self.silent += seen is None
        self._open.discard(connection)

    def _proven(self, seen: ReceivedRequest, answer: bytes) -> bytes:
        signatures = seen.all(signing.SIGNATURE_HEADER.lower())
        if not signatures or self.guard_key is None:
            return answer
        proof = f"{signing.PROOF_HEADER}: {signing.prove(self.guard_key, signatures[0])}"
        return answer.replace(b"\r\n", f"\r\n{proof}\r\n".encode(), 1)

    def _shaken(self, connection: socket.socket) -> socket.socket:
        """Return the TLS connection if this server uses TLS, else the plain one."""
        return self.tls.wrap_socket(connection, server_side=True) if self.tls else connection


def _read(connection: socket.socket) -> ReceivedRequest | None:
    """Read a request's head, and its body if that is short and its length is given."""
    head = b""
    while b"\r\n\r\n" not in head:
        part = connection.recv(65536)
        if not part:
            return None
        head += part
    head, _, body = head.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ")
    pairs = [line.partition(":") for line in lines]
    headers = tuple((name.lower(), value.strip()) for name, _, value in pairs)
    length = next((int(value) for name, value in headers if name == "content-length"), 0)
    while len(body) < length <= 70_000:
        body += connection.recv(65536)
    return ReceivedRequest(method, path, headers, body)


@dataclass
class Answer:
    """A response as the client received it."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name]

    def one(self, name: str) -> str:
        (value,) = self.all(name)
        return value


@dataclass
class NginxServer:
    """nginx between a test's client and its upstreams."""

    inputs: NginxInputs
    portal: Upstream
    hub: Upstream
    node: Upstream
    targets: dict[tuple[str, str], str] = field(default_factory=dict)
    tls_names: dict[tuple[str, str], str] = field(default_factory=dict)
    node_answer: Answerer = lambda _seen, _connection: reply()

    @property
    def cookie(self) -> str:
        return self.inputs.cookie

    def gate(self, seen: ReceivedRequest, _connection: socket.socket) -> bytes:
        """Respond as the portal: the gate by the rules, any other path with its own name."""
        if seen.path != "/internal/gate":
            return reply(200, "Content-Type: text/plain\r\n", f"portal {seen.path}".encode())
        token = "".join(seen.all("cookie")).removeprefix(f"{self.inputs.gate_cookie}=")
        user = USERS.get(token)
        owner, server = seen.one("x-owner"), seen.one("x-server")
        if user is None:
            return reply(401, "Cache-Control: max-age=3\r\n", b"")
        if user != owner:
            return reply(403, "Cache-Control: max-age=3\r\n", b"")
        target = self.targets.get((owner, server))
        if target is None:
            return _empty(f"X-Target: {self.portal.address}\r\nX-Accel-Expires: 0\r\n")
        kept = "Cache-Control: max-age=3, stale-if-error=600\r\n"
        name = self.tls_names.get((owner, server))
        named = f"X-Target-Name: {name}\r\n" if name else ""
        return _empty(f"X-Target: {target}\r\n{named}{kept}")

    def at_node(self, seen: ReceivedRequest, connection: socket.socket) -> bytes:
        return self.node_answer(seen, connection)

    def clear(self) -> None:
        for upstream in (self.portal, self.hub, self.node):
            upstream.seen.clear()

    def gate_requests(self) -> list[ReceivedRequest]:
        return [seen for seen in self.portal.seen if seen.path == "/internal/gate"]

    def connect(self, source: str = "127.0.0.1", *, cluster: bool = False) -> socket.socket:
        listener = self.inputs.cluster if cluster else self.inputs.public
        there = ("127.0.0.1", listener.port)
        plain = socket.create_connection(there, WAIT_S, (source, 0))
        if listener.certificate is None:
            return plain
        context = ssl.create_default_context(cafile=str(listener.certificate.chain))
        context.check_hostname = False
        return context.wrap_socket(plain)

    def ask(
        self,
        path: str,
        *,
        user: str | None = None,
        method: str = "GET",
        headers: dict[str, str] | None = None,
        body: bytes = b"",
        cluster: bool = False,
    ) -> Answer:
        """Send a request exactly as written and read the complete response."""
        lines = {"Host": "portal.test", "Connection": "close", **(headers or {})}
        if user is not None:
            lines["Cookie"] = f"{self.cookie}=token-of-{user}"
        if body:
            lines["Content-Length"] = str(len(body))
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        with self.connect(cluster=cluster) as connection:
            connection.sendall(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body)
            return read_answer(connection, method)


def _empty(headers: str) -> bytes:
    return f"HTTP/1.1 204 X\r\n{headers}Connection: close\r\n\r\n".encode("latin-1")


def read_answer(connection: socket.socket, method: str = "GET") -> Answer:
    response = http.client.HTTPResponse(connection, method=method)
    with contextlib.closing(response):
        response.begin()
        return Answer(response.status, response.getheaders(), response.read())


@contextlib.contextmanager
def run_nginx(
    *,
    tls: bool = False,
    assets: Path | None = None,
    portal_port: int | None = None,
    node_ca: Path | None = None,
    content_url: str | None = None,
    device_cookie: str = "",
    trusted_proxies: tuple[str, ...] = (),
    connections: int = CONNECTIONS_PER_ADDRESS,
) -> Iterator[NginxServer]:
    """Run nginx in its own folder, as an unprivileged account.

    `portal_port`: a real portal's, replacing the fake one; `node_ca`: the authority trusted for
    nodes; `content_url`, `device_cookie`, `trusted_proxies`, `connections`: as the settings.
    """
    folder = Path(tempfile.mkdtemp(prefix="gate-", dir="/tmp"))
    folder.chmod(0o755)
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        node, hub, portal = (Upstream(lambda *_: reply()) for _ in range(3))
        for upstream in (node, hub, portal):
            stack.callback(upstream.stop)
        certificate = _certificate(folder) if tls else None
        inputs = NginxInputs(
            folder=folder / "nginx",
            public=NginxListener(("127.0.0.1",), free_port(), certificate),
            cluster=NginxListener(("127.0.0.1",), free_port()),
            scheme="https" if tls else "http",
            portal=f"127.0.0.1:{portal_port}" if portal_port else portal.address,
            hub=hub.address,
            cookie="__Host-portal" if tls else "portal_session",
            assets=assets,
            node_ca=node_ca,
            version=version_here(),
            device_cookie=device_cookie,
            trusted_proxies=trusted_proxies,
            connections=connections,
        )
        if content_url:
            inputs = replace(inputs, content=_content(inputs, content_url, tls=tls))
        made = NginxServer(inputs, portal, hub, node)
        made.targets[("alice", "s1")] = node.address
        portal.answer = made.gate
        node.answer = made.at_node
        stack.enter_context(_nginx(inputs))
        yield made


@contextlib.contextmanager
def _nginx(inputs: NginxInputs) -> Iterator[None]:
    write(inputs)
    account = pwd.getpwnam("nobody") if os.getuid() == 0 else None
    if account:
        for path in (inputs.folder, *inputs.folder.rglob("*")):
            os.chown(path, account.pw_uid, account.pw_gid)
        certificate = inputs.public.certificate
        if certificate:
            os.chown(certificate.key, account.pw_uid, account.pw_gid)
    argv = [*command(inputs), "-g", "daemon off;"]
    argv[0] = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin") or "nginx"
    process = subprocess.Popen(
        argv,
        user=account.pw_uid if account else None,
        group=account.pw_gid if account else None,
        extra_groups=[] if account else None,
    )
    try:
        wait_until(
            lambda: _connects(inputs.public.port) or process.poll() is not None, "nginx listens"
        )
        assert process.poll() is None, (inputs.folder / "logs" / "error.log").read_text()
        yield
    finally:
        process.terminate()
        process.wait(WAIT_S)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def _connects(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def _content(inputs: NginxInputs, content_url: str, *, tls: bool) -> Content:
    """Return notebooks and TensorBoards on one origin, which differs from the portal's by name."""
    prefix = "__Host-portal-" if tls else "portal_"
    return Content(
        servers=(ContentServer(ContentHosts.of(content_url), inputs.public, True, True),),
        cookie=f"{prefix}content",
        cookies=(f"{prefix}content", f"{prefix}tensorboard"),
        redirect_cookie=f"{prefix}entry",
        portal_url=f"{inputs.scheme}://portal.test",
    )


def _certificate(folder: Path) -> Certificate:
    made = Certificate(folder / "chain.pem", folder / "key.pem")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=portal.test"),
            *("-addext", "subjectAltName=DNS:portal.test"),
            *("-keyout", str(made.key), "-out", str(made.chain)),
        ],
        check=True,
        capture_output=True,
    )
    made.chain.chmod(0o644)
    return made
