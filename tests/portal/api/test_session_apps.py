"""Routes of apps: only the owner's requests reach the session's server, and nothing it says is
believed.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select

from portal.models import AuditEvent, JobState, Session
from portal.services import rate_limit
from portal.services.slurm.launch import derive_secret
from spawner import signing
from tests.servers.gate_portal import Real, problem, real_portal

pytest_plugins = ["tests.portal.gate_fixtures"]

CONTEXT: Any = SimpleNamespace(settings=SimpleNamespace(internal_secret="i" * 32))
APP = {
    "name": "demo", "title": "Demo", "description": "", "input": None, "extensions": [],
    "state": "running", "problem": None, "log": ["listening"],
}  # fmt: skip
NOTEBOOKS = "http://jupyter.test"


def answer(body: Any, status: int = 200) -> bytes:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n"
    return head.encode() + text


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Real]:
    content = {"notebook_url": NOTEBOOKS, "tensorboard_url": "http://boards.test"}
    with real_portal(tmp_path, **content) as made:
        yield made


@pytest.fixture
def session(real: Real) -> Session:
    """alice's session; its server answers that the app `demo` runs."""
    made = real.add_session(
        target_host="127.0.0.1", target_port=real.node.port, base_url="/user/alice/s1/"
    )
    real.node.guard_key = derive_secret(CONTEXT, made.id)
    real.node.answer = lambda seen, _: answer({"apps": [APP]} if seen.method == "GET" else APP)
    return made


def send(real: Real, session: Session, method: str = "GET", action: str = "", **kwargs: Any) -> Any:
    """Send a request to the apps' routes; by default as alice's own page does."""
    body = kwargs.pop("body", None)
    headers = {"Sec-Fetch-Site": "same-origin", **kwargs.pop("headers", {})}
    if body is not None:
        headers["Content-Type"] = "application/json"
        kwargs["body"] = json.dumps(body).encode()
    path = f"/api/v1/sessions/{session.id}/apps{action}"
    return real.ask(path, method=method, headers=headers, **{"user": "alice", **kwargs})


CHANGES: list[tuple[str, str, Any]] = [
    ("PUT", "/demo", {}),
    ("DELETE", "/demo", None),
    ("POST", "/demo/restart", None),
]


def test_the_owner_sees_the_apps_and_their_addresses(real: Real, session: Session) -> None:
    shown = send(real, session)
    assert shown.status == 200
    (app,) = json.loads(shown.body)["items"]
    assert (app["state"], app["log"]) == ("running", ["listening"])
    assert app["url"] == f"{NOTEBOOKS}/user/alice/s1/app/demo/"
    (seen,) = real.node.seen
    assert (seen.path, seen.all("cookie")) == ("/user/alice/s1/portal/apps", [])


@pytest.mark.parametrize(("method", "action", "body"), CHANGES)
def test_the_server_gets_a_signed_request(
    real: Real, session: Session, method: str, action: str, body: Any
) -> None:
    shown = send(real, session, method, action, body=body)
    assert (shown.status, json.loads(shown.body)["name"]) == (200, "demo")
    (seen,) = real.node.seen
    assert (seen.method, seen.path) == (method, "/user/alice/s1/portal/apps/demo")
    sent = (
        b"" if body is None else b'{"file": null, "command": null, "port": null, "replace": false}'
    )
    assert seen.body == sent
    key, signature = derive_secret(CONTEXT, session.id), seen.one("x-portal-signature")
    now = float(signature.partition(".")[0])
    assert signing.is_signed(key, method, signing.with_body(seen.path, sent), signature, now)
    assert not signing.is_signed(key, method, signing.with_body(seen.path, b"x"), signature, now)


def test_each_change_is_recorded_without_the_command(real: Real, session: Session) -> None:
    command = {"command": "serve --password secret", "port": 8080}
    changes: list[tuple[str, str, Any]] = [("PUT", "/demo", command), *CHANGES[1:]]
    for method, action, body in changes:
        assert send(real, session, method, action, body=body).status == 200
    real.node.answer = lambda *_: answer({"detail": "No"}, 409)
    assert send(real, session, "DELETE", "/demo").status == 409
    with real.rows() as db:
        events = db.scalars(select(AuditEvent).order_by(AuditEvent.id)).all()
    assert [event.action for event in events] == ["app.start", "app.stop", "app.restart"]
    assert {(event.actor, event.target) for event in events} == {("alice", "alice/s1")}
    assert [event.detail for event in events] == [{"app": "demo", "by": "portal"}] * 3


