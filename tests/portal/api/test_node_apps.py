"""JupyterLab's starts of the apps of its session: with the session's secret, and recorded."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import select

from portal.models import AuditEvent, Session, Wanted
from portal.services.hashes import hash_token
from tests.portal.api.test_session_apps import APP, NOTEBOOKS, answer, real, session
from tests.servers.gate_portal import Real, problem

__all__ = ["real", "session"]
pytest_plugins = ["tests.portal.gate_fixtures"]
SECRET = "the-secret"


def send(real: Real, session: Session, method: str, body: Any = None, secret: str = SECRET) -> Any:
    real.update(Session, session.id, secret_hash=hash_token(SECRET))
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    content = b"" if body is None else json.dumps(body).encode()
    path = f"/node/sessions/{session.id}/apps/demo"
    return real.ask(path, method=method, headers=headers, body=content)


def test_it_starts_the_sessions_apps(real: Real, session: Session) -> None:
    started = send(real, session, "PUT", {"file": "/home/alice/demo.py"})
    assert (started.status, json.loads(started.body)["url"]) == (
        200,
        f"{NOTEBOOKS}/user/alice/s1/app/demo/",
    )
    seen = [(each.method, each.path) for each in real.node.seen]
    assert seen == [("PUT", "/user/alice/s1/portal/apps/demo")]
    with real.rows() as db:
        events = db.scalars(select(AuditEvent).order_by(AuditEvent.id)).all()
    assert [(event.actor, event.action, event.detail) for event in events] == [
        ("alice", "app.start", {"app": APP["name"], "by": "jupyterlab"}),
    ]


def test_a_refusal_of_the_server_is_passed_on(real: Real, session: Session) -> None:
    real.node.answer = lambda *_: answer({"detail": "No such file.", "field": "file"}, 422)
    shown = problem(send(real, session, "PUT", {"file": "x"}))
    assert (shown["status"], shown["errors"][0]["field"]) == (422, "file")


def test_it_needs_the_secret_of_a_session_that_continues(real: Real, session: Session) -> None:
    assert send(real, session, "PUT", {}, secret="guess").status == 401
    real.update(Session, session.id, wanted=Wanted.STOP)
    assert send(real, session, "PUT", {}).status == 410
    assert real.node.seen == []
