"""A TensorBoard through the portal: for its owner, with its secret, confined."""

import json
import socket
import time
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

from portal.db import utcnow
from portal.models import (
    ContentLogin,
    Share,
    Tensorboard,
    TensorboardState,
    User,
    WebSession,
)
from portal.services.hashes import hash_token
from portal.services.tensorboards.tickets import issue_frame_ticket
from spawner.signing import is_signed
from tests.servers.gate_portal import Real, problem, real_portal
from tests.servers.nginx import GUARD_KEY, PAGE, Answer, ReceivedRequest, reply, run_nginx

pytest_plugins = ["tests.portal.gate_fixtures"]


# --- /tensorboard/ --------------------------------------------------------------------------------


def _tensorboard(_seen: ReceivedRequest, _connection: socket.socket) -> bytes:
    return reply(200, "Content-Type: text/html\r\nSet-Cookie: a=b; Path=/\r\nRefresh: 0\r\n", b"TB")


def test_the_owners_tensorboard(real: Real) -> None:
    real.node.answer = _tensorboard
    board = real.add_board(real.add_session())
    at = real.board_at(board)
    answer = real.ask(f"{at}data/plugin/x?tag=a%2Fb", user="alice", headers=dict(PAGE))
    assert (answer.status, answer.body) == (200, b"TB")
    (seen,) = real.node.seen
    own = f"/tensorboard/{board.id}/data/plugin/x?tag=a%2Fb"
    assert seen.path == own  # the ticket is not forwarded
    assert is_signed(GUARD_KEY, "GET", seen.path, seen.one("x-portal-signature"), time.time())
    assert GUARD_KEY not in repr(seen)
    assert seen.all("cookie") == []
    assert "token-of" not in repr(seen)
    policies = answer.all("content-security-policy")
    assert any(f"connect-src http://portal.test{at};" in policy for policy in policies)
    assert answer.all("set-cookie") == answer.all("refresh") == []


def test_a_post_passes_with_its_type(real: Real) -> None:
    real.node.answer = _tensorboard
    board = real.add_board(real.add_session())
    headers = {"Content-Type": "multipart/form-data; boundary=x", "Origin": "http://portal.test"}
    path = f"{real.board_at(board)}data/plugin/timeseries/timeSeries"
    answer = real.ask(path, user="alice", method="POST", headers=headers, body=b"--x--")
    assert answer.status == 200
    (seen,) = real.node.seen
    assert (seen.method, seen.body) == ("POST", b"--x--")
    assert seen.one("content-type") == headers["Content-Type"]
    foreign = {**headers, "Origin": "http://evil.test"}
    assert real.ask(path, user="alice", method="POST", headers=foreign, body=b"x").status == 403
    assert len(real.node.seen) == 1


def test_other_users_cannot_reach_the_board(real: Real) -> None:
    board = real.add_board(real.add_session())
    at = real.board_at(board)
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


@pytest.mark.parametrize(
    "headers", [{"Service-Worker": "script"}, {"Sec-Fetch-Dest": "serviceworker"}]
)
def test_a_service_worker_is_not_installed(real: Real, headers: dict[str, str]) -> None:
    real.node.answer = _tensorboard
    board = real.add_board(real.add_session())
    answer = real.ask(f"{real.board_at(board)}sw.js", user="alice", headers=headers)
    assert answer.status == 404
    assert real.node.seen == []


