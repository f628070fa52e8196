"""A TensorBoard that hangs: only its own viewers wait."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from portal.services.concurrency import TensorboardQueue
from tests.polling import wait_until
from tests.servers.gate_portal import Real, problem
from tests.servers.nginx import ReceivedRequest, Upstream, read_answer, reply

pytest_plugins = ["tests.portal.gate_fixtures"]

REQUESTS = TensorboardQueue.PER_TENSORBOARD + 20


@pytest.fixture
def hung() -> Iterator[Upstream]:
    """A server that accepts every request and answers none until the test ends."""
    over = threading.Event()

    def answer(_seen: ReceivedRequest, _connection: socket.socket) -> bytes:
        over.wait()
        return reply()

    server = Upstream(answer)
    yield server
    over.set()
    server.stop()


@contextmanager
def open_requests(real: Real, path: str, user: str, count: int) -> Iterator[list[socket.socket]]:
    """Send this many requests of one user without reading the responses."""
    head = f"GET {path} HTTP/1.1\r\nHost: portal.test\r\nConnection: close\r\n"
    cookie = f"Cookie: {real.settings.cookie_name}=token-of-{user}\r\n\r\n"
    with ExitStack() as stack:
        made = []
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", real.port), 60)
            made.append(stack.enter_context(connection))
            connection.sendall((head + cookie).encode())
        yield made


def answered(connections: list[socket.socket]) -> list[socket.socket]:
    """Return the connections with data to read."""
    found = []
    for connection in connections:
        connection.setblocking(False)
        try:
            if connection.recv(1, socket.MSG_PEEK):
                found.append(connection)
        except BlockingIOError:
            pass
        connection.setblocking(True)
    return found


def test_a_hung_tensorboard_holds_up_no_other(real: Real, hung: Upstream) -> None:
    real.node.answer = lambda *_: reply(200, body=b"TB")
    parent = real.add_session()
    mine = real.board_at(real.add_board(parent, port=hung.port))
    other = real.board_at(real.add_board(real.add_session("bob")), "bob")
    with open_requests(real, mine, "alice", REQUESTS) as connections:
        # requests beyond its share are refused, with a suggestion
        wait_until(lambda: len(answered(connections)) == 20, "the excess is refused")
        refused = read_answer(answered(connections)[0])
        assert (refused.status, refused.one("retry-after")) == (429, "5")
        found = problem(refused)
        assert found["type"] == "urn:portal:too-many-requests"
        assert "close tabs" in found["detail"]
        # a few run, the others wait
        wait_until(lambda: len(hung.seen) == TensorboardQueue.RUNNING, "the first ones run")
        for _ in range(3):
            assert real.ask(other, user="bob").body == b"TB"
            assert real.ask("/healthz").status == 200
        assert len(hung.seen) == TensorboardQueue.RUNNING
    # a disconnected user holds no slots
    wait_until(lambda: _runs_again(real, mine, hung), "the next request runs")


def _runs_again(real: Real, path: str, hung: Upstream) -> bool:
    before = len(hung.seen)
    with open_requests(real, path, "alice", 1) as connections:
        wait_until(lambda: len(hung.seen) > before or answered(connections), "something comes")
        return len(hung.seen) > before


def test_requests_that_wait_run_in_turn(real: Real) -> None:
    free = threading.Semaphore(0)

    def answer(_seen: ReceivedRequest, _connection: socket.socket) -> bytes:
        free.acquire()
        return reply(200, body=b"TB")

    real.node.answer = answer
    path = real.board_at(real.add_board(real.add_session()))
    count = TensorboardQueue.RUNNING + 10
    with open_requests(real, path, "alice", count) as connections:
        wait_until(lambda: len(real.node.seen) == TensorboardQueue.RUNNING, "the first ones run")
        for _ in range(count):
            free.release()
        answers = [read_answer(connection) for connection in connections]
    assert [(one.status, one.body) for one in answers] == [(200, b"TB")] * count
