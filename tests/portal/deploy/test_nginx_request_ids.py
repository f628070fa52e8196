"""nginx assigns an id to each request, which all responses and logs contain."""

import json
import re

import pytest

from tests.polling import wait_until
from tests.servers.nginx import HOME, NginxServer, ReceivedRequest

pytest_plugins = ["tests.portal.gate_fixtures"]
FORGED = {"X-Request-Id": "f" * 32}


def named(seen: ReceivedRequest) -> str:
    name = seen.one("x-request-id")
    assert re.fullmatch("[0-9a-f]{32}", name)
    assert name != FORGED["X-Request-Id"]
    return name


@pytest.mark.parametrize(
    "path", ["/api/v1/me", "/api/v1/login", "/api/v1/events", "/tensorboard/1/", "/metrics"]
)
def test_the_portal_hears_nginx_name_and_no_other(nginx: NginxServer, path: str) -> None:
    nginx.ask(path, headers=FORGED)
    nginx.ask(path, headers=FORGED)
    first, second = nginx.portal.seen
    assert named(first) != named(second)


def test_the_hub_hears_it_and_the_browser_gets_it(nginx: NginxServer) -> None:
    answer = nginx.ask("/hub/login", headers=FORGED)
    (seen,) = nginx.hub.seen
    assert answer.all("x-request-id") == [named(seen)]


def test_nodes_calls_are_named_here_too(nginx: NginxServer) -> None:
    nginx.ask("/node/sessions/1/hello", method="POST", headers=FORGED, cluster=True)
    nginx.ask("/hub/api/users/alice", headers=FORGED, cluster=True)
    assert named(nginx.portal.seen[0]) != named(nginx.hub.seen[0])


def test_a_node_hears_none_though_the_gate_does(nginx: NginxServer) -> None:
    nginx.ask(HOME, user="alice", headers=FORGED)
    assert nginx.node.seen[-1].all("x-request-id") == []


def test_the_gate_and_the_portal_in_a_sessions_place_hear_the_same(nginx: NginxServer) -> None:
    nginx.ask("/user/alice/gone/", user="alice", headers=FORGED)
    gate, page = nginx.portal.seen
    assert gate.path == "/internal/gate"
    assert named(gate) == named(page)


def test_the_page_that_the_portal_is_away_has_it(own_nginx: NginxServer) -> None:
    own_nginx.portal.stop()
    answer = own_nginx.ask("/api/v1/me", headers=FORGED)
    assert answer.status == 503
    assert re.fullmatch("[0-9a-f]{32}", answer.one("x-request-id"))


def test_a_line_of_the_log_is_json_with_the_name(own_nginx: NginxServer) -> None:
    own_nginx.ask('/api/v1/me?code=one-time"', headers=FORGED)
    own_nginx.ask('/hub/"quoted%22\\path')
    log = own_nginx.inputs.folder / "logs" / "access.log"
    wait_until(lambda: log.read_text().count("\n") == 2, "both requests in the log")
    # each nginx process flushes its lines at its own time
    found = [json.loads(line) for line in log.read_text().splitlines()]
    lines = {line["path"]: line for line in found}
    assert lines.keys() == {"/api/v1/me", '/hub/"quoted%22\\path'}
    line = lines["/api/v1/me"]
    assert line["request"] == named(own_nginx.portal.seen[0])
    assert (line["method"], line["status"]) == ("GET", "200")
    assert line["upstream"] == own_nginx.portal.address
    assert "one-time" not in log.read_text()
