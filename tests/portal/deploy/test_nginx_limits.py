"""nginx before login, toward the cluster, with built assets and with TLS."""

import contextlib
import functools
import gzip
import shutil
import socket
import ssl
import tempfile
import threading
from pathlib import Path

import pytest

from tests.polling import wait_until
from tests.servers.gate_portal import problem
from tests.servers.nginx import HOME, NginxServer, ReceivedRequest, read_answer, reply, run_nginx

pytest_plugins = ["tests.portal.gate_fixtures"]


# --- before login ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["", "/device", "/device/token"])
def test_logins_from_one_address_are_slowed(own_nginx: NginxServer, path: str) -> None:
    ask = functools.partial(own_nginx.ask, f"/api/v1/login{path}", method="POST", body=b"{}")
    statuses = [ask().status for _ in range(70)]
    assert statuses[:40] == [200] * 40
    assert 429 in statuses
    slowed = [ask() for _ in range(5)]
    answer = next(answer for answer in slowed if answer.status == 429)
    assert answer.one("content-type").startswith("application/problem+json")
    assert answer.one("retry-after") == "3"
    assert own_nginx.ask("/api/v1/me").status == 200


def test_bodies_are_small_outside_sessions(nginx: NginxServer) -> None:
    for path, length in (
        ("/api/v1/x", 66_000),
        ("/api/v1/tokens", 66_000),
        ("/api/v1/jobs", 2 << 20),
        ("/api/v1/files/text", 2 << 20),
        ("/api/v1/login", 20_000),
        ("/tensorboard/x/", 2 << 20),
        ("/hub/x", 66_000),
    ):
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n"
        with nginx.connect() as connection:
            connection.sendall(head.encode())
            answer = read_answer(connection)
        assert answer.status == 413
        if path.startswith("/api/"):
            assert problem(answer)["type"] == "urn:portal:too-large"
            assert "64 KiB" in problem(answer)["detail"]
            assert answer.all("retry-after") == []
    assert nginx.portal.seen == []


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/jobs",
        "/api/v1/jobs/cancel-many",
        "/api/v1/files/text",
        "/api/v1/templates/one/render",
        "/api/v1/admin/users/import",
        "/tensorboard/x/",
    ],
)
def test_scripts_texts_and_lists_may_be_larger(nginx: NginxServer, path: str) -> None:
    assert nginx.ask(path, method="POST", body=b"x" * 66_000).status == 200


def test_requests_without_a_login_are_slowed(own_nginx: NginxServer) -> None:
    statuses = [own_nginx.ask("/api/v1/x").status for _ in range(300)]
    assert statuses[:200] == [200] * 200
    assert 429 in statuses
    assert own_nginx.ask("/api/v1/x", user="alice").status == 200
    assert own_nginx.ask("/api/v1/x", headers={"Authorization": "Bearer x"}).status == 200
    # on a slow machine some requests are allowed again in between
    other = {"Cookie": f"x{own_nginx.cookie}=1"}
    assert 429 in {own_nginx.ask("/api/v1/x", headers=other).status for _ in range(300)}


def logins(nginx: NginxServer, address: str, count: int) -> list[int]:
    headers = {"X-Forwarded-For": f"192.0.2.1, {address}"}
    ask = functools.partial(nginx.ask, method="POST", headers=headers)
    return [ask("/api/v1/login", body=b"{}").status for _ in range(count)]


def test_behind_a_trusted_proxy_each_client_has_its_own_limits() -> None:
    with run_nginx(trusted_proxies=("127.0.0.0/8",)) as made:
        assert 429 in logins(made, "203.0.113.9", 75)
        assert logins(made, "203.0.113.10", 1) == [200]
        assert made.portal.seen[-1].one("x-forwarded-for") == "203.0.113.10"
        assert made.portal.seen[-1].one("x-real-ip") == "203.0.113.10"


def test_an_ipv6_client_is_its_network() -> None:
    """The same /64 can be written in several ways; another one has its own limit."""
    with run_nginx(trusted_proxies=("127.0.0.1",)) as made:
        assert 429 in logins(made, "2001:db8::1:2:3:4", 75)
        assert 429 in logins(made, "2001:db8:0:0:a::", 5)
        assert logins(made, "2001:db8:0:1:a::", 1) == [200]