@pytest.mark.parametrize(("method", "action", "body"), CHANGES)
def test_a_request_that_changes_nothing_is_not_recorded(
    real: Real, session: Session, method: str, action: str, body: Any
) -> None:
    for changed in (False, True, None):
        real.node.answer = lambda *_, changed=changed: answer({**APP, "changed": changed})
        assert send(real, session, method, action, body=body).status == 200
    with real.rows() as db:
        assert len(db.scalars(select(AuditEvent)).all()) == 2


@pytest.mark.parametrize("lost", [b"", answer(b"no json")], ids=["closed", "malformed"])
@pytest.mark.parametrize(("method", "action", "body"), CHANGES)
def test_a_change_whose_answer_is_lost_is_recorded_and_counted(
    few_changes: None,
    real: Real,
    session: Session,
    method: str,
    action: str,
    body: Any,
    lost: bytes,
) -> None:
    real.node.answer = lambda *_: lost
    statuses = [send(real, session, method, action, body=body).status for _ in range(3)]
    assert statuses == [503, 503, 429]
    with real.rows() as db:
        events = db.scalars(select(AuditEvent)).all()
    expected = {"app": "demo", "by": "portal", "outcome": "unknown"}
    assert [event.detail for event in events] == [expected] * 2


def test_a_change_that_did_not_reach_the_server_is_not_recorded(real: Real) -> None:
    away = real.add_session(target_host="127.0.0.1", target_port=1)
    assert send(real, away, "PUT", "/demo", body={}).status == 503
    with real.rows() as db:
        assert db.scalars(select(AuditEvent)).all() == []


@pytest.fixture
def few_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "APP_CHANGES", 2)


def test_the_number_of_recorded_changes_is_limited(
    few_changes: None, real: Real, session: Session
) -> None:
    """What changes nothing doesn't count, and an app can be stopped after many starts."""
    changed = True

    def change(method: str = "PUT", status: int = 200) -> Any:
        real.node.answer = lambda *_: answer({**APP, "changed": changed}, status)
        return send(real, session, method, "/demo", body={} if method == "PUT" else None)

    assert change().status == 200
    changed = False
    assert [change().status for _ in range(3)] == [200] * 3
    assert [change(status=409).status for _ in range(3)] == [409] * 3
    changed = True
    assert change().status == 200
    before = len(real.node.seen)
    refused = change()
    assert (problem(refused)["status"], 0 < int(refused.one("retry-after")) <= 600) == (429, True)
    assert len(real.node.seen) == before
    assert change("DELETE").status == 200
    with real.rows() as db:
        assert len(db.scalars(select(AuditEvent)).all()) == 3


@pytest.mark.parametrize(("method", "action", "body"), [("GET", "", None), *CHANGES])
@pytest.mark.parametrize("user", ["bob", "carol", None])
def test_other_users_reach_nothing(
    real: Real, session: Session, method: str, action: str, body: Any, user: str | None
) -> None:
    """carol is an administrator."""
    shown = send(real, session, method, action, body=body, user=user)
    assert shown.status == (404 if user else 401)
    assert real.node.seen == []


@pytest.mark.parametrize(("method", "action", "body"), [("GET", "", None), *CHANGES])
def test_an_apps_page_can_not_call_the_api(
    real: Real, session: Session, method: str, action: str, body: Any
) -> None:
    """Neither with the portal's cookie, if its origin is of the same site, nor with its own."""
    for headers in (
        {"Sec-Fetch-Site": "same-site", "Origin": NOTEBOOKS},
        {"Sec-Fetch-Site": "cross-site", "Origin": NOTEBOOKS},
    ):
        assert send(real, session, method, action, body=body, headers=headers).status == 403
    cookie = {"Cookie": "portal-content=token-of-alice"}
    assert send(real, session, method, action, body=body, headers=cookie, user=None).status == 401
    assert real.node.seen == []


def test_a_token_needs_the_scope(real: Real, session: Session) -> None:
    for scopes, listed, changed in ((["read"], 200, 403), (["sessions"], 403, 200)):
        _, token = real.add_token("alice", *scopes)
        headers = {"Authorization": f"Bearer {token}"}
        assert send(real, session, headers=headers, user=None).status == listed
        stop = send(real, session, "DELETE", "/demo", headers=headers, user=None)
        assert stop.status == changed


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"port": 80}, "port"),
        ({"port": "8080"}, "port"),
        ({"command": "x" * 5000}, "command"),
        ({"file": ""}, "file"),
        ({"path": "x"}, "path"),
        ({"replace": "yes"}, "replace"),
    ],
)
def test_an_invalid_input_names_its_field(
    real: Real, session: Session, body: Any, field: str
) -> None:
    shown = send(real, session, "PUT", "/demo", body=body)
    assert shown.status == 422
    assert [error["field"] for error in problem(shown)["errors"]] == [field]
    assert real.node.seen == []


