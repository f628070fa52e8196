"""The portal's side of access control: the gate, and the page shown instead of a session."""

import html
import json
import re
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy.dialects import sqlite

from portal.db import utcnow
from portal.models import JobState, Session, User, Wanted, WebSession
from portal.services.hashes import hash_token
from portal.services.sessions.gate import GATE_QUERY
from portal.services.slurm.launch import derive_secret
from spawner.slurm.model import Outcome
from tests.polling import wait_until
from tests.servers.gate_portal import TARGET, Real, problem
from tests.servers.nginx import HOME, PAGE, run_nginx

pytest_plugins = ["tests.portal.gate_fixtures"]


# --- /internal/gate -------------------------------------------------------------------------------


def test_the_owner_is_sent_to_the_sessions_own_target(real: Real) -> None:
    real.add_session()
    answer = real.gate("alice", user="alice")
    assert (answer.status, answer.one("x-target")) == (204, TARGET)
    assert answer.one("cache-control") == "max-age=3, stale-if-error=600"
    assert answer.all("x-accel-expires") == []


def test_while_slurm_is_away_a_server_must_prove_that_the_port_is_its_own(real: Real) -> None:
    """Else a killed session's port, which another user's program has taken, would be entered."""
    made = real.add_session(
        target_host="127.0.0.1", target_port=real.node.port, stale_since=utcnow()
    )
    settings = SimpleNamespace(internal_secret="i" * 32)
    context: Any = SimpleNamespace(settings=settings)
    real.node.guard_key = derive_secret(context, made.id)
    assert real.gate("alice", user="alice").one("x-target") == real.node.address
    assert [seen.path for seen in real.node.seen] == ["/user/alice/s1/portal/proof"]
    assert real.node.seen[0].all("cookie") == []

    real.node.guard_key = "another program's"
    answer = real.gate("alice", user="alice")
    assert answer.one("x-target") == f"127.0.0.1:{real.port}"
    assert answer.one("x-accel-expires") == "0"
    shown = real.ask(HOME, user="alice", headers=dict(PAGE))
    assert (shown.status, b"doesn&#x27;t answer" in shown.body) == (424, True)

    real.node.stop()
    assert real.gate("alice", user="alice").one("x-target") == f"127.0.0.1:{real.port}"
    real.update(Session, made.id, tls_name="x.session.portal.internal")
    assert real.gate("alice", user="alice").one("x-target") == real.node.address
    real.update(Session, made.id, tls_name=None, stale_since=None)
    assert real.gate("alice", user="alice").one("x-target") == real.node.address


def test_everybody_else_is_refused(real: Real) -> None:
    real.add_session()
    for who, status in (("bob", 403), ("carol", 403), ("unknown", 401), (None, 401)):
        answer = real.gate("alice", user=who)
        assert (answer.status, answer.all("x-target")) == (status, [])
        assert answer.one("cache-control") == "max-age=3"


def test_what_is_not_running_is_the_portals_and_not_kept(real: Real) -> None:
    real.add_session(name="old", state=JobState.ENDED)
    real.add_session(name="queued", state=JobState.QUEUED)
    for name in ("old", "queued", "never"):
        answer = real.gate("alice", name, user="alice")
        assert (answer.status, answer.one("x-target")) == (204, f"127.0.0.1:{real.port}")
        assert answer.one("x-accel-expires") == "0"


def test_the_newest_session_of_a_name_counts(real: Real) -> None:
    before = utcnow() - timedelta(hours=1)
    real.add_session(state=JobState.ENDED, created_at=before, target_host="10.77.0.13")
    real.add_session()
    assert real.gate("alice", user="alice").one("x-target") == TARGET


def test_another_users_session_of_the_same_name_is_not_ones_own(real: Real) -> None:
    real.add_session(owner="bob", target_host="10.77.0.12")
    assert real.gate("alice", user="alice").one("x-target") == f"127.0.0.1:{real.port}"


def test_a_nodes_name_becomes_an_address(real: Real) -> None:
    real.add_session(target_host="localhost")
    assert real.gate("alice", user="alice").one("x-target") in {"127.0.0.1:40123", "[::1]:40123"}
    real.add_session(name="s2", target_host="no-such-node.invalid")
    assert real.gate("alice", "s2", user="alice").status == 503


