"""Every operation of the API in openapi.json, tested with generated requests and boundary values.

They are sent by an administrator, by a user, and without a login. The requests are the same in each
run. Slurm, the hub and the launchers are unavailable here: operations that need them return 503
with the matching problem, and any other status from 500 on is a failure.
"""

import base64
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.core.failures import FailureGroup
from schemathesis.generation.case import Case
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
)

from portal.app import bare_app, create_app
from portal.config.settings import Settings
from portal.services.auth import totp
from tests.portal.conftest import settings_in
from tests.servers.gate_portal import serving
from tests.servers.slapd import PASSWORD, Slapd

EXAMPLES = 4
# Responses without an end; tests of their own open them (test_events.py).
STREAMS = {
    "GET /api/v1/events",
    "GET /api/v1/jobs/{batch_job_id}/log/follow",
    "GET /api/v1/sessions/{session_id}/log/follow",
}
# Operations that end, lock or use up the login of the request: each request has a login of its own.
# The value is who has logged in, with as many steps as the directory and the portal require.
LOGINS = {
    "POST /api/v1/login": None,
    "POST /api/v1/login/password": "erin",  # the password must be changed
    "POST /api/v1/login/second-factor": "bob",  # has a second factor
    "POST /api/v1/logout": "alice",
    "POST /api/v1/reauth": "alice",
    "POST /api/v1/me/password": "alice",
}
LOGIN_EXAMPLES = 12
AWAY = {
    "slurm-unreachable",
    "launcher-unavailable",
    "unavailable",
    "files-away",
    "directory-unfinished",
}
TEXTS = [
    "",
    "\0",
    "\x18",
    "\u202eabc",
    "\ud7ff\uffff",
    "x" * 5000,
    "../../etc/passwd",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59.999999-14:00",
    "9999-12-31",
    "2026-01-31T08:00:00",
    "0.5",
    "1e999",
    "-1",
    str(2**63),
]
NUMBERS = [0, -1, 2**31, 2**63, 2**64, -(2**63) - 1, 1e308, 0.5]
SEEDS: st.SearchStrategy[Any] = st.sampled_from([*TEXTS, *NUMBERS, True, None, [], {}])


def open_schema() -> tuple[Any, set[str]]:
    """Return the schema without its security, and the operations that need a login.

    The requests must use the login of the test.
    """
    described = deepcopy(bare_app().openapi())
    del described["components"]["securitySchemes"]
    secured = {
        f"{method.upper()} {path}"
        for path, operations in described["paths"].items()
        for method, operation in operations.items()
        if operation.pop("security")
    }
    return schemathesis.openapi.from_dict(described), secured


SCHEMA, SECURED = open_schema()


@dataclass(frozen=True)
class Server:
    """`ids` are existing objects, by the name of the path parameter."""

    url: str
    settings: Settings
    ids: dict[str, str] = field(default_factory=dict)

    def login(self, username: str | None) -> requests.Session:
        session = self.begin_login(username)
        if username is not None:
            self.post(session, "reauth", {"password": PASSWORD})
        return session

    def begin_login(self, username: str | None) -> requests.Session:
        """Send the password, after which some users' logins still need a step."""
        session = requests.Session()
        session.headers["Origin"] = self.settings.public_url
        if username is not None:
            self.post(session, "login", {"username": username, "password": PASSWORD})
        return session

    def post(self, session: requests.Session, path: str, body: Any = None) -> Any:
        answer = session.post(f"{self.url}/api/v1/{path}", json=body, timeout=60)
        assert answer.ok, answer.text
        return answer.json() if answer.content else None


@contextmanager
def running(slapd: Slapd, folder: Path, **changes: Any) -> Iterator[Server]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    here = settings_in(folder, slapd, listen_port=port, **changes)
    with serving(create_app(here), here):
        yield Server(f"http://127.0.0.1:{port}", here, {"username": "bob", "name": "python3"})


