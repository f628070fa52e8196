"""Streams through nginx, cached gate responses, and messages when a service is down."""

import queue
import socket
import threading

import pytest

from tests.polling import wait_until
from tests.servers.nginx import HOME, PAGE, WAIT_S, NginxServer, ReceivedRequest, read_answer

pytest_plugins = ["tests.portal.gate_fixtures"]


# --- streams --------------------------------------------------------------------------------------


def _websocket(seen: ReceivedRequest, connection: socket.socket) -> bytes:
    assert (seen.one("upgrade"), seen.one("connection")) == ("websocket", "upgrade")
    connection.sendall(
        b"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Set-Cookie: root=1; Path=/\r\n\r\n"
    )
    while data := connection.recv(100):
        connection.sendall(data.upper())
    return b""


def test_a_websocket_passes_both_ways(nginx: NginxServer) -> None:
    nginx.node_answer = _websocket
    lines = (
        f"GET {HOME}api/kernels/1/channels HTTP/1.1",
        "Host: portal.test",
        "Connection: keep-alive, Upgrade",
        "Upgrade: WebSocket",
        f"Cookie: {nginx.cookie}=token-of-alice; a=1",
    )
    with nginx.connect() as connection:
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(1000)
        assert head.startswith(b"HTTP/1.1 101")
        assert b"root=1; Path=/user/alice/s1/\r\n" in head
        for word in (b"hello", b"again"):
            connection.sendall(word)
            assert connection.recv(100) == word.upper()
    assert nginx.node.seen[0].all("cookie") == ["a=1"]


def test_no_other_protocol_is_upgraded_to(nginx: NginxServer) -> None:
    headers = {"Upgrade": "h2c", "Connection": "Upgrade, HTTP2-Settings", "HTTP2-Settings": "x"}
    nginx.ask(HOME, user="alice", headers=headers)
    assert nginx.node.seen[0].all("upgrade") == []


def test_an_upload_of_a_gigabyte_is_streamed(nginx: NginxServer) -> None:
    """The node receives the first part while the client still holds back the rest."""
    got_first = threading.Event()

    def answer(_seen: ReceivedRequest, connection: socket.socket) -> bytes:
        assert connection.recv(65536)
        got_first.set()
        while connection.recv(1 << 20):
            pass
        return b""

    nginx.node_answer = answer
    with nginx.connect() as connection:
        head = f"PUT {HOME}x HTTP/1.1\r\nHost: x\r\nContent-Length: {1 << 30}\r\n"
        connection.sendall(f"{head}Cookie: {nginx.cookie}=token-of-alice\r\n\r\n".encode())
        connection.sendall(b"x" * 300_000)
        assert got_first.wait(10)
    assert list((nginx.inputs.folder / "temp").rglob("*/*/*")) == []


def test_refused_large_upload_gets_the_refusal(own_nginx: NginxServer) -> None:
    head = f"PUT {HOME}x HTTP/1.1\r\nHost: x\r\nContent-Length: {1 << 30}\r\n\r\n"
    with own_nginx.connect() as connection:
        connection.sendall(head.encode())
        assert read_answer(connection).body == b"portal /user/alice/s1/x"
    own_nginx.portal.stop()
    with own_nginx.connect() as connection:
        connection.sendall(head.replace("/s1/", "/s2/").encode())
        assert read_answer(connection).status == 503


def test_an_answer_is_streamed(nginx: NginxServer) -> None:
    go_on = threading.Event()

    def answer(_seen: ReceivedRequest, connection: socket.socket) -> bytes:
        connection.sendall(b"HTTP/1.1 200 X\r\nContent-Length: 10\r\n\r\nfirst")
        assert go_on.wait(10)
        return b"-last"

    nginx.node_answer = answer
    with nginx.connect() as connection:
        head = f"GET {HOME}events HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        connection.sendall(f"{head}Cookie: {nginx.cookie}=token-of-alice\r\n\r\n".encode())
        got = b""
        while not got.endswith(b"first"):
            got += connection.recv(1000)
        go_on.set()
        while part := connection.recv(1000):
            got += part
    assert got.endswith(b"first-last")


