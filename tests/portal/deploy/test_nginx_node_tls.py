"""nginx and node servers with TLS: only the server named by the gate gets a request."""

import contextlib
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from portal.node_ca import DOMAIN, NodeCa, open_ca, renew
from spawner.node.identity import NodeIdentity
from tests.polling import wait_until
from tests.servers.gate_portal import gate_settings
from tests.servers.nginx import HOME, PAGE, WAIT_S, NginxServer, run_nginx

ALICES = f"alices.session.{DOMAIN}"
BOBS = f"bobs.session.{DOMAIN}"
NOTEBOOK_COOKIE = "jupyterhub-user-alice=her-notebooks-own"


@dataclass
class TlsNginx:
    """An nginx, and the authority that it trusts."""

    nginx: NginxServer
    authority: NodeCa

    def prove(self, name: str, *, authority: NodeCa | None = None, hours: float = 1) -> None:
        """Let the node's server present a certificate for this name."""
        identity, until = NodeIdentity(), datetime.now(UTC) + timedelta(hours=hours)
        identity.use_certificate((authority or self.authority).sign(identity.request, name, until))
        self.nginx.node.tls = identity.context

    def call(self, path: str = HOME, *, page: bool = False) -> tuple[int, bytes]:
        """Request alice's notebook with her cookies."""
        cookie = f"{self.nginx.cookie}=token-of-alice; {NOTEBOOK_COOKIE}"
        answer = self.nginx.ask(path, headers={"Cookie": cookie, **(PAGE if page else {})})
        return answer.status, answer.body


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that nginx can access as an unprivileged account."""
    made = Path(tempfile.mkdtemp(prefix="ca-", dir="/tmp"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def authority_in(folder: Path) -> NodeCa:
    folder.mkdir(exist_ok=True, mode=0o755)
    found = open_ca(gate_settings(folder, node_tls=True))
    assert found is not None
    return found


@pytest.fixture
def tls_nginx(folder: Path) -> Iterator[TlsNginx]:
    """A new nginx without cached gate responses; alice's session uses TLS with a valid
    certificate."""
    authority = authority_in(folder)
    with run_nginx(node_ca=authority.bundle) as made:
        made.tls_names[("alice", "s1")] = ALICES
        own = TlsNginx(made, authority)
        own.prove(ALICES)
        yield own


def test_the_sessions_own_server_is_reached(tls_nginx: TlsNginx) -> None:
    assert tls_nginx.call(HOME + "lab?x=1") == (200, b"ok")
    (seen,) = tls_nginx.nginx.node.seen
    assert seen.path == HOME + "lab?x=1"
    assert seen.one("cookie") == NOTEBOOK_COOKIE
    assert seen.one("host") == "portal.test"


def test_a_websocket_over_tls(tls_nginx: TlsNginx) -> None:
    def echo(_seen: object, connection: socket.socket) -> bytes:
        head = b"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"
        connection.sendall(head)
        return b"back: " + connection.recv(5)

    tls_nginx.nginx.node_answer = echo
    lines = {
        "Host": "portal.test",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Cookie": f"{tls_nginx.nginx.cookie}=token-of-alice",
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    with tls_nginx.nginx.connect() as connection:
        connection.sendall(f"GET {HOME}api HTTP/1.1\r\n{head}\r\n".encode())
        received = b""
        while b"\r\n\r\n" not in received:
            received += connection.recv(4096)
        connection.sendall(b"hello")
        while not received.endswith(b"back: hello"):
            part = connection.recv(4096)
            assert part, received
            received += part
    assert received.startswith(b"HTTP/1.1 101")


def refused(tls_nginx: TlsNginx) -> None:
    """Check that alice gets the error page, and that the node's server receives no request."""
    status, body = tls_nginx.call(page=True)
    assert status == 502
    assert b"doesn't answer" in body
    status, body = tls_nginx.call()
    assert (status, b"node-unreachable" in body) == (502, True)
    wait_until(lambda: tls_nginx.nginx.node.silent == 2, "both connections end")
    assert tls_nginx.nginx.node.seen == []


def test_another_sessions_certificate_is_refused(tls_nginx: TlsNginx) -> None:
    tls_nginx.prove(BOBS)
    refused(tls_nginx)


def test_a_certificate_that_has_expired_is_refused(tls_nginx: TlsNginx) -> None:
    tls_nginx.prove(ALICES, hours=1 / 3600)
    end = datetime.now(UTC) + timedelta(seconds=2)
    wait_until(lambda: datetime.now(UTC) > end, "the certificate expires")
    refused(tls_nginx)


def test_an_authority_of_ones_own_is_refused(tls_nginx: TlsNginx, folder: Path) -> None:
    tls_nginx.prove(ALICES, authority=authority_in(folder / "other"))
    refused(tls_nginx)


@contextlib.contextmanager
def eavesdropper() -> Iterator[tuple[str, bytearray, threading.Event]]:
    """A plain-HTTP server that took the port over; it records every byte until the connection
    ends."""
    heard, over = bytearray(), threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def listen() -> None:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            while part := connection.recv(65536):
                heard.extend(part)
                connection.sendall(b"HTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\nhi")
        over.set()

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    yield f"127.0.0.1:{listener.getsockname()[1]}", heard, over
    thread.join(WAIT_S)
    listener.close()


def test_who_took_the_port_hears_no_byte_of_a_request(tls_nginx: TlsNginx) -> None:
    with eavesdropper() as (address, heard, over):
        tls_nginx.nginx.targets[("alice", "s1")] = address
        status, _ = tls_nginx.call(HOME + "api/contents/a-file-of-hers")
        assert status == 502
        assert over.wait(WAIT_S)
    assert heard[:1] == b"\x16"  # a TLS handshake, and nothing after it
    for secret in (b"her-notebooks-own", b"token-of-alice", b"a-file-of-hers", b"GET"):
        assert secret not in heard


def test_a_session_from_before_goes_on_in_the_clear(tls_nginx: TlsNginx) -> None:
    del tls_nginx.nginx.tls_names[("alice", "s1")]
    tls_nginx.nginx.node.tls = None
    assert tls_nginx.call() == (200, b"ok")
    assert len(tls_nginx.nginx.node.seen) == 1


def test_the_portal_stands_in_where_nothing_runs(tls_nginx: TlsNginx) -> None:
    del tls_nginx.nginx.targets[("alice", "s1")]
    status, body = tls_nginx.call()
    assert (status, body) == (200, f"portal {HOME}".encode())


def test_after_a_renewal_both_authorities_are_believed(folder: Path) -> None:
    place = folder / "renewed"
    old = authority_in(place)
    new = renew(gate_settings(place, node_tls=True))
    with run_nginx(node_ca=new.bundle) as made:
        tls_nginx = TlsNginx(made, new)
        made.tls_names[("alice", "s1")] = ALICES
        for authority in (old, new):
            tls_nginx.prove(ALICES, authority=authority)
            assert tls_nginx.call() == (200, b"ok")