@pytest.fixture(scope="module")
def server(slapd: Slapd, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(slapd, tmp_path_factory.mktemp("schema")) as made:
        fill(made)
        yield made


@pytest.fixture
def login_server(slapd: Slapd, tmp_path: Path) -> Iterator[Server]:
    """A portal that counts no attempts, in which bob has a second factor."""
    limits = ("login_attempts", "login_attempts_known_browser", "login_attempts_per_address")
    with running(slapd, tmp_path, **dict.fromkeys(limits, 10_000)) as made:
        bob = made.login("bob")
        secret = base64.b32decode(made.post(bob, "second-factor/enrolment")["secret"])
        code = totp.compute_code(secret, totp.step_at(time.time()))
        made.post(bob, "second-factor/confirm", {"code": code})
        yield made


def fill(server: Server) -> None:
    """Create an object of each kind that a user can create without Slurm."""
    carol = server.login("carol")
    for name, path, body in (
        ("announcement_id", "admin/announcements", {"title": "x"}),
        ("setup_id", "setups", {"name": "x", "environment": "python3"}),
        ("token_id", "tokens", {"name": "x", "scopes": ["read"], "expires_in_days": 9}),
    ):
        server.ids[name] = server.post(carol, path, body)["id"]


def operations() -> list[Any]:
    found = [result.ok() for result in SCHEMA.get_all_operations()]
    return [one for one in found if one.label not in STREAMS and "/api/" in one.label]


@st.composite
def odd_cases(draw: st.DrawFn, operation: Any, ids: dict[str, str]) -> Case[Any]:
    """Generate a valid or an invalid request, mostly with a boundary value in one of its fields."""
    modes = [GenerationMode.POSITIVE, GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
    case: Case[Any] = draw(operation.as_strategy(generation_mode=draw(st.sampled_from(modes))))
    known = ids.keys() & (case.path_parameters or {}).keys()
    if draw(st.booleans()):
        case.path_parameters |= {name: ids[name] for name in known}
    names = [parameter.name for parameter in operation.query]
    if bool(names) and draw(st.booleans()):
        case.query = {**(case.query or {}), draw(st.sampled_from(names)): draw(SEEDS)}
    if isinstance(case.body, dict) and case.body and draw(st.booleans()):
        name = draw(st.sampled_from(sorted(case.body)))
        case.body = {**case.body, name: draw(SEEDS)}
    if isinstance(case.body, dict) and "username" in case.body and draw(st.booleans()):
        case.body = {**case.body, "username": "alice"}
    return case


def bounded(examples: int) -> settings:
    return settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


def problem_with(case: Case[Any], response: Any, *, login: bool) -> str | None:
    """Return the fault of a response, or None."""
    status = response.status_code
    asked = f"{case.method} {case.formatted_path} {case.query!r:.300} {case.body!r:.300}: {status}"
    is_problem = "application/problem+json" in response.headers.get("content-type", [""])[0]
    if status >= 500:
        slug = response.json()["type"].removeprefix("urn:portal:") if is_problem else ""
        return None if status == 503 and slug in AWAY else f"{asked} {response.text[:300]}"
    if status >= 400 and not is_problem:
        return f"{asked} is no problem document"
    if not login and case.operation.label in SECURED and status < 400:
        return f"{asked} without a login"
    try:
        case.validate_response(
            response, checks=[content_type_conformance, response_schema_conformance]
        )
    except FailureGroup as failures:
        return f"{asked} {[str(one)[:300] for one in failures.exceptions]}"
    return None


@pytest.mark.parametrize("who", ["carol", "alice", None])
def test_every_operation_bears_every_request(server: Server, who: str | None) -> None:
    wrong: list[str] = []
    session = server.login(who)
    for operation in operations():
        if operation.label in LOGINS:
            continue

        @bounded(EXAMPLES)
        @given(case=odd_cases(operation, server.ids))
        def ask(case: Case[Any]) -> None:
            response = case.call(server.url, session=session, timeout=60)
            found = problem_with(case, response, login=who is not None)
            if found is not None:
                wrong.append(found)

        ask()
    assert wrong == []
    if who is not None:
        assert session.get(f"{server.url}/api/v1/me", timeout=60).status_code == 200


@pytest.mark.parametrize("label", LOGINS)
def test_every_step_of_a_login_bears_every_request(login_server: Server, label: str) -> None:
    """Each request has a new login; its passwords are wrong, so that the users keep theirs."""
    (operation,) = (one for one in operations() if one.label == label)
    wrong: list[str] = []
    statuses: set[int] = set()

    @bounded(LOGIN_EXAMPLES)
    @given(case=odd_cases(operation, {}))
    def ask(case: Case[Any]) -> None:
        session = login_server.begin_login(LOGINS[label])
        response = case.call(login_server.url, session=session, timeout=60)
        statuses.add(response.status_code)
        found = problem_with(case, response, login=True)
        if found is not None:
            wrong.append(found)

    ask()
    assert wrong == []
    assert 429 not in statuses, "the attempts were not made"