def test_the_portals_own_answers_there_have_its_headers(real: Real) -> None:
    """A page without a policy would be a way out of the TensorBoard's."""
    stopped = real.add_board(real.add_session(), state=TensorboardState.FAILED, reason="x")
    running = real.board_at(real.add_board(real.add_session("bob")), "bob")
    asked = [
        (real.board_at(stopped), "alice", "GET", 424),
        (running, "alice", "GET", 404),
        (running, None, "GET", 401),
        (running, "bob", "PUT", 405),
        ("/tensorboard/x", "alice", "GET", 404),
        (running[:-1], "bob", "GET", 308),
    ]
    real.node.stop()
    asked.append((running, "bob", "GET", 503))
    for path, who, method, status in asked:
        for headers in ({}, PAGE):
            answer = real.ask(path, user=who, method=method, headers=dict(headers))
            expected = 302 if (status, headers) == (401, PAGE) else status
            if method == "GET":
                assert answer.status == expected, path
            (policy,) = answer.all("content-security-policy")
            assert "frame-ancestors 'none'" in policy
            assert answer.all("x-content-type-options") == ["nosniff"]
            assert answer.all("x-frame-options") == ["DENY"]


@pytest.mark.parametrize("tail", ["", "/", "/x", f"/{'0' * 32}/", "/x/data"])
def test_ticket_missing_or_wrong_leads_by_a_link_alone(real: Real, tail: str) -> None:
    """A redirect would reveal its target to another TensorBoard's page."""
    board = real.add_board(real.add_session())
    path = f"/tensorboard/{board.id}{tail}"
    answer = real.ask(path, user="alice", headers=dict(PAGE))
    assert (answer.status, answer.all("location")) == (404, [])
    assert f'href="/tensorboards/{board.id}"' in answer.body.decode()
    assert problem(real.ask(path, user="alice"))["type"] == "urn:portal:not-found"
    assert real.node.seen == []


def test_ticket_is_worthless_in_another_login_and_for_another_tensorboard(real: Real) -> None:
    real.node.answer = _tensorboard
    first, second = (real.add_board(real.add_session(name=name)) for name in ("s1", "s2"))
    _share(real, first, "bob")
    assert real.ask(real.board_at(first, "bob"), user="bob").status == 200
    assert real.ask(real.board_at(first), user="bob").status == 404
    swapped = real.board_at(first).replace(first.id, second.id)
    assert real.ask(swapped, user="alice").status == 404
    with real.rows() as db:
        real.add_login(db, "alice", "another-login")
    other = {"Cookie": f"{real.settings.cookie_name}=another-login"}
    assert real.ask(real.board_at(first), headers=other).status == 404


def test_frame_ticket_lets_the_owners_notebooks_show_it(tmp_path: Path) -> None:
    urls = {
        "notebook_url": "http://portal.test:8020",
        "tensorboard_url": "http://portal.test:8030",
    }
    with real_portal(tmp_path, **urls) as real:
        real.node.answer = _tensorboard
        board = real.add_board(real.add_session())
        _share(real, board, "bob")
        with real.rows() as db:
            for name in ("alice", "bob"):
                login = db.scalars(
                    select(WebSession).where(WebSession.user == real.users[name])
                ).one()
                host, token = "portal.test:8030", hash_token(f"content-of-{name}")
                db.add(ContentLogin(web_session_id=login.id, host=host, token_hash=token))
        own, bobs = (
            issue_frame_ticket(real.settings, real.users[name].id, board.id)
            for name in ("alice", "bob")
        )

        def ask(ticket: str, name: str) -> Answer:
            cookie = f"{real.settings.tensorboard_cookie}=content-of-{name}"
            headers = {"Host": "portal.test:8030", "Cookie": cookie, **PAGE}
            return real.ask(f"/tensorboard/{board.id}/{ticket}/", headers=headers)

        answer = ask(own, "alice")
        policy = "; ".join(answer.all("content-security-policy"))
        assert answer.status == 200
        assert "frame-ancestors 'self' http://portal.test:8020;" in policy
        assert ask(own, "bob").status == 404
        assert ask(bobs, "bob").status == 404  # a viewer's notebooks frame nothing
        starting = {"state": TensorboardState.STARTING, "host": None, "port": None}
        real.update(Tensorboard, board.id, **starting)
        page = ask(own, "alice")
        assert (page.status, b'http-equiv="refresh"' in page.body) == (424, True)
        policies = page.all("content-security-policy")
        assert all(one.endswith("frame-ancestors http://portal.test:8020") for one in policies)
        assert policies != []
        assert page.all("x-frame-options") == ["SAMEORIGIN"]