@pytest.mark.parametrize(
    "path", ["/api/v1/events", "/api/v1/sessions/1/log/follow", "/hub/api/users/alice/progress"]
)
def test_event_streams_are_not_held_back(own_nginx: NginxServer, path: str) -> None:
    go_on = threading.Event()

    def answer(_seen: ReceivedRequest, connection: socket.socket) -> bytes:
        connection.sendall(b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
        assert go_on.wait(10)
        return b"data: 2\n\n"

    own_nginx.portal.answer = own_nginx.hub.answer = answer
    with own_nginx.connect() as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        got = b""
        while b"data: 1" not in got:
            got += connection.recv(1000)
        go_on.set()


# --- cached gate responses, separate per user -----------------------------------------------------


def test_an_answer_is_kept_per_cookie_owner_and_server(own_nginx: NginxServer) -> None:
    own_nginx.targets[("bob", "s1")] = own_nginx.node.address
    for _ in range(20):
        assert own_nginx.ask(HOME, user="alice").body == b"ok"
        assert own_nginx.ask(HOME, user="bob").body.startswith(b"portal ")
        assert own_nginx.ask(HOME).body.startswith(b"portal ")
        assert own_nginx.ask("/user/bob/s1/", user="bob").body == b"ok"
        assert own_nginx.ask("/user/bob/s1/", user="alice").body.startswith(b"portal ")
    asked = {(tuple(s.all("cookie")), s.one("x-owner")) for s in own_nginx.gate_requests()}
    assert len(asked) == 5
    # 3 s may pass while this runs, but hardly ever twice
    assert len(own_nginx.gate_requests()) <= 15
    assert {seen.path for seen in own_nginx.node.seen} == {HOME, "/user/bob/s1/"}


def test_a_token_with_the_keys_separator_is_its_own(own_nginx: NginxServer) -> None:
    """The key is "token|owner|server": a crafted token must not equal another key."""
    assert own_nginx.ask(HOME, user="alice").body == b"ok"
    for token in ("token-of-alice|alice|s1", "|alice|s1", "token-of-alice|"):
        headers = {"Cookie": f"{own_nginx.cookie}={token}"}
        assert own_nginx.ask(HOME, headers=headers).body.startswith(b"portal ")


def test_owners_work_on_while_the_portal_is_away(own_nginx: NginxServer) -> None:
    def asked_in_vain() -> int:
        """Return how often nginx tried to reach the gate and was refused."""
        log = (own_nginx.inputs.folder / "logs" / "error.log").read_text()
        lines = [line for line in log.splitlines() if "/internal/gate" in line]
        return sum("onnection refused" in line for line in lines)

    def works_on() -> bool:
        assert own_nginx.ask(HOME, user="alice").body == b"ok"
        return asked_in_vain() >= 3

    assert own_nginx.ask(HOME, user="alice").body == b"ok"
    asked = len(own_nginx.gate_requests())
    # until a cached response expires while the portal is up, …
    wait_until(
        lambda: (
            own_nginx.ask(HOME, user="alice").body == b"ok"
            and len(own_nginx.gate_requests()) > asked
        ),
        "the gate is asked again",
    )
    own_nginx.portal.stop()
    wait_until(works_on, "the gate is asked in vain")  # … and then while it is down
    # users without a cached response get no access
    for who in ("bob", "carol", None):
        answer = own_nginx.ask(HOME, user=who, headers=dict(PAGE))
        assert answer.status == 503
        assert b"restarting" in answer.body
    assert {"".join(seen.all("cookie")) for seen in own_nginx.node.seen} == {""}
    own_nginx.portal.start()
    assert own_nginx.ask(HOME, user="bob").body.startswith(b"portal ")


def test_behind_a_kept_socket_an_owner_waits_for_the_gate(own_nginx: NginxServer) -> None:
    """A portal that restarts: connections are not refused, and are served once it is back."""
    assert own_nginx.ask(HOME, user="alice").body == b"ok"
    asked, is_back = threading.Event(), threading.Event()

    def restarting(seen: ReceivedRequest, connection: socket.socket) -> bytes:
        asked.set()
        assert is_back.wait(WAIT_S)
        return own_nginx.gate(seen, connection)

    own_nginx.portal.answer = restarting
    answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def work() -> None:
        while not is_back.is_set():
            answers.put(own_nginx.ask(HOME, user="alice").body)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    assert asked.wait(WAIT_S)
    before = answers.qsize()
    # a path that needs no gate needs no portal
    answer = own_nginx.ask("/user/alice/s1", user="alice")
    assert (answer.status, answers.qsize()) == (308, before)
    is_back.set()
    worker.join(WAIT_S)
    assert answers.qsize() == before + 1
    assert {answers.get() for _ in range(before + 1)} == {b"ok"}


def test_a_stopped_session_is_not_served_from_an_old_answer(own_nginx: NginxServer) -> None:
    assert own_nginx.ask(HOME, user="alice").body == b"ok"
    del own_nginx.targets[("alice", "s1")]
    wait_until(
        lambda: own_nginx.ask(HOME, user="alice").body.startswith(b"portal "), "it is not running"
    )
    for _ in range(5):
        assert own_nginx.ask(HOME, user="alice").body.startswith(b"portal ")


# --- services that are down -----------------------------------------------------------------------


def test_without_the_portal_pages_say_so_and_try_again(own_nginx: NginxServer) -> None:
    own_nginx.portal.stop()
    for path in ("/", "/sessions", "/tensorboard/1/", HOME):
        answer = own_nginx.ask(path, headers=dict(PAGE))
        assert answer.status == 503
        assert b'http-equiv="refresh"' in answer.body
        assert answer.one("content-type").startswith("text/html")
        assert answer.one("cache-control") == "no-store"
        answer = own_nginx.ask(path, headers={"Accept": "application/json"})
        assert answer.status == 503
        assert answer.one("content-type").startswith("application/problem+json")
        assert b"urn:portal:unavailable" in answer.body
    answer = own_nginx.ask("/api/v1/login", method="POST", body=b"{}")
    assert (answer.status, answer.one("retry-after")) == (503, "3")


def test_a_node_that_does_not_answer(own_nginx: NginxServer) -> None:
    own_nginx.node.stop()
    answer = own_nginx.ask(HOME, user="alice", headers=dict(PAGE))
    assert answer.status == 502
    assert b"Your session doesn't answer" in answer.body
    answer = own_nginx.ask(f"{HOME}api", user="alice", method="POST", body=b"{}")
    assert answer.status == 502
    assert answer.one("content-type").startswith("application/problem+json")


def test_without_the_hub(own_nginx: NginxServer) -> None:
    own_nginx.hub.stop()
    assert own_nginx.ask("/hub/x", headers=dict(PAGE)).status == 503
