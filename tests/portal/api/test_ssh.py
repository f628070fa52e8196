"""SSH at the gate: which access tokens open which session, and until when; behind nginx."""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deploy import nginx
from portal.db import utcnow
from portal.models import AccessToken, JobState, Session, User, Wanted
from portal.services.auth.tokens import new_text
from portal.services.hashes import hash_token
from portal.services.slurm.launch import derive_secret
from spawner.ssh.grant import GRANT_HEADER, HOST_KEY_HEADER, KEY_HEADER, SshGrant, parse_grant
from spawner.ssh.host_key import render_public_key
from tests.polling import wait_until
from tests.servers.gate_portal import TARGET, Real, problem, real_portal
from tests.servers.nginx import Answer, NginxServer, ReceivedRequest, run_nginx

pytest_plugins = ["tests.portal.gate_fixtures"]

PATH = "/user/alice/s1/ssh"
KEY = render_public_key("the client's")
WEBSOCKET = {"Upgrade": "websocket", "Connection": "Upgrade"}
CONTEXT: Any = SimpleNamespace(settings=SimpleNamespace(internal_secret="i" * 32))


def headers(token: str, key: str = KEY) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", KEY_HEADER: key}


def gate(real: Real, given: dict[str, str], server: str = "s1", **kwargs: Any) -> Answer:
    asked = {"X-Owner": "alice", "X-Server": server, **given}
    return real.ask("/internal/gate/ssh", headers=asked, **kwargs)


# --- /internal/gate/ssh ---------------------------------------------------------------------------


def test_the_owners_token_admits_one_key_to_the_session(real: Real) -> None:
    made = real.add_session(tls_name="x.session.portal.internal")
    token_id, token = real.add_token("alice", "ssh")
    answer = gate(real, headers(token, f"{KEY} alice@laptop"))
    assert (answer.status, answer.one("x-target")) == (204, TARGET)
    assert answer.one("x-target-name") == "x.session.portal.internal"
    assert answer.one("cache-control") == "no-store"
    secret = derive_secret(CONTEXT, made.id)
    assert answer.one(HOST_KEY_HEADER.lower()) == render_public_key(secret)
    granted = parse_grant(secret, PATH, answer.one(GRANT_HEADER.lower()), time.time())
    assert granted == SshGrant(token_id, KEY)
    assert token not in str(answer.headers)


def test_every_other_login_or_token_is_refused(real: Real) -> None:
    real.add_session()
    past = utcnow() - timedelta(minutes=1)
    tokens = {
        "another scope": real.add_token("alice", "read", "sessions", "jobs", "files", "admin"),
        "another user": real.add_token("bob", "ssh"),
        "an administrator": real.add_token("carol", "ssh", "admin"),
        "expired": real.add_token("alice", "ssh", expires_at=past),
        "unknown": ("", new_text()),
        "malformed": ("", "dsp_x"),
        "none": ("", ""),
    }
    statuses = {who: gate(real, headers(token)).status for who, (_, token) in tokens.items()}
    refused = dict.fromkeys(("another scope", "another user", "an administrator"), 403)
    assert statuses == {**refused, **dict.fromkeys(statuses.keys() - refused, 401)}
    assert gate(real, {KEY_HEADER: KEY}, user="alice").status == 401
    assert gate(real, headers(new_text()), user="alice").status == 401


def test_a_disabled_user_and_a_user_without_group_are_refused(real: Real) -> None:
    real.add_session()
    _, token = real.add_token("alice", "ssh")
    real.update(User, real.users["alice"].id, disabled_at=utcnow())
    assert gate(real, headers(token)).status == 401


def test_only_a_running_session_is_entered(real: Real) -> None:
    _, token = real.add_token("alice", "ssh")
    real.add_session(name="queued", state=JobState.QUEUED)
    real.add_session(name="ended", state=JobState.ENDED)
    real.add_session(name="stopping", wanted=Wanted.STOP)
    for name, words in (("queued", "waiting"), ("ended", "isn't running"), ("never", "no session")):
        assert gate(real, headers(token), name).status == 403
        answer = real.ask(f"/user/alice/{name}/ssh", headers=headers(token))
        assert answer.status == 424
        assert words in problem(answer)["detail"]
    assert gate(real, headers(token), "stopping").status == 403