def test_other_proxies_are_not_believed(own_nginx: NginxServer) -> None:
    assert 429 in logins(own_nginx, "203.0.113.9", 75)
    assert 429 in logins(own_nginx, "203.0.113.10", 5)
    assert own_nginx.portal.seen[-1].one("x-forwarded-for") == "127.0.0.1"


def test_unreadable_request_gets_problem_response(nginx: NginxServer) -> None:
    for request in (b"GET /api/v1/x%00 HTTP/1.1\r\nHost: x\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n"):
        with nginx.connect() as connection:
            connection.sendall(request)
            answer = read_answer(connection)
        assert answer.status == 400
        assert problem(answer)["type"] == "urn:portal:invalid-input"
        assert answer.all("retry-after") == []
    assert nginx.portal.seen == []


LONG = b"x" * 20_000
OWN_ANSWERS = {
    b"GET /internal/gate HTTP/1.1": (404, "not-found"),
    b"GET /user/alice/s1/..%2f..%2fx HTTP/1.1": (404, "not-found"),
    b"TRACE / HTTP/1.1": (405, "method-not-allowed"),
    b"GET /tensorboard/x/?" + LONG + b" HTTP/1.1": (414, "address-too-long"),
    b"GET /tensorboard/x/ HTTP/1.1\r\nCookie: a=" + LONG: (431, "headers-too-large"),
    b"POST /api/v1/x HTTP/1.1\r\nTransfer-Encoding: xchunked": (501, "not-implemented"),
}


@pytest.mark.parametrize("begin", OWN_ANSWERS, ids=lambda begin: begin[:30].decode())
def test_what_nginx_answers_itself_is_a_problem(nginx: NginxServer, begin: bytes) -> None:
    status, slug = OWN_ANSWERS[begin]
    with nginx.connect() as connection:
        connection.sendall(begin + b"\r\nHost: x\r\n\r\n")
        answer = read_answer(connection)
    assert answer.status == status
    found = problem(answer)
    assert (found["type"], found["status"]) == (f"urn:portal:{slug}", status)
    assert {"title", "detail", "errors"} <= found.keys()
    assert answer.one("x-content-type-options") == "nosniff"
    assert answer.one("content-security-policy").startswith("default-src 'none'")
    assert answer.one("x-request-id")


@pytest.mark.parametrize("path", ["/", "/api/v1/me", "/hub/login", HOME])
def test_what_nodes_do_not_reach_is_a_problem(nginx: NginxServer, path: str) -> None:
    answer = nginx.ask(path, cluster=True)
    assert (answer.status, problem(answer)["type"]) == (404, "urn:portal:not-found")