def test_a_name_that_is_no_apps_is_refused(real: Real, session: Session) -> None:
    for name in ("..", "De", "a" * 30, "a%2Fb", "a%00"):
        assert send(real, session, "PUT", f"/{name}", body={}).status in {400, 404, 405, 422}, name
    assert real.node.seen == []


@pytest.mark.parametrize(
    ("status", "refusal", "expected", "field"),
    [
        (422, {"detail": "There is no such file.", "field": "file"}, 422, "file"),
        (422, {"detail": "Other", "field": "__proto__"}, 422, None),
        (409, {"detail": "It runs already."}, 409, None),
        (404, {"detail": "This session offers no such app."}, 404, None),
        (500, {"detail": ["x"]}, 409, None),
    ],
)
def test_a_refusal_of_the_server_is_shown(
    real: Real, session: Session, status: int, refusal: Any, expected: int, field: str | None
) -> None:
    real.node.answer = lambda *_: answer(refusal, status)
    shown = problem(send(real, session, "PUT", "/demo", body={}))
    assert shown["status"] == expected
    assert [error["field"] for error in shown.get("errors", [])] == ([field] if field else [])


@pytest.mark.parametrize(
    "body",
    [
        b"no json", ["x"], {"apps": [{"name": "demo"}]}, {"apps": [{**APP, "name": "../x"}]},
        {"apps": [{**APP, "state": "odd"}]}, {"apps": [{**APP, "log": ["x" * 600]}]},
        {"apps": [{**APP, "log": ["x"] * 100}]}, b"x" * 600_000, b"[" * 100_000,
    ],
)  # fmt: skip
def test_a_malformed_answer_is_not_believed(real: Real, session: Session, body: Any) -> None:
    real.node.answer = lambda *_: answer(body)
    shown = send(real, session)
    assert (shown.status, b"doesn't answer about apps" in shown.body) == (503, True)


HIDDEN = "\u202e\u2066\u200b\x1b\x7f"


def test_texts_of_the_server_have_no_invisible_characters(real: Real, session: Session) -> None:
    texts = {
        name: f"{HIDDEN}{name}{HIDDEN}"
        for name in ("title", "description", "problem", "file", "command")
    }
    app = {**APP, **texts, "state": "failed", "log": [f"last{HIDDEN} line"]}
    real.node.answer = lambda *_: answer({"apps": [app]})
    (shown,) = json.loads(send(real, session).body)["items"]
    assert {name: shown[name] for name in texts} == {name: name for name in texts}
    assert shown["log"] == ["last line"]
    real.node.answer = lambda *_: answer({"detail": f"No{HIDDEN}.", "field": "file"}, 422)
    refused = problem(send(real, session, "PUT", "/demo", body={}))
    assert refused["errors"] == [{"field": "file", "message": "No."}]
    assert not set(HIDDEN) & set(json.dumps(refused, ensure_ascii=False))


def test_the_lines_of_a_command_stay(real: Real, session: Session) -> None:
    app = {**APP, "command": "cat <<-END\n\tx\n\tEND"}
    real.node.answer = lambda *_: answer({"apps": [app]})
    assert json.loads(send(real, session).body)["items"][0]["command"] == app["command"]


def test_an_address_in_the_answer_is_ignored(real: Real, session: Session) -> None:
    for state, expected in (("running", f"{NOTEBOOKS}/user/alice/s1/app/demo/"), ("stopped", None)):
        app = {**APP, "state": state, "url": "https://evil.test/"}
        real.node.answer = lambda *_, app=app: answer({"apps": [app]})
        assert json.loads(send(real, session).body)["items"][0]["url"] == expected


def test_a_program_without_the_sessions_secret_is_not_believed(
    real: Real, session: Session
) -> None:
    real.node.guard_key = "another secret"
    shown = send(real, session)
    assert (shown.status, b"listening" in shown.body) == (503, False)


def test_a_session_that_does_not_run_has_no_apps(real: Real) -> None:
    made = real.add_session(state=JobState.QUEUED)
    assert send(real, made).status == 424
    assert send(real, made, "PUT", "/demo", body={}).status == 424