def test_a_refusal_has_its_reason(real: Real) -> None:
    real.add_session()
    _, token = real.add_token("alice", "ssh")
    for given, status, slug in (
        (headers(real.add_token("alice", "read")[1]), 403, "insufficient-scope"),
        (headers(real.add_token("bob", "ssh")[1]), 403, "forbidden"),
        (headers(new_text()), 401, "login-required"),
        ({}, 401, "login-required"),
        (headers(token, "no key"), 422, "invalid-input"),
        (headers(token, f'command="x" {KEY}'), 422, "invalid-input"),
    ):
        assert gate(real, given).status in {401, 403}
        answer = real.ask(PATH, headers=given)
        assert (answer.status, problem(answer)["type"]) == (status, f"urn:portal:{slug}"), given
    assert problem(answer)["errors"][0]["field"] == KEY_HEADER


def test_through_a_proxy_there_is_no_gate(real: Real) -> None:
    _, token = real.add_token("alice", "ssh")
    assert gate(real, {**headers(token), "X-Forwarded-For": "1.2.3.4"}).status == 404


def test_the_site_may_disable_it(tmp_path: Path) -> None:
    with real_portal(tmp_path, session_ssh=False) as real:
        made = real.add_session()
        _, token = real.add_token("alice", "ssh")
        assert gate(real, headers(token)).status == 403
        assert "disabled" in problem(real.ask(PATH, headers=headers(token)))["detail"]
        shown = real.ask(f"/api/v1/sessions/{made.id}/ssh", user="alice")
        assert b"SSH is disabled" in shown.body


def test_only_the_owners_own_content_host_leads_to_it(tmp_path: Path) -> None:
    per_user = {
        "notebook_url": "http://{user}.jupyter.test",
        "tensorboard_url": "http://{user}.boards.test",
    }
    with real_portal(tmp_path, **per_user) as real:
        real.add_session()
        _, token = real.add_token("alice", "ssh")
        for host, status in (
            ("alice.jupyter.test", 204),
            ("bob.jupyter.test", 403),
            ("alice.boards.test", 403),
            ("portal.test", 403),
        ):
            assert gate(real, {**headers(token), "X-Content-Host": host}).status == status


# --- what a session's page shows ------------------------------------------------------------------


def test_the_owner_sees_how_to_connect(real: Real) -> None:
    made = real.add_answering_session(b'{"sshd": true, "home": "/home/al ice"}')
    shown = real.ask(f"/api/v1/sessions/{made.id}/ssh", user="alice")
    (seen,) = real.node.seen
    assert (seen.path, seen.all("cookie")) == ("/user/alice/s1/portal/ssh", [])
    found = json.loads(shown.body)
    assert (found["problem"], found["command"]) == (None, "ssh s1.portal.test")
    assert found["editor_link"] == "vscode://vscode-remote/ssh-remote+s1.portal.test/home/al%20ice"
    assert found["host_key"] == render_public_key(derive_secret(CONTEXT, made.id))
    assert "User alice" in found["config"]
    assert real.ask(f"/api/v1/sessions/{made.id}/ssh", user="bob").status == 404


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"sshd": false, "home": "/home/alice"}', b"no sshd"),
        (b'{"sshd": "yes", "home": "javascript:alert(1)"}', b'"editor_link":null'),
        (b'["sshd"]', b"doesn't answer"),
        (b"no json", b"doesn't answer"),
        (b"x" * 20_000, b"doesn't answer"),
    ],
)
def test_a_node_without_ssh_is_reported(real: Real, body: bytes, words: bytes) -> None:
    made = real.add_answering_session(body)
    shown = real.ask(f"/api/v1/sessions/{made.id}/ssh", user="alice")
    assert (shown.status, words in shown.body) == (200, True)


