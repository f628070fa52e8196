"""The real nginx with the rendered configuration: who gets through, and by which paths."""

import pytest

from tests.portal.gate_world import HOME, PAGE, World

pytest_plugins = ["tests.portal.gate_fixtures"]


# --- who enters -----------------------------------------------------------------------------------


def test_the_owner_gets_through(door: World) -> None:
    answer = door.ask("/user/alice/s1/lab?a=b%20c", user="alice")
    assert (answer.status, answer.body) == (200, b"ok")
    assert [seen.path for seen in door.node.seen] == ["/user/alice/s1/lab?a=b%20c"]


@pytest.mark.parametrize("who", ["bob", "carol", "nobody-known", None])
def test_nobody_else_reaches_the_node(door: World, who: str | None) -> None:
    for headers in (PAGE, {"Accept": "application/json"}, {"Upgrade": "websocket"}):
        answer = door.ask("/user/alice/s1/api/contents", user=who, headers=dict(headers))
        # The portal explains; here it is a recorder that answers 200 to everything.
        assert answer.body == b"portal /user/alice/s1/api/contents"
    assert door.node.seen == []


def test_refusals_reach_the_portal_without_upgrade_or_other_cookies(door: World) -> None:
    cookies = f"a=b; {door.cookie}=token-of-bob; c=d"
    headers = {"Cookie": cookies, "Upgrade": "websocket", "Connection": "Upgrade"}
    door.ask(f"{HOME}api/contents", method="POST", headers=headers, body=b"secret")
    seen = door.portal.seen[-1]
    assert (seen.method, seen.path) == ("POST", "/user/alice/s1/api/contents")
    assert seen.one("cookie") == f"{door.cookie}=token-of-bob"
    assert seen.all("upgrade") == []


def test_the_gate_is_told_nothing_but_cookie_owner_and_server(door: World) -> None:
    forged = {"X-Owner": "bob", "X-Server": "s9", "X-Target": "127.0.0.1:1", "Authorization": "x"}
    door.ask("/user/alice/fresh/", headers={**forged, "Cookie": f"z=1; {door.cookie}=t0"})
    (seen,) = door.gate_requests()
    ours = {"host", "connection", "x-request-id"}
    told = {name: value for name, value in seen.headers if name not in ours}
    assert told == {"cookie": f"{door.cookie}=t0", "x-owner": "alice", "x-server": "fresh"}


def test_a_session_that_is_not_running_is_answered_by_the_portal(door: World) -> None:
    headers = {
        "Cookie": f"x=y; {door.cookie}=token-of-alice",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
    }
    answer = door.ask("/user/alice/gone/api/kernels", headers=headers)
    assert answer.body == b"portal /user/alice/gone/api/kernels"
    seen = door.portal.seen[-1]
    assert seen.one("cookie") == f"{door.cookie}=token-of-alice"
    assert seen.all("upgrade") == []
    door.targets[("alice", "gone")] = door.node.address
    try:
        assert door.ask("/user/alice/gone/", user="alice").body == b"ok"  # at once: not cached
    finally:
        del door.targets[("alice", "gone")]


# --- tricks with paths ----------------------------------------------------------------------------


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
def test_no_trick_with_a_path_reaches_a_node(door: World, path: str) -> None:
    for who in ("alice", "bob"):
        answer = door.ask(path, user=who)
        assert answer.status in {400, 404}, (who, answer.body)
    assert door.node.seen == []
    assert door.hub.seen == []
    assert [seen.path for seen in door.portal.seen if seen.path != "/internal/gate"] == []


def test_uppercase_is_another_path_and_the_portals(door: World) -> None:
    assert door.ask("/USER/alice/s1/", user="alice").body == b"portal /USER/alice/s1/"
    assert door.node.seen == []


@pytest.mark.parametrize("tail", ["a/../b", "x%2Fy", "a//b", "%2e%2e", "%25", "ä".encode().hex()])
def test_below_its_session_a_path_passes_as_written(door: World, tail: str) -> None:
    assert door.ask(f"{HOME}files/{tail}", user="alice").status == 200
    assert door.node.seen[-1].path == f"{HOME}files/{tail}"


def test_a_whole_url_in_the_request_line_is_the_same_request(door: World) -> None:
    assert door.ask("http://elsewhere.test/user/alice/s1/x", user="bob").body.startswith(b"portal ")
    assert door.node.seen == []


def test_a_missing_slash_is_added_on_this_host(door: World) -> None:
    answer = door.ask("/user/alice/s1?x=y", user="alice")
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
        "/x/../internal/gate",
        "/x/..%2finternal/gate",
        "/./internal/whoami",
        "/internal/servers/alice/s1",
        "/node/sessions/1/hello",
        "/node",
        "//node/sessions/1/server",
        "/n%6fde/sessions/1/server",
        "/hub/../node/sessions/1/server",
        "/_gate",
        "/_pages/away.html",
        "/user/alice/s1/../../../internal/gate",
    ],
)
def test_internal_paths_are_refused_in_front(door: World, path: str) -> None:
    for method in ("GET", "POST"):
        assert door.ask(path, user="alice", method=method).status == 404
    assert door.portal.seen == []
    assert door.hub.seen == []


@pytest.mark.parametrize("path", ["/internal/../x", "/internal/servers/..%2f..", "/node/%2e%2e/x"])
def test_the_portal_gets_the_path_that_nginx_decided_by(door: World, path: str) -> None:
    door.ask(path)
    assert [seen.path for seen in door.portal.seen if seen.path.startswith(("/int", "/node"))] == []
