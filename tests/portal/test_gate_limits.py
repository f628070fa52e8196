"""nginx before login, towards the cluster, with built files and with TLS."""

import contextlib
import gzip
import shutil
import socket
import ssl
import tempfile
from pathlib import Path

import pytest

from tests.portal.gate_portal import problem
from tests.portal.gate_world import HOME, World, read_answer, world

pytest_plugins = ["tests.portal.gate_fixtures"]


# --- before login ---------------------------------------------------------------------------------


def test_logins_from_one_address_are_slowed(own_door: World) -> None:
    statuses = [own_door.ask("/api/v1/login", method="POST", body=b"{}").status for _ in range(70)]
    assert statuses[:40] == [200] * 40
    assert 429 in statuses
    slowed = [own_door.ask("/api/v1/login", method="POST", body=b"{}") for _ in range(5)]
    answer = next(answer for answer in slowed if answer.status == 429)
    assert answer.one("content-type").startswith("application/problem+json")
    assert answer.one("retry-after") == "3"
    assert own_door.ask("/api/v1/me").status == 200


def test_bodies_are_small_outside_sessions(door: World) -> None:
    for path, length in (("/api/v1/x", 2 << 20), ("/api/v1/login", 20_000), ("/hub/x", 2 << 20)):
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n"
        with door.connect() as connection:
            connection.sendall(head.encode())
            answer = read_answer(connection)
        assert answer.status == 413
        if path.startswith("/api/"):
            assert problem(answer)["type"] == "urn:portal:too-large"
            assert "1 MiB" in problem(answer)["detail"]
            assert answer.all("retry-after") == []
    assert door.portal.seen == []


def test_what_can_not_be_read_is_said_by_a_problem(door: World) -> None:
    for request in (b"GET /api/v1/x%00 HTTP/1.1\r\nHost: x\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n"):
        with door.connect() as connection:
            connection.sendall(request)
            answer = read_answer(connection)
        assert answer.status == 400
        assert problem(answer)["type"] == "urn:portal:invalid-input"
        assert answer.all("retry-after") == []
    assert door.portal.seen == []


def test_built_files_come_from_nginx_itself() -> None:
    dist = Path(tempfile.mkdtemp(prefix="gate-dist-", dir="/tmp"))
    dist.chmod(0o755)
    (dist / "assets").mkdir(mode=0o755)
    (dist / "assets" / "app-1a2b.js").write_text("x" * 5000)
    (dist / "assets" / "big-3c4d.js").write_text("y" * 5000)
    (dist / "assets" / "big-3c4d.js.gz").write_bytes(gzip.compress(b"compressed beforehand"))
    (dist / "secret.txt").write_text("not below assets")
    try:
        with world(assets=dist) as made:
            answer = made.ask("/assets/app-1a2b.js", headers={"Accept-Encoding": "gzip"})
            assert answer.status == 200
            assert answer.one("content-encoding") == "gzip"
            assert answer.one("content-type").startswith("text/javascript")
            assert answer.one("cache-control") == "public, max-age=31536000, immutable"
            built = made.ask("/assets/big-3c4d.js", headers={"Accept-Encoding": "gzip"})
            assert gzip.decompress(built.body) == b"compressed beforehand"
            assert built.one("content-type").startswith("text/javascript")
            assert built.one("cache-control") == "public, max-age=31536000, immutable"
            assert made.ask("/assets/big-3c4d.js").body == b"y" * 5000
            for path in ("/assets/", "/assets/none.js", "/assets/%2e%2e%2f%2e%2e/etc/passwd"):
                assert made.ask(path).body != b"x" * 5000
                assert b"root:" not in made.ask(path).body
            assert made.ask("/assets/../secret.txt").body == b"portal /secret.txt"
            made.portal.stop()
            assert made.ask("/assets/app-1a2b.js").status == 200
    finally:
        shutil.rmtree(dist)


# --- the cluster-facing listener ------------------------------------------------------------------


def test_programs_on_nodes_reach_hub_api_and_node_paths_only(door: World) -> None:
    forged = {"Cookie": f"{door.cookie}=token-of-alice", "X-Forwarded-For": "127.0.0.1, 6.6.6.6"}
    door.ask("/node/sessions/1/hello", method="POST", headers=forged, body=b"{}", cluster=True)
    door.ask("/hub/api/users/alice", headers=forged, cluster=True)
    (node,), (hub,) = door.portal.seen, door.hub.seen
    assert (node.path, hub.path) == ("/node/sessions/1/hello", "/hub/api/users/alice")
    for seen in (node, hub):
        assert seen.all("cookie") == []
        assert seen.one("x-forwarded-for") == "127.0.0.1"


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/api/v1/me",
        "/internal/gate",
        "/node/../internal/gate",
        "/node/..%2finternal/gate",
        "//internal/gate",
        "/hub/",
        "/hub/login",
        "/hub/api/../login",
        "/hub/api/%2e%2e/admin",
        HOME,
        "/tensorboard/1/",
        "/metrics",
        "/healthz",
    ],
)
def test_nothing_else_is_there_for_nodes(door: World, path: str) -> None:
    assert door.ask(path, user="alice", cluster=True).status == 404
    assert door.portal.seen == door.hub.seen == door.node.seen == []


# --- TLS ------------------------------------------------------------------------------------------


def test_http2_with_tls() -> None:
    with world(tls=True) as made:
        assert made.door.front.certificate is not None
        context = ssl.create_default_context(cafile=str(made.door.front.certificate.chain))
        context.check_hostname = False
        context.set_alpn_protocols(["h2", "http/1.1"])
        plain = socket.create_connection(("127.0.0.1", made.door.front.port), 5)
        with contextlib.closing(plain), context.wrap_socket(plain) as connection:
            assert connection.selected_alpn_protocol() == "h2"
            assert connection.version() in {"TLSv1.2", "TLSv1.3"}