def test_logins_that_are_over_open_nothing(real: Real) -> None:
    real.add_session()
    past = utcnow() - timedelta(minutes=1)
    with real.rows() as db:
        real.add_login(db, "alice", "expired", expires_at=past)
        real.add_login(db, "alice", "idle", last_seen_at=utcnow() - timedelta(hours=9))
    name = real.settings.cookie_name
    for token in ("expired", "idle", "", "x" * 5000, "token-of-alice2"):
        cookie = {"Cookie": f"{name}={token}"}
        # two implementations of one check: the gate's single query, and web_sessions.resume for the
        # page
        assert real.gate("alice", headers=cookie).status == 401
        assert real.ask(HOME, headers=cookie).status == 401
    real.update(User, real.users["alice"].id, disabled_at=utcnow())
    assert real.gate("alice", user="alice").status == 401
    assert real.ask(HOME, user="alice").status == 401


def test_work_in_a_session_keeps_the_login_alive(real: Real) -> None:
    real.add_session()
    before = utcnow() - timedelta(hours=7)
    with real.rows() as db:
        real.add_login(db, "alice", "token-of-worker", last_seen_at=before)
    assert real.gate("alice", user="worker").status == 204
    with real.rows() as db:
        login = db.query(WebSession).filter_by(token_hash=hash_token("token-of-worker")).one()
    assert login.last_seen_at > before


def test_the_gate_asks_by_indexes_alone(real: Real) -> None:
    """The gate is called for every notebook in use, every few seconds."""
    sql = str(GATE_QUERY.compile(dialect=sqlite.dialect()))
    unbound = dict.fromkeys(range(sql.count("?")))
    with real.rows() as db:
        explain = db.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", tuple(unbound))
        plan = [row[3] for row in explain]
    assert len(plan) == 4
    assert [step for step in plan if not step.startswith("SEARCH ")] == []


def test_a_bearer_opens_nothing(real: Real) -> None:
    real.add_session()
    assert real.gate("alice", headers={"Authorization": "Bearer token-of-alice"}).status == 401


def test_through_a_proxy_there_is_no_gate(real: Real) -> None:
    real.add_session()
    assert real.gate("alice", user="alice", headers={"X-Forwarded-For": "1.2.3.4"}).status == 404


# --- the page shown instead of a session ----------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "back"),
    [
        (HOME, "/user/alice/s1/"),
        (f"{HOME}lab/tree/a%20b?x=1&y=/z", "/user/alice/s1/lab/tree/a%2520b%3Fx%3D1%26y%3D/z"),
        (f"{HOME}//evil.test", "/user/alice/s1///evil.test"),
    ],
)
def test_anonymous_visitor_is_redirected_to_login(real: Real, path: str, back: str) -> None:
    answer = real.ask(path, headers=dict(PAGE))
    assert (answer.status, answer.one("location")) == (302, f"/login?next={back}")
    assert problem(real.ask(path))["type"] == "urn:portal:login-required"


def test_other_user_sees_that_the_session_is_not_theirs(real: Real) -> None:
    real.add_session(reason="bob must not read this")
    for who in ("bob", "carol"):
        answer = real.ask(HOME, user=who, headers=dict(PAGE))
        assert answer.status == 403
        assert b"belongs to another user" in answer.body
        assert b"must not read" not in answer.body
        assert problem(real.ask(HOME, user=who))["type"] == "urn:portal:forbidden"


def test_the_owner_learns_why_it_is_not_running(real: Real) -> None:
    evil = '<img src=x onerror="alert(1)">'
    ended = {"state": JobState.ENDED, "outcome": Outcome.TIMEOUT, "reason": evil}
    real.add_session(**ended, suggestion="Ask for more time.")
    answer = real.ask(f"{HOME}lab", user="alice", headers=dict(PAGE))
    assert answer.status == 424
    text = answer.body.decode()
    assert evil not in text
    for words in (
        html.escape("isn't running"),
        "reached its time limit",
        html.escape(evil),
        "Ask for more time",
    ):
        assert words in text
    assert re.search('<a href="/start-again/[a-z0-9-]+">', text)
    assert "refresh" not in text
    assert answer.one("content-security-policy").startswith("default-src 'none'")
    assert answer.one("cache-control") == "no-store"


