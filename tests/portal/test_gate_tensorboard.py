"""A TensorBoard through the portal: for its owner, with its secret, confined."""

import socket
from datetime import timedelta

import pytest

from portal.db import utcnow
from portal.models import Tensorboard, TensorboardState, User
from tests.portal.gate_portal import Real, problem
from tests.portal.gate_world import PAGE, Seen, reply, world

pytest_plugins = ["tests.portal.gate_fixtures"]


# --- /tensorboard/ --------------------------------------------------------------------------------


def _tensorboard(_seen: Seen, _connection: socket.socket) -> bytes:
    return reply(200, "Content-Type: text/html\r\nSet-Cookie: a=b; Path=/\r\nRefresh: 0\r\n", b"TB")


def test_the_owners_tensorboard(real: Real) -> None:
    real.node.answer = _tensorboard
    board = real.add_board(real.add_session())
    at = f"/tensorboard/{board.id}/"
    answer = real.ask(f"{at}data/plugin/x?tag=a%2Fb", user="alice", headers=dict(PAGE))
    assert (answer.status, answer.body) == (200, b"TB")
    (seen,) = real.node.seen
    assert seen.path == f"{at}data/plugin/x?tag=a%2Fb"
    assert seen.one("x-portal-secret") == "the-secret"
    assert seen.all("cookie") == []
    assert "token-of" not in repr(seen)
    policies = answer.all("content-security-policy")
    assert any(f"connect-src http://portal.test{at};" in policy for policy in policies)
    assert answer.all("set-cookie") == answer.all("refresh") == []


def test_a_post_passes_with_its_type(real: Real) -> None:
    real.node.answer = _tensorboard
    board = real.add_board(real.add_session())
    headers = {"Content-Type": "multipart/form-data; boundary=x", "Origin": "http://portal.test"}
    path = f"/tensorboard/{board.id}/data/plugin/timeseries/timeSeries"
    answer = real.ask(path, user="alice", method="POST", headers=headers, body=b"--x--")
    assert answer.status == 200
    (seen,) = real.node.seen
    assert (seen.method, seen.body) == ("POST", b"--x--")
    assert seen.one("content-type") == headers["Content-Type"]
    foreign = {**headers, "Origin": "http://evil.test"}
    assert real.ask(path, user="alice", method="POST", headers=foreign, body=b"x").status == 403
    assert len(real.node.seen) == 1


def test_nobody_else_reaches_it(real: Real) -> None:
    board = real.add_board(real.add_session())
    at = f"/tensorboard/{board.id}/"
    for who, status in (("bob", 404), ("carol", 404), (None, 401), ("unknown", 401)):
        assert real.ask(at, user=who).status == status
    answer = real.ask(f"{at}?x=1#y", headers=dict(PAGE))
    assert (answer.status, answer.one("location")) == (302, f"/login?next={at}%3Fx%3D1")
    real.update(User, real.users["alice"].id, disabled_at=utcnow())
    assert real.ask(at, user="alice").status == 401
    assert real.node.seen == []


@pytest.mark.parametrize("tail", ["x", "..", "%2e%2e/x", "1/../../internal/gate"])
def test_a_tensorboard_that_there_is_not(real: Real, tail: str) -> None:
    assert real.ask(f"/tensorboard/{tail}/", user="alice").status == 404


def test_a_slash_is_added(real: Real) -> None:
    answer = real.ask("/tensorboard/5f1c", user="alice")
    assert (answer.status, answer.one("location")) == (308, "/tensorboard/5f1c/")


def test_its_state_is_told_in_its_place(real: Real) -> None:
    starting = {"state": TensorboardState.STARTING, "host": None, "port": None}
    board = real.add_board(real.add_session(), **starting)
    at = f"/tensorboard/{board.id}/"
    answer = real.ask(at, user="alice", headers=dict(PAGE))
    assert (answer.status, b'http-equiv="refresh"' in answer.body) == (424, True)
    assert b"TensorBoard is starting" in answer.body
    chinese = {**PAGE, "Accept-Language": "zh-CN,zh;q=0.9,en;q=0.8"}
    answer = real.ask(at, user="alice", headers=chinese)
    assert "TensorBoard 正在启动" in answer.body.decode()
    assert problem(real.ask(at, user="alice"))["type"] == "urn:portal:not-running"
    failed = {"state": TensorboardState.FAILED, "reason": "<b>No such folder</b>"}
    real.update(Tensorboard, board.id, **failed)
    answer = real.ask(at, user="alice", headers=dict(PAGE))
    assert b"&lt;b&gt;No such folder&lt;/b&gt;" in answer.body
    assert b"refresh" not in answer.body


def test_a_tensorboard_that_does_not_answer(real: Real) -> None:
    real.node.stop()
    board = real.add_board(real.add_session())
    at = f"/tensorboard/{board.id}/"
    answer = real.ask(at, user="alice", headers=dict(PAGE))
    assert (answer.status, b"answer" in answer.body) == (503, True)
    assert problem(real.ask(at, user="alice"))["type"] == "urn:portal:unavailable"


def test_looking_at_it_is_noted_but_not_at_each_request(real: Real) -> None:
    real.node.answer = _tensorboard
    long_ago = utcnow() - timedelta(minutes=20)
    board = real.add_board(real.add_session(), last_request_at=long_ago)
    real.ask(f"/tensorboard/{board.id}/", user="bob")
    assert real.board(board.id).last_request_at == long_ago
    real.ask(f"/tensorboard/{board.id}/", user="alice")
    noted = real.board(board.id).last_request_at
    assert noted is not None
    assert noted > utcnow() - timedelta(minutes=1)
    real.ask(f"/tensorboard/{board.id}/", user="alice")
    assert real.board(board.id).last_request_at == noted


def test_a_tensorboard_behind_nginx(real: Real) -> None:
    real.node.answer = _tensorboard
    board = real.add_board(real.add_session())
    at = f"/tensorboard/{board.id}/"
    with world(portal_port=real.port) as door:
        answer = door.ask(f"{at}?tag=a%2Fb", user="alice", headers=dict(PAGE))
        assert (answer.status, answer.body) == (200, b"TB")
        assert "sandbox allow-scripts" in "".join(answer.all("content-security-policy"))
        assert door.ask(at, user="bob").status == 404
        assert [seen.path for seen in real.node.seen] == [f"{at}?tag=a%2Fb"]
