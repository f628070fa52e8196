"""The real nginx with the rendered configuration: access control, and path handling."""

import socket

import pytest

from tests.servers.gate_portal import problem
from tests.servers.nginx import (
    HOME,
    PAGE,
    WAIT_S,
    Answer,
    NginxServer,
    read_answer,
    reply,
    run_nginx,
)

pytest_plugins = ["tests.portal.gate_fixtures"]


# --- access ---------------------------------------------------------------------------------------


def test_the_owner_gets_through(nginx: NginxServer) -> None:
    answer = nginx.ask("/user/alice/s1/lab?a=b%20c", user="alice")
    assert (answer.status, answer.body) == (200, b"ok")
    assert [seen.path for seen in nginx.node.seen] == ["/user/alice/s1/lab?a=b%20c"]


@pytest.mark.parametrize("who", ["bob", "carol", "unknown-user", None])
def test_other_users_cannot_reach_the_node(nginx: NginxServer, who: str | None) -> None:
    for headers in (PAGE, {"Accept": "application/json"}, {"Upgrade": "websocket"}):
        answer = nginx.ask("/user/alice/s1/api/contents", user=who, headers=dict(headers))
        # The portal explains the refusal; here it is a recorder that answers 200 to everything.
        assert answer.body == b"portal /user/alice/s1/api/contents"
    assert nginx.node.seen == []


def test_refusals_reach_the_portal_without_upgrade_or_other_cookies(nginx: NginxServer) -> None:
    cookies = f"a=b; {nginx.cookie}=token-of-bob; c=d"
    headers = {"Cookie": cookies, "Upgrade": "websocket", "Connection": "Upgrade"}
    nginx.ask(f"{HOME}api/contents", method="POST", headers=headers, body=b"secret")
    seen = nginx.portal.seen[-1]
    assert (seen.method, seen.path) == ("POST", "/user/alice/s1/api/contents")
    assert seen.one("cookie") == f"{nginx.cookie}=token-of-bob"
    assert seen.all("upgrade") == []


def test_gate_receives_only_cookie_owner_and_server(nginx: NginxServer) -> None:
    forged = {"X-Owner": "bob", "X-Server": "s9", "X-Target": "127.0.0.1:1", "Authorization": "x"}
    nginx.ask("/user/alice/fresh/", headers={**forged, "Cookie": f"z=1; {nginx.cookie}=t0"})
    (seen,) = nginx.gate_requests()
    ours = {"host", "connection", "x-request-id"}
    forwarded = {name: value for name, value in seen.headers if name not in ours}
    assert forwarded == {"cookie": f"{nginx.cookie}=t0", "x-owner": "alice", "x-server": "fresh"}


def test_a_session_that_is_not_running_is_answered_by_the_portal(nginx: NginxServer) -> None:
    headers = {
        "Cookie": f"x=y; {nginx.cookie}=token-of-alice",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
    }
    answer = nginx.ask("/user/alice/gone/api/kernels", headers=headers)
    assert answer.body == b"portal /user/alice/gone/api/kernels"
    seen = nginx.portal.seen[-1]
    assert seen.one("cookie") == f"{nginx.cookie}=token-of-alice"
    assert seen.all("upgrade") == []
    nginx.targets[("alice", "gone")] = nginx.node.address
    try:
        assert nginx.ask("/user/alice/gone/", user="alice").body == b"ok"  # at once: not cached
    finally:
        del nginx.targets[("alice", "gone")]