def test_a_program_without_the_sessions_secret_is_not_believed(real: Real) -> None:
    made = real.add_answering_session(b'{"sshd": true, "home": "/home/mallory"}')
    real.node.guard_key = "another secret"
    shown = real.ask(f"/api/v1/sessions/{made.id}/ssh", user="alice")
    assert (shown.status, b"doesn't answer" in shown.body) == (200, True)
    assert b"mallory" not in shown.body


def test_a_session_that_does_not_run_has_no_ssh(real: Real) -> None:
    made = real.add_session(state=JobState.QUEUED)
    assert real.ask(f"/api/v1/sessions/{made.id}/ssh", user="alice").status == 424


def test_the_program_is_downloaded_after_a_login(real: Real) -> None:
    answer = real.ask("/api/v1/ssh/portal_ssh.py", user="alice")
    assert (answer.status, b"ProxyCommand" in answer.body) == (200, True)
    assert answer.one("content-disposition").startswith("attachment")
    assert real.ask("/api/v1/ssh/portal_ssh.py").status == 401


def _json(body: bytes) -> bytes:
    head = f"HTTP/1.1 200 X\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


# --- until when -----------------------------------------------------------------------------------


@pytest.fixture
def open_connection(real: Real) -> tuple[Session, str]:
    """A session whose node program asks about a token; returns it and the token's id."""
    made = real.add_session()
    real.update(Session, made.id, secret_hash=hash_token("secret"))
    return made, real.add_token("alice", "ssh")[0]


def ask_admitted(real: Real, made: Session, token_id: str, wait_s: float) -> int:
    path = f"/node/sessions/{made.id}/ssh/{token_id}?wait_s={wait_s}"
    return real.ask(path, headers={"Authorization": "Bearer secret"}).status


def test_a_connection_lasts_while_its_token_does(
    real: Real, open_connection: tuple[Session, str]
) -> None:
    made, token_id = open_connection
    assert ask_admitted(real, made, token_id, 0) == 204
    for other in (real.add_token("alice", "read")[0], real.add_token("bob", "ssh")[0], "x"):
        assert ask_admitted(real, made, other, 0) == 410


@pytest.mark.parametrize("end", ["revoked", "expired", "scope", "disabled", "stopped", "ended"])
def test_a_connection_is_cut_within_seconds(
    real: Real, open_connection: tuple[Session, str], end: str
) -> None:
    made, token_id = open_connection
    changes: dict[str, tuple[type[Any], str, dict[str, Any]]] = {
        "expired": (AccessToken, token_id, {"expires_at": utcnow()}),
        "scope": (AccessToken, token_id, {"scopes": ["read"]}),
        "disabled": (User, real.users["alice"].id, {"disabled_at": utcnow()}),
        "stopped": (Session, made.id, {"wanted": Wanted.STOP}),
        "ended": (Session, made.id, {"state": JobState.ENDED}),
    }

    async def waits() -> tuple[int, float]:
        waiting = asyncio.create_task(asyncio.to_thread(ask_admitted, real, made, token_id, 20))
        await asyncio.sleep(0.5)
        assert not waiting.done()
        begun = time.monotonic()
        if end == "revoked":
            with real.rows() as db:
                db.delete(db.get(AccessToken, token_id))
        else:
            kind, row_id, values = changes[end]
            real.update(kind, row_id, **values)
        return await waiting, time.monotonic() - begun

    status, took_s = asyncio.run(waits())
    assert status == 410
    assert took_s < 15


# --- behind nginx ---------------------------------------------------------------------------------


@pytest.fixture
def door(real: Real, monkeypatch: pytest.MonkeyPatch) -> Iterator[NginxServer]:
    """nginx, and a session's server that opens websockets and then waits."""
    monkeypatch.setattr(nginx, "SSH_CONNECTIONS", 2)
    with run_nginx(portal_port=real.port) as made:
        real.add_session(target_host="127.0.0.1", target_port=made.node.port)
        made.node_answer = _open_websocket
        yield made


def _open_websocket(_seen: ReceivedRequest, connection: Any) -> bytes:
    lines = (
        "HTTP/1.1 101 X", "Upgrade: websocket", "Connection: upgrade", "Set-Cookie: a=b",
        f"{HOST_KEY_HEADER}: the node's", "X-Accel-Redirect: /_pages/unavailable.html", "", "",
    )  # fmt: skip
    connection.sendall("\r\n".join(lines).encode())
    connection.recv(1)
    return b""