def _share(real: Real, board: Tensorboard, username: str) -> None:
    with real.rows() as db:
        db.add(Share(parent_id=board.parent_id, username=username))


def test_a_slash_is_added(real: Real) -> None:
    at = real.board_at(real.add_board(real.add_session()))
    answer = real.ask(at[:-1], user="alice")
    assert (answer.status, answer.one("location")) == (308, at)


def test_board_address_shows_its_state(real: Real) -> None:
    starting = {"state": TensorboardState.STARTING, "host": None, "port": None}
    board = real.add_board(real.add_session(), **starting)
    at = real.board_at(board)
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
    at = real.board_at(board)
    answer = real.ask(at, user="alice", headers=dict(PAGE))
    assert (answer.status, b"answer" in answer.body) == (503, True)
    assert problem(real.ask(at, user="alice"))["type"] == "urn:portal:unavailable"


@pytest.mark.parametrize("key", [None, "another"])
def test_a_program_that_took_its_port_is_not_shown(real: Real, key: str | None) -> None:
    real.node.answer, real.node.guard_key = _tensorboard, key
    board = real.add_board(real.add_session())
    answer = real.ask(real.board_at(board), user="alice")
    assert (answer.status, b"TB" in answer.body) == (503, False)


def test_the_guards_key_opens_nothing_at_the_portal(real: Real) -> None:
    """The secret with which the node program calls home differs from the key for its guard."""
    real.node.answer = _tensorboard
    board = real.add_board(real.add_session())
    real.ask(real.board_at(board), user="alice")
    (seen,) = real.node.seen
    for word in (GUARD_KEY, seen.one("x-portal-signature"), board.secret_hash, ""):
        assert _node(real, board, "hello", word, port=4000) == 401, word
    assert _node(real, board, "report", "call-home", event="exiting") == 204


@pytest.mark.parametrize("event", ["exiting", "failed"])
def test_ending_board_gets_no_requests(real: Real, event: str) -> None:
    real.node.answer = _tensorboard
    board = real.add_board(real.add_session())
    assert _node(real, board, "report", "call-home", event=event) == 204
    found = real.board(board.id)
    assert (found.host, found.port) == (None, None)
    assert real.ask(real.board_at(board), user="alice").status == 424
    assert real.node.seen == []


def _node(real: Real, board: Tensorboard, act: str, secret: str, **body: object) -> int:
    """Return the status of a node program's call home."""
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    path = f"/node/tensorboards/{board.id}/{act}"
    return real.ask(path, method="POST", headers=headers, body=json.dumps(body).encode()).status


def test_looking_at_it_is_noted_but_not_at_each_request(real: Real) -> None:
    real.node.answer = _tensorboard
    long_ago = utcnow() - timedelta(minutes=20)
    board = real.add_board(real.add_session(), last_request_at=long_ago)
    real.ask(real.board_at(board, "bob"), user="bob")
    assert real.board(board.id).last_request_at == long_ago
    real.ask(real.board_at(board), user="alice")
    noted = real.board(board.id).last_request_at
    assert noted is not None
    assert noted > utcnow() - timedelta(minutes=1)
    real.ask(real.board_at(board), user="alice")
    assert real.board(board.id).last_request_at == noted


def test_a_tensorboard_behind_nginx(real: Real) -> None:
    real.node.answer = _tensorboard
    board = real.add_board(real.add_session())
    at = real.board_at(board)
    with run_nginx(portal_port=real.port) as door:
        answer = door.ask(f"{at}?tag=a%2Fb", user="alice", headers=dict(PAGE))
        assert (answer.status, answer.body) == (200, b"TB")
        assert "sandbox allow-scripts" in "".join(answer.all("content-security-policy"))
        assert door.ask(at, user="bob").status == 404
        assert [seen.path for seen in real.node.seen] == [f"/tensorboard/{board.id}/?tag=a%2Fb"]