# --- path tricks ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/user/bob/s1/..%2f..%2falice/s1/",
        "/user/bob/s1/../../alice/s1/",
        "/user/bob/s1/%2e%2e/%2e%2e/alice/s1/",
        "/user/bob/s1/%2E%2E/..%2Falice/s1/lab",
        "/user//alice/s1/",
        "//user/alice/s1/",
        "/user/alice//s1/",
        "/user/alice%2fs1/",
        "/user/alice%2Fs1%2Flab",
        "/user/%61lice/s1/",
        "/%75ser/alice/s1/",
        "/user/alice/%73%31/",
        "/user/./alice/s1/",
        "/user/alice/./s1/",
        "/user/alice/x/../s1/",
        "/x/../user/alice/s1/",
        "/user/Alice/s1/",
        "/user/alice/S1/",
        "/user/alice/s1%00/",
        "/user/alice/s1;x/",
        "/user/alice/s--1/",
        "/user/alice/-s1/",
        "/user/alice/1s/",
        "/user/alice/s1-/",
        "/user/alice/s1.x/",
        "/user/-alice/s1/",
        "/user/.alice/s1/",
        "/user/" + "a" * 33 + "/s1/",
        "/user/alice/" + "s" * 31 + "/",
        "/user/alice@portal/s1/",
        "/user/alice/",
        "/user/",
        "/hub/../user/alice/s1/",
        "/tensorboard/..%2fuser/alice/s1/",
    ],
)
def test_no_trick_with_a_path_reaches_a_node(nginx: NginxServer, path: str) -> None:
    for who in ("alice", "bob"):
        answer = nginx.ask(path, user=who)
        assert answer.status == (400 if "%00" in path else 404), (who, answer.body)
    assert nginx.node.seen == []
    assert nginx.hub.seen == []
    assert [seen.path for seen in nginx.portal.seen if seen.path != "/internal/gate"] == []


def test_uppercase_is_another_path_and_the_portals(nginx: NginxServer) -> None:
    assert nginx.ask("/USER/alice/s1/", user="alice").body == b"portal /USER/alice/s1/"
    assert nginx.node.seen == []


@pytest.mark.parametrize("tail", ["a/../b", "x%2Fy", "a//b", "%2e%2e", "%25", "ä".encode().hex()])
def test_below_its_session_a_path_passes_as_written(nginx: NginxServer, tail: str) -> None:
    assert nginx.ask(f"{HOME}files/{tail}", user="alice").status == 200
    assert nginx.node.seen[-1].path == f"{HOME}files/{tail}"


def test_a_whole_url_in_the_request_line_is_the_same_request(nginx: NginxServer) -> None:
    assert nginx.ask("http://elsewhere.test/user/alice/s1/x", user="bob").body.startswith(
        b"portal "
    )
    assert nginx.node.seen == []


def test_a_missing_slash_is_added_on_this_host(nginx: NginxServer) -> None:
    answer = nginx.ask("/user/alice/s1?x=y", user="alice")
    assert (answer.status, answer.one("location")) == (308, "/user/alice/s1/?x=y")


@pytest.mark.parametrize(
    "path",
    [
        "/internal/gate",
        "/internal",
        "//internal/gate",
        "/%69nternal/gate",
        "/Internal/gate",
        "/internal%2fgate",
        "/internal/servers/alice/s1",
        "/node/sessions/1/hello",
        "/node",
        "//node/sessions/1/server",
        "/n%6fde/sessions/1/server",
        "/_gate",
        "/_pages/unavailable.html",
    ],
)
def test_internal_paths_are_refused_in_front(nginx: NginxServer, path: str) -> None:
    for method in ("GET", "POST"):
        assert nginx.ask(path, user="alice", method=method).status == 404
    assert nginx.portal.seen == []
    assert nginx.hub.seen == []


@pytest.mark.parametrize("path", ["/internal/../x", "/internal/servers/..%2f..", "/node/%2e%2e/x"])
def test_the_portal_gets_the_path_that_nginx_decided_by(nginx: NginxServer, path: str) -> None:
    nginx.ask(path)
    assert [
        seen.path for seen in nginx.portal.seen if seen.path.startswith(("/int", "/node"))
    ] == []


# --- escapes from a TensorBoard's policy ----------------------------------------------------------

TENSORBOARD = "/tensorboard/5f1c/"


def assert_confined(answer: Answer) -> None:
    """Check that the response is nginx's own, with a policy that also confines pages that frame
    it."""
    (policy,) = answer.all("content-security-policy")
    assert "default-src 'none'" in policy
    assert "frame-ancestors" in policy
    assert answer.all("x-content-type-options") == ["nosniff"]