def connect(door: NginxServer, stack: ExitStack, given: dict[str, str]) -> str:
    """Return the head of nginx's answer; the connection stays open in the stack."""
    lines = {"Host": "portal.test", **WEBSOCKET, **given}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    connection = stack.enter_context(door.connect())
    connection.sendall(f"GET {PATH} HTTP/1.1\r\n{head}\r\n".encode())
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(4096)
    return received.partition(b"\r\n\r\n")[0].decode()


def test_nginx_passes_the_grant_and_nothing_of_the_user(real: Real, door: NginxServer) -> None:
    _, token = real.add_token("alice", "ssh")
    sent = {
        **headers(token),
        "Cookie": f"{door.cookie}=token-of-alice; jupyterhub-user-alice=x",
        GRANT_HEADER: "planted",
    }
    with ExitStack() as stack:
        head = connect(door, stack, sent)
    assert head.startswith("HTTP/1.1 101")
    assert f"{HOST_KEY_HEADER}: ssh-ed25519 " in head
    assert "the node's" not in head
    assert "Set-Cookie" not in head
    (seen,) = door.node.seen
    assert seen.one(GRANT_HEADER.lower()).endswith(KEY)
    for name in ("cookie", "authorization", KEY_HEADER.lower()):
        assert seen.all(name) == []
    assert token not in repr(seen)


def test_nginx_sends_nothing_to_the_node_without_a_token(real: Real, door: NginxServer) -> None:
    cases = (
        ({"Cookie": f"{door.cookie}=token-of-alice"}, 401),
        (headers(real.add_token("alice", "read")[1]), 403),
        (headers(real.add_token("bob", "ssh")[1]), 403),
        ({**headers(new_text()), "Cookie": f"{door.cookie}=token-of-alice"}, 401),
    )
    for given, status in cases:
        answer = door.ask(PATH, headers={**WEBSOCKET, **given})
        assert answer.status == status
        assert problem(answer)["detail"]
    assert door.node.seen == []


def test_nginx_a_notebooks_login_is_no_way_around(real: Real, door: NginxServer) -> None:
    """The node program refuses a request without a grant, however its path is written."""
    cookie = {"Cookie": f"{door.cookie}=token-of-alice", GRANT_HEADER: "planted"}
    door.node_answer = lambda *_: _json(b"ok")
    assert door.ask("/user/alice/s1//ssh", headers={**WEBSOCKET, **cookie}).status in {401, 404}
    assert door.ask("/user/alice/s1/%73sh", headers={**WEBSOCKET, **cookie}).status == 401
    assert door.ask("/user/alice/s1/x/../ssh", headers={**WEBSOCKET, **cookie}).status == 401


def test_nginx_limits_the_connections_of_a_user(real: Real, door: NginxServer) -> None:
    tokens = [real.add_token("alice", "ssh")[1] for _ in range(3)]
    with ExitStack() as stack:
        for token in tokens[:2]:
            assert connect(door, stack, headers(token)).startswith("HTTP/1.1 101")
        assert connect(door, stack, headers(tokens[2])).startswith("HTTP/1.1 429")
        # requests that the gate refuses use up nothing
        for _ in range(5):
            assert connect(door, stack, headers(new_text())).startswith("HTTP/1.1 401")

    def again() -> bool:
        with ExitStack() as stack:
            return connect(door, stack, headers(tokens[2])).startswith("HTTP/1.1 101")

    wait_until(again, "closed connections don't count")


def test_nginx_a_revoked_token_is_refused_at_once(real: Real, door: NginxServer) -> None:
    """Unlike the gate's answers about notebooks, no answer about SSH is kept."""
    token_id, token = real.add_token("alice", "ssh")
    with ExitStack() as stack:
        assert connect(door, stack, headers(token)).startswith("HTTP/1.1 101")
        with real.rows() as db:
            db.delete(db.get(AccessToken, token_id))
        assert connect(door, stack, headers(token)).startswith("HTTP/1.1 401")