@pytest.mark.parametrize("state", [JobState.SUBMITTING, JobState.QUEUED, JobState.STARTING])
def test_a_session_on_its_way_opens_by_itself(real: Real, state: JobState) -> None:
    real.add_session(state=state, ready_at=None, reason="Other jobs come first.")
    answer = real.ask(HOME, user="alice", headers=dict(PAGE))
    assert answer.status == 424
    assert b'http-equiv="refresh"' in answer.body
    assert b"Other jobs come first." in answer.body


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "api/contents", {"Accept": "application/json"}),
        ("GET", "api/kernels/1/channels", {"Upgrade": "websocket", "Connection": "Upgrade"}),
        ("GET", "lab", {"Sec-Fetch-Mode": "cors", "Accept": "text/html"}),
        ("POST", "api/kernels", {"Origin": "http://portal.test"}),
        ("PUT", "api/contents/x", {"Origin": "http://portal.test"}),
        ("PATCH", "api/contents/x", {"Origin": "http://portal.test"}),
        ("DELETE", "api/contents/x", {"Origin": "http://portal.test"}),
    ],
)
def test_programs_get_424(real: Real, method: str, path: str, headers: dict[str, str]) -> None:
    body = b"{}" if method in {"POST", "PUT", "PATCH"} else b""
    answer = real.ask(f"{HOME}{path}", user="alice", method=method, headers=headers, body=body)
    assert answer.status == 424
    assert problem(answer)["type"] == "urn:portal:not-running"


def test_a_session_that_has_just_become_ready(real: Real) -> None:
    real.add_session()
    answer = real.ask(HOME, user="alice", headers=dict(PAGE))
    assert (answer.status, b'content="1"' in answer.body) == (503, True)
    assert real.ask(f"{HOME}api", user="alice").one("retry-after") == "1"


@pytest.mark.parametrize("who", ["alice", "carol"])
def test_a_page_of_ones_own_server_lacks_the_password(real: Real, who: str) -> None:
    """The page is on the portal's origin and has its owner's cookie: sensitive operations
    require the password."""
    long_ago = utcnow() - timedelta(minutes=11)
    with real.rows() as db:
        real.add_login(db, who, "token-of-stale", password_at=long_ago)
    page = {
        "Origin": "http://portal.test",
        "Sec-Fetch-Site": "same-origin",
        "Referer": f"http://portal.test/user/{who}/s1/lab",
        "Content-Type": "application/json",
    }
    body = json.dumps({"current_password": "x", "new_password": "Planted-1-by-a-page"}).encode()
    acts = [("POST", "/api/v1/me/password", body)]
    if who == "carol":
        acts.append(("DELETE", f"/api/v1/admin/sessions/{real.add_session().id}", b""))
    for method, path, sent in acts:
        answer = real.ask(path, user="stale", method=method, headers=dict(page), body=sent)
        assert answer.status == 403, path
        assert problem(answer)["type"] == "urn:portal:password-required"


# --- all of it: nginx in front of the portal ------------------------------------------------------


def test_behind_nginx(real: Real) -> None:
    with run_nginx(portal_port=real.port) as door:
        session = real.add_session(target_host="127.0.0.1", target_port=door.node.port)
        assert door.ask(HOME, user="alice").body == b"ok"
        for who, status in (("bob", 403), ("carol", 403), (None, 401)):
            assert door.ask(HOME, user=who).status == status
        answer = door.ask(f"{HOME}lab?a=b&c", headers=dict(PAGE))
        assert answer.one("location") == "/login?next=/user/alice/s1/lab%3Fa%3Db%26c"
        assert b"another user" in door.ask(HOME, user="carol", headers=dict(PAGE)).body
        socket_ = {"Upgrade": "websocket", "Connection": "Upgrade"}
        assert door.ask(HOME, user="bob", headers=socket_).status == 403
        assert {"".join(seen.all("cookie")) for seen in door.node.seen} == {""}
        assert len(door.node.seen) == 1

        real.update(Session, session.id, wanted=Wanted.STOP, state=JobState.STOPPING)
        wait_until(lambda: door.ask(HOME, user="alice").status == 424, "the gate looks again")
        assert b"being stopped" in door.ask(HOME, user="alice", headers=dict(PAGE)).body
        real.update(User, real.users["alice"].id, disabled_at=utcnow())
        assert door.ask(HOME, user="alice").status == 401


def test_a_disabled_user_is_out_within_the_caches_seconds(real: Real) -> None:
    with run_nginx(portal_port=real.port) as door:
        real.add_session(target_host="127.0.0.1", target_port=door.node.port)
        assert door.ask(HOME, user="alice").body == b"ok"
        real.update(User, real.users["alice"].id, disabled_at=utcnow())
        wait_until(lambda: door.ask(HOME, user="alice").status == 401, "alice is out")


def test_internal_routes_are_unreachable_from_outside(real: Real) -> None:
    with run_nginx(portal_port=real.port) as door:
        for path in ("/internal/whoami", "/%69nternal/whoami", "//internal/whoami"):
            assert door.ask(path, user="alice").status == 404
            assert door.ask(path, user="alice", cluster=True).status == 404