@pytest.mark.parametrize("prefix", [TENSORBOARD, "/%74ensorboard/5f1c/", "/hub/x/", "/x/y/"])
@pytest.mark.parametrize(
    "tail",
    [
        "..%2f..%2fapi/v1/me",
        "..%2F..%2Fapi/v1/me",
        "%2e%2e%2f%2e%2e%2fapi/v1/me",
        "%2E%2E%2F%2e%2e/api/v1/me",
        ".%2e%2f.%2e%2fapi/v1/me",
        "%2e./%2e./api/v1/me",
        "x%2f..%2f..%2f..%2fapi/v1/me",
        "..%2f..%2finternal/gate",
        "..%2f..%2fnode/sessions/1/server",
        "..%2f..%2fhub/api/user",
        "..%2f..%2fassets/x.js",
        "..%2f..%2fapi/v1/login",
        "..%2f..%2fapi/v1/events",
        "..%2f..%2fapi/v1/files/uploads/1",
        "..%2fother/",
        "..%2f",
        "..",
        "%2e%2e",
        "%2e/x",
        "../x",
        "./x",
        "..%2f?..",
        "..#/x",
    ],
)
def test_a_dot_segment_that_the_browser_does_not_see_is_refused(
    nginx: NginxServer, prefix: str, tail: str
) -> None:
    """A policy's prefix is compared with the URL as the browser parses it."""
    for method in ("GET", "PATCH"):
        answer = nginx.ask(f"{prefix}{tail}", user="bob", method=method)
        assert answer.status == 400
        assert problem(answer)["type"] == "urn:portal:invalid-input"
        assert_confined(answer)
    assert nginx.portal.seen == nginx.hub.seen == nginx.node.seen == []


@pytest.mark.parametrize(
    "line",
    [
        b"OPTIONS /tensorboard/x/..%2f..%2fapi/v1/me HTTP/1.1",
        b"GET /tensorboard/x/..%2f..%2fapi/v1/me HTTP/1.0",
        b"GET http://x/tensorboard/x/..%2f..%2fapi/v1/me HTTP/1.1",
        b"GET //tensorboard/x/..%2f..%2fapi/v1/me HTTP/1.1",
        b"GET /tensorboard/x/..%2f..%2fapi/v1/me HTTP/1.1\r\nUpgrade: websocket",
        b"GET /api/v1/events/..%2fme HTTP/1.1",
        b"GET /api/v1/jobs%2f..%2fme HTTP/1.1",
    ],
    ids=lambda line: line.decode()[:60],
)
def test_so_it_is_however_the_request_is_written(nginx: NginxServer, line: bytes) -> None:
    with nginx.connect() as connection:
        connection.sendall(line + b"\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = read_answer(connection)
    assert answer.status == 400
    assert_confined(answer)
    assert nginx.portal.seen == []


@pytest.mark.parametrize("tail", ["a%2fb", "a%2Fb", "%2f", "%2fapi/v1/me", "data%2fx?a=b"])
def test_an_encoded_slash_is_refused_below_a_tensorboard(nginx: NginxServer, tail: str) -> None:
    for prefix in (TENSORBOARD, "/%74ensorboard/5f1c/", "/tensorboard%2f5f1c/"):
        answer = nginx.ask(f"{prefix}{tail}", user="bob")
        assert answer.status == 400
        assert_confined(answer)
    assert nginx.portal.seen == []


@pytest.mark.parametrize(
    "path",
    [
        f"{TENSORBOARD}data/plugin/x?run=a%2f..%2Fb&tag=../c",
        f"{TENSORBOARD}..x/x../...%2e/x.",
        "/api/v1/jobs/1/shares/groups/a%2Fb",
        "/files?path=../x",
    ],
)
def test_an_honest_path_passes(nginx: NginxServer, path: str) -> None:
    assert nginx.ask(path, user="bob").status == 200
    assert len(nginx.portal.seen) == 1


def test_outside_the_sessions_a_dot_segment_does_not_lead_into_them(nginx: NginxServer) -> None:
    """/user/ is exempt only for paths that are still below it once resolved."""
    climb = f"{HOME}..%2f..%2f..%2f"
    for path in (f"{climb}api/v1/me", f"{climb}hub/x", f"{climb}internal/gate"):
        assert nginx.ask(path, user="alice").status == 400
    assert nginx.portal.seen == nginx.hub.seen == nginx.node.seen == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Service-Worker": "script"},
        {"Service-Worker": "0"},
        {"Sec-Fetch-Dest": "serviceworker"},
        {"Sec-Fetch-Dest": "ServiceWorker"},
        {"Service-Worker": "script", "Sec-Fetch-Dest": "serviceworker"},
    ],
)
def test_no_service_worker_is_installed(nginx: NginxServer, headers: dict[str, str]) -> None:
    notebooks = (f"{HOME}files/sw.js", f"{HOME}app/own/sw.js")
    for path in (f"{TENSORBOARD}sw.js", *notebooks, "/hub/sw.js", "/sw.js"):
        answer = nginx.ask(path, user="alice", headers=headers)
        assert answer.status == 404
        assert_confined(answer)
    assert nginx.portal.seen == nginx.hub.seen == nginx.node.seen == []