def test_connections_from_one_address_are_bounded() -> None:
    """One address exhausts its own share with long-lived streams; another is still served."""
    over = threading.Event()

    def answer(_seen: ReceivedRequest, connection: socket.socket) -> bytes:
        connection.sendall(b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\n\r\n: ping\n\n")
        over.wait()
        return b""

    request = b"GET /api/v1/events HTTP/1.1\r\nHost: x\r\n\r\n"
    with run_nginx(connections=20) as made, contextlib.ExitStack() as stack:
        stack.callback(over.set)
        made.portal.answer = answer
        held = [stack.enter_context(made.connect()) for _ in range(20)]
        for connection in held:
            connection.sendall(request)
            assert connection.recv(12) == b"HTTP/1.1 200"
        refused = made.ask("/api/v1/me")
        assert (refused.status, refused.one("retry-after")) == (429, "3")
        assert problem(refused)["type"] == "urn:portal:too-many-requests"
        assert made.ask("/tensorboard/x/").status == 429
        made.portal.answer = lambda *_: reply()
        with made.connect("127.0.0.2") as connection:
            connection.sendall(b"GET /api/v1/me HTTP/1.1\r\nHost: x\r\n\r\n")
            assert read_answer(connection).body == b"ok"
        held[0].close()
        wait_until(lambda: made.ask("/api/v1/me").status == 200, "the place is free again")


def test_answers_of_the_api_are_compressed_and_streams_are_not(own_nginx: NginxServer) -> None:
    body = b'{"items": [' + b"1," * 5000 + b"1]}"
    own_nginx.portal.answer = lambda *_: reply(
        headers="Content-Type: application/json\r\n", body=body
    )
    compressed = own_nginx.ask("/api/v1/cluster/map", headers={"Accept-Encoding": "gzip"})
    assert compressed.one("content-encoding") == "gzip"
    assert gzip.decompress(compressed.body) == body
    assert len(compressed.body) < len(body) / 10
    assert own_nginx.ask("/api/v1/cluster/map").body == body
    stream = own_nginx.ask("/api/v1/events", headers={"Accept-Encoding": "gzip"})
    assert (stream.all("content-encoding"), stream.body) == ([], body)


def test_built_files_come_from_nginx_itself() -> None:
    dist = Path(tempfile.mkdtemp(prefix="gate-dist-", dir="/tmp"))
    dist.chmod(0o755)
    (dist / "assets").mkdir(mode=0o755)
    (dist / "assets" / "app-1a2b.js").write_text("x" * 5000)
    (dist / "assets" / "big-3c4d.js").write_text("y" * 5000)
    (dist / "assets" / "big-3c4d.js.gz").write_bytes(gzip.compress(b"compressed beforehand"))
    (dist / "secret.txt").write_text("not below assets")
    try:
        with run_nginx(assets=dist) as made:
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
            for path in ("/assets/", "/assets/none.js"):
                refused = made.ask(path)
                assert refused.status == 404
                (policy,) = refused.all("content-security-policy")
                assert policy.startswith("default-src 'none';")
            policy = "default-src 'none'; frame-ancestors 'none'"
            assert made.ask("/assets/app-1a2b.js").all("content-security-policy") == [policy]
            ranged = made.ask("/assets/app-1a2b.js", headers={"Range": "bytes=9000-"})
            assert ranged.status == 416
            # both the file's policy and the problem document's: a browser enforces each
            assert policy in ranged.all("content-security-policy")
            for each in ranged.all("content-security-policy"):
                assert each.startswith("default-src 'none'; ")
            assert problem(ranged)["type"] == "urn:portal:range-not-satisfiable"
            unlike = made.ask("/assets/app-1a2b.js", headers={"If-Match": '"another"'})
            assert (unlike.status, problem(unlike)["type"]) == (
                412,
                "urn:portal:precondition-failed",
            )
            for path in ("/assets/none.js", "/assets/%2e%2e%2f%2e%2e/etc/passwd"):
                assert made.ask(path).body != b"x" * 5000
                assert b"root:" not in made.ask(path).body
            assert made.ask("/assets/../secret.txt").status == 400
            made.portal.stop()
            assert made.ask("/assets/app-1a2b.js").status == 200
    finally:
        shutil.rmtree(dist)


# --- the cluster-facing listener ------------------------------------------------------------------


def test_programs_on_nodes_reach_hub_api_and_node_paths_only(nginx: NginxServer) -> None:
    forged = {"Cookie": f"{nginx.cookie}=token-of-alice", "X-Forwarded-For": "127.0.0.1, 6.6.6.6"}
    nginx.ask("/node/sessions/1/hello", method="POST", headers=forged, body=b"{}", cluster=True)
    nginx.ask("/hub/api/users/alice", headers=forged, cluster=True)
    (node,), (hub,) = nginx.portal.seen, nginx.hub.seen
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
def test_nothing_else_is_there_for_nodes(nginx: NginxServer, path: str) -> None:
    dotted = ".." in path or "%2e" in path
    assert nginx.ask(path, user="alice", cluster=True).status == (400 if dotted else 404)
    assert nginx.portal.seen == nginx.hub.seen == nginx.node.seen == []


# --- TLS ------------------------------------------------------------------------------------------


def test_http2_with_tls() -> None:
    with run_nginx(tls=True) as made:
        assert made.inputs.public.certificate is not None
        context = ssl.create_default_context(cafile=str(made.inputs.public.certificate.chain))
        context.check_hostname = False
        context.set_alpn_protocols(["h2", "http/1.1"])
        plain = socket.create_connection(("127.0.0.1", made.inputs.public.port), 5)
        with contextlib.closing(plain), context.wrap_socket(plain) as connection:
            assert connection.selected_alpn_protocol() == "h2"
            assert connection.version() in {"TLSv1.2", "TLSv1.3"}


def test_plain_http_on_a_port_with_tls_is_a_problem() -> None:
    with run_nginx(tls=True) as made:
        with socket.create_connection(("127.0.0.1", made.inputs.public.port), 5) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = read_answer(connection)
        assert (answer.status, problem(answer)["type"]) == (400, "urn:portal:tls-required")
