"""Every operation of the API in openapi.json, tested with generated requests and boundary values.

They are sent by an administrator, by a user, and without a login. The requests are the same in each
run. Slurm, the hub and the launchers are unavailable here: operations that need them return 503
with the matching problem, and any other status from 500 on is a failure.
"""

import socket
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
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
from tests.portal.conftest import settings_in
from tests.portal.gate_portal import serving
from tests.portal.slapd import PASSWORD, Slapd

EXAMPLES = 4
# Streams have no end; the others would end or lock the logins used here.
NOT_ASKED = {
    "GET /api/v1/events",
    "GET /api/v1/jobs/{batch_job_id}/log/follow",
    "GET /api/v1/sessions/{session_id}/log/follow",
    "POST /api/v1/login",
    "POST /api/v1/login/password",
    "POST /api/v1/login/second-factor",
    "POST /api/v1/logout",
    "POST /api/v1/reauth",
    "POST /api/v1/me/password",
}
AWAY = {
    "slurm-unreachable",
    "launcher-unavailable",
    "hub-unavailable",
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
SEEDS = st.sampled_from([*TEXTS, *NUMBERS, True, None, [], {}])


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
        session = requests.Session()
        session.headers["Origin"] = self.settings.public_url
        if username is not None:
            body = {"username": username, "password": PASSWORD}
            answer = session.post(f"{self.url}/api/v1/login", json=body, timeout=60)
            assert answer.status_code == 200, answer.text
            again = {"password": PASSWORD}
            answer = session.post(f"{self.url}/api/v1/reauth", json=again, timeout=60)
            assert answer.ok, answer.text
        return session


@pytest.fixture(scope="module")
def server(slapd: Slapd, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    here = settings_in(tmp_path_factory.mktemp("schema"), slapd, listen_port=port)
    with serving(create_app(here), here):
        made = Server(f"http://127.0.0.1:{port}", here, {"username": "bob", "name": "python3"})
        fill(made)
        yield made


def fill(server: Server) -> None:
    """Create an object of each kind that a user can create without Slurm."""
    carol = server.login("carol")
    for name, path, body in (
        ("announcement_id", "admin/announcements", {"title": "x"}),
        ("setup_id", "setups", {"name": "x", "environment": "python3"}),
        ("token_id", "tokens", {"name": "x", "scopes": ["read"], "expires_in_days": 9}),
    ):
        answer = carol.post(f"{server.url}/api/v1/{path}", json=body, timeout=60)
        assert answer.status_code == 201, answer.text
        server.ids[name] = answer.json()["id"]


def operations() -> list[Any]:
    found = [result.ok() for result in SCHEMA.get_all_operations()]
    return [one for one in found if one.label not in NOT_ASKED and "/api/" in one.label]


@st.composite
def odd_cases(draw: st.DrawFn, operation: Any, ids: dict[str, str]) -> Case:
    """Generate a valid or an invalid request, mostly with a boundary value in one of its fields."""
    modes = [GenerationMode.POSITIVE, GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
    case: Case = draw(operation.as_strategy(generation_mode=draw(st.sampled_from(modes))))
    known = ids.keys() & (case.path_parameters or {}).keys()
    if draw(st.booleans()):
        case.path_parameters |= {name: ids[name] for name in known}
    names = [parameter.name for parameter in operation.query]
    if names and draw(st.booleans()):
        case.query = {**(case.query or {}), draw(st.sampled_from(names)): draw(SEEDS)}
    if isinstance(case.body, dict) and case.body and draw(st.booleans()):
        name = draw(st.sampled_from(sorted(case.body)))
        case.body = {**case.body, name: draw(SEEDS)}
    return case


def problem_with(case: Case, response: Any, *, login: bool) -> str | None:
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

        @settings(
            max_examples=EXAMPLES,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=odd_cases(operation, server.ids))
        def ask(case: Case) -> None:
            response = case.call(server.url, session=session, timeout=60)
            found = problem_with(case, response, login=who is not None)
            if found is not None:
                wrong.append(found)

        ask()
    assert wrong == []
    if who is not None:
        assert session.get(f"{server.url}/api/v1/me", timeout=60).status_code == 200