def test_other_workers_pass(nginx: NginxServer) -> None:
    for destination in ("worker", "sharedworker", "script", "empty"):
        headers = {"Sec-Fetch-Dest": destination}
        assert nginx.ask(f"{TENSORBOARD}worker.js", user="bob", headers=headers).status == 200
        assert nginx.ask(f"{HOME}worker.js", user="alice", headers=headers).body == b"ok"


@pytest.mark.parametrize("below", [TENSORBOARD, HOME, "/hub/", "/assets/", "/"])
@pytest.mark.parametrize(
    ("status", "first", "headers"),
    [
        (400, "GET {below}%00 HTTP/1.1", ""),
        (400, "GET {below} HTTP/1.1", "Content-Length: x\r\n"),
        (405, "TRACE {below} HTTP/1.1", ""),
        (413, "POST {below} HTTP/1.1", f"Content-Length: {9 << 20}\r\n"),
        (414, "GET {below}?" + "a" * 20_000 + " HTTP/1.1", ""),
        (431, "GET {below} HTTP/1.1", f"Cookie: c={'x' * 20_000}\r\n"),
        (431, "GET {below} HTTP/1.1", f"Cookie: c={'x' * 15_000}\r\n" * 5),
        (501, "POST {below} HTTP/1.1", "Transfer-Encoding: gzip\r\n"),
        (505, "GET {below} HTTP/3.1", ""),
    ],
)
def test_an_answer_of_nginxs_own_is_confined(
    nginx: NginxServer, below: str, status: int, first: str, headers: str
) -> None:
    if (status, below) == (413, HOME):
        below = "/user/alice/"  # a session itself accepts bodies of any size
    head = f"{first.replace('{below}', below)}\r\nHost: portal.test\r\nConnection: close\r\n"
    with nginx.connect() as connection:
        connection.sendall(f"{head}{headers}\r\n".encode())
        answer = read_answer(connection)
    assert answer.status == status
    assert_confined(answer)


@pytest.mark.parametrize(
    "path", ["/internal/gate", "/node/x", "/user/", "/user/Alice/s1/", "/user/alice/s1", "/_gate"]
)
def test_a_bare_return_is_confined(nginx: NginxServer, path: str) -> None:
    answer = nginx.ask(path)
    assert answer.status == (308 if path == "/user/alice/s1" else 404)
    assert_confined(answer)


def test_plain_http_at_the_tls_port_is_confined() -> None:
    with run_nginx(tls=True) as made:
        at = ("127.0.0.1", made.inputs.public.port)
        with socket.create_connection(at, WAIT_S) as connection:
            connection.sendall(f"GET {TENSORBOARD} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            answer = read_answer(connection)
    assert answer.status == 400
    assert_confined(answer)


def test_an_upstreams_answer_keeps_its_own_policy(nginx: NginxServer) -> None:
    """The portal's policy would forbid the page everything."""
    policy = "default-src 'self'"
    nginx.node_answer = lambda *_: reply(404, f"Content-Security-Policy: {policy}\r\n")
    answer = nginx.ask(HOME, user="alice")
    assert (answer.status, answer.all("content-security-policy")) == (404, [policy])
    assert nginx.ask(TENSORBOARD, user="alice").all("content-security-policy") == []
    assert nginx.ask("/hub/x", user="alice").all("content-security-policy") == []


def test_a_portal_that_is_away_is_answered_for_confined(own_nginx: NginxServer) -> None:
    own_nginx.portal.stop()
    own_nginx.hub.stop()
    for path in (TENSORBOARD, "/api/v1/events", "/api/v1/me", "/hub/x", HOME):
        for headers in (PAGE, {}):
            answer = own_nginx.ask(path, user="alice", headers=dict(headers))
            assert answer.status == 503
            assert_confined(answer)
