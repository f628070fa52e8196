"""Headers that nginx forwards to a node and back: never the portal's cookie, nothing for its
origin."""

import pytest

from deploy.nginx import MAX_REMOVED
from tests.servers.nginx import HOME, PAGE, NginxServer, read_answer, reply, run_nginx

pytest_plugins = ["tests.portal.gate_fixtures"]


# --- headers to a node ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cookies", "passed"),
    [
        ("{c}", ""),
        ("a=1; {c}; b=2", "a=1; b=2"),
        ("{c}; a=1", "a=1"),
        ("a=1; {c}", "a=1"),
        ("a=1;{c};b=2", "a=1;b=2"),
        ("{c};a=1", "a=1"),
        ("  {c}  ;  a=1", "a=1"),
        ("a=1;   {c}   ;b=2", "a=1;b=2"),
        ("{n} = token-of-alice; a=1", "a=1"),
        ("{n}\t=\ttoken-of-alice; a=1", "a=1"),
        ("a=1;\t{c}", "a=1"),
        ("{c}; {c}", ""),
        ("{c}; a=1; {c}", "a=1"),
        ("{n}=planted; a=1; {c}; b=2", "a=1; b=2"),
        ("a=1; {n} = x; {c}", "a=1"),
        ("{n}=1; {n}=2; a=1; {c}", "a=1"),
        ("{c}; a=1; {n}=; b=2", "a=1; b=2"),
        ("{c}; a=1; {n}; b=2", "a=1; b=2"),
        ("{c}; a=1,{n}=token-of-alice", ""),
        ('a="x; {n}=token-of-alice"; {c}', 'a="x'),
        ("{c}; ;; a==1; =; b", "a==1; =; b"),
        ("{c}; x{n}=1; {n}-x=2; my.{n}=3", "x{n}=1; {n}-x=2; my.{n}=3"),
        ("{c}; a={n}", ""),
        ("a=1; {c}; jupyter=%22x%22; _xsrf=2|a|b|1", "a=1; jupyter=%22x%22; _xsrf=2|a|b|1"),
    ],
)
def test_our_cookie_never_reaches_a_node(nginx: NginxServer, cookies: str, passed: str) -> None:
    name = nginx.cookie
    sent = cookies.replace("{c}", f"{name}=token-of-alice").replace("{n}", name)
    assert nginx.ask(HOME, headers={"Cookie": sent}).body == b"ok"
    (seen,) = nginx.node.seen
    assert "; ".join(seen.all("cookie")) == passed.replace("{n}", name)
    assert "token-of-alice" not in repr(seen)


def test_the_device_cookie_never_reaches_a_node() -> None:
    with run_nginx(device_cookie="portal_device") as made:
        ours = f"portal_device=d; {made.cookie}=token-of-alice"
        made.ask(HOME, headers={"Cookie": f"{ours}; a=1"})
        (seen,) = made.node.seen
        assert seen.all("cookie") == ["a=1"]


@pytest.mark.parametrize(
    "cookies",
    [
        "a=1; portal_session=x; b=2",
        "portal_session=x; portal_content=y; a=1; portal_tensorboard=z; b=2; portal_entry=q",
        "; ".join(["a=1", *["portal_tensorboard=x"] * 14, "b=2"]),
        "portal_session = x ;a=1;portal_entry; b=2",
        "a=1;b=2;;portal_session=x;",
    ],
)
def test_node_cookie_all_of_ours_are_removed_and_the_others_kept(cookies: str) -> None:
    with run_nginx(content_url="http://jupyter.test") as made:
        sent = {"Host": "jupyter.test", "Cookie": f"{cookies}; portal_content=token-of-alice"}
        made.ask(HOME, headers=sent)
        (kept,) = made.node.seen[-1].all("cookie")
    assert [part.strip() for part in kept.split(";")] == ["a=1", "b=2"]


def test_node_cookie_more_of_ours_than_are_removed_leaves_none() -> None:
    with run_nginx(content_url="http://jupyter.test") as made:
        planted = "; ".join(["a=1", *["portal_session=x"] * MAX_REMOVED])
        sent = {"Host": "jupyter.test", "Cookie": f"{planted}; portal_content=token-of-alice"}
        made.ask(HOME, headers=sent)
        assert made.node.seen[-1].all("cookie") == []


def test_the_hub_gets_its_own_cookies_and_the_logins(nginx: NginxServer) -> None:
    hubs = "jupyterhub-session-id=1; _xsrf=2|a|b; jupyterhub-hub-login=3"
    login = f"{nginx.cookie}=token-of-alice"
    sent = f"a=1; {hubs}; portal_device=d; jupyterhub-user-bob=4; {login}; b=x_xsrf=5"
    nginx.ask("/hub/home", headers={"Cookie": sent})
    cookies = nginx.hub.seen[-1].one("cookie").split("; ")
    assert sorted(cookies) == sorted([*hubs.split("; "), login])


def test_https_is_all_that_browsers_may_use() -> None:
    for tls in (True, False):
        with run_nginx(tls=tls) as made:
            sent_back = ["max-age=31536000"] if tls else []
            for path in ("/", "/hub/x", "/api/v1/x", "/internal/gate", HOME):
                headers = made.ask(path).all("strict-transport-security")
                assert headers == sent_back, path


def test_of_several_the_last_counts_as_in_the_portal(nginx: NginxServer) -> None:
    for last in ("{n}=planted", "{n} = token-of-bob", "{n}=token-of-carol; a=1"):
        cookies = f"{{n}}=token-of-alice; {last}".replace("{n}", nginx.cookie)
        assert nginx.ask(HOME, headers={"Cookie": cookies}).body.startswith(b"portal ")
    assert nginx.node.seen == []


def test_several_cookie_headers_are_one(nginx: NginxServer) -> None:
    head = f"GET {HOME} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    lines = ["Cookie: a=1", f"Cookie: {nginx.cookie}=token-of-alice", "Cookie: b=2"]
    with nginx.connect() as connection:
        connection.sendall((head + "\r\n".join(lines) + "\r\n\r\n").encode())
        assert read_answer(connection).body == b"ok"
    assert nginx.node.seen[0].all("cookie") == ["a=1; b=2"]


@pytest.mark.parametrize("filler", [" ", "; ", ";", "=", "{n}", "{n}=x; ", "a=1; ", "\t ; "])
def test_long_cookies_can_not_carry_ours_along(nginx: NginxServer, filler: str) -> None:
    """A page can set cookies up to a header's limit, which must not exceed the patterns' limits."""
    filler = filler.replace("{n}", nginx.cookie)
    bulk = filler * (15_000 // len(filler))
    for sent in (f"z{bulk}z; {{c}}", f"{{c}}; z{bulk}", f"z{bulk}; {{c}}; z{bulk[:900]}"):
        cookies = sent.replace("{c}", f"{nginx.cookie}=token-of-alice")[:16_000]
        nginx.ask(HOME, headers={"Cookie": cookies})
    assert "token-of-alice" not in repr(nginx.node.seen)


def test_forwarding_headers_of_clients_are_ignored(nginx: NginxServer) -> None:
    sent_back = {
        "X-Forwarded-For": "6.6.6.6",
        "X-Forwarded-Proto": "gopher",
        "X-Forwarded-Host": "evil.test",
        "X-Real-IP": "6.6.6.6",
        "Forwarded": "for=6.6.6.6",
        "X_Forwarded_For": "6.6.6.6",
    }
    for path, upstream in ((HOME, nginx.node), ("/api/v1/me", nginx.portal), ("/hub/x", nginx.hub)):
        nginx.ask(path, user="alice", headers=sent_back)
        seen = upstream.seen[-1]
        assert seen.one("x-forwarded-for") == "127.0.0.1"
        assert seen.one("x-real-ip") == "127.0.0.1"
        assert seen.one("x-forwarded-proto") == nginx.inputs.scheme
        assert seen.one("host") == "portal.test"
        assert "6.6.6.6" not in repr(seen)
        assert "evil.test" not in repr(seen)


# --- headers from a node --------------------------------------------------------------------------


def test_cookies_of_a_node_stay_below_its_path(nginx: NginxServer) -> None:
    sent_back = "".join(
        f"{line}\r\n"
        for line in (
            "Set-Cookie: plain=1",
            "Set-Cookie: root=1; Path=/; HttpOnly",
            "Set-Cookie: twice=1; path=/user/alice/s1/; Path=/",
            f"Set-Cookie: {nginx.cookie}=stolen; Path=/; Secure",
            "Set-Cookie: wide=1; Domain=portal.test; Path=/user/alice/s1/",
            "Service-Worker-Allowed: /",
            "Refresh: 0; url=/api/v1/logout",
            'Clear-Site-Data: "*"',
            "Strict-Transport-Security: max-age=99999999; includeSubDomains",
            'Alt-Svc: h3="evil.test:443"',
            'Report-To: {"endpoints":[]}',
            'NEL: {"report_to":"x"}',
            "WWW-Authenticate: Basic realm=portal",
            "X-Own: kept",
        )
    )
    nginx.node_answer = lambda *_: reply(200, sent_back)
    answer = nginx.ask(HOME, user="alice")
    cookies = answer.all("set-cookie")
    assert len(cookies) == 5
    assert cookies[0] == "plain=1"  # without a path: below the page that sets it
    for cookie in cookies[1:]:
        parts = [part.strip().lower() for part in cookie.split(";")]
        paths = [part for part in parts if part.startswith("path=")]
        assert set(paths) == {"path=/user/alice/s1/"}, cookie
        assert [part for part in parts if part.startswith("domain=") and part != "domain="] == []
    left = {name.lower() for name, _ in answer.headers} - {"set-cookie"}
    assert left == {"server", "date", "connection", "x-own", "content-length"}
    assert answer.one("server") == "nginx"


def test_cookies_of_an_app_stay_below_its_own_path(nginx: NginxServer) -> None:
    base = f"{HOME}app/demo/"
    sent = {
        f"{HOME}app/demo/": base,
        "/user/bob/s9/app/demo/": base,
        "/app/demo/": base,
        f"{HOME}app/": HOME,
        f"{HOME}app/demo/x": HOME,
        f"{HOME}app/../": HOME,
        f"{HOME}app/Demo;/": HOME,
    }
    for path, expected in sent.items():
        nginx.node_answer = lambda *_, path=path: reply(200, f"Set-Cookie: a=1; Path={path}\r\n")
        answer = nginx.ask(base, user="alice")
        assert f"path={expected}" in answer.one("set-cookie").lower().split("; "), path


@pytest.mark.parametrize(
    "inside", ["/_gate", "/_pages/unavailable.html", "/internal/gate", "@gate_refused"]
)
def test_a_node_can_not_redirect_inside_nginx(nginx: NginxServer, inside: str) -> None:
    headers = f"X-Accel-Redirect: {inside}\r\nX-Accel-Limit-Rate: 1\r\nX-Accel-Buffering: yes\r\n"
    nginx.node_answer = lambda *_: reply(200, headers, b"own words" * 100)
    answer = nginx.ask(f"{HOME}{inside}", user="alice")
    assert (answer.status, answer.body) == (200, b"own words" * 100)
    assert [name for name, _ in answer.headers if name.lower().startswith("x-accel")] == []


def test_a_nodes_own_errors_are_its_own(nginx: NginxServer) -> None:
    for status in (401, 403, 429, 500, 502, 503):
        nginx.node_answer = lambda *_, status=status: reply(status, "", b"my own words")
        answer = nginx.ask(HOME, user="alice", headers=dict(PAGE))
        assert (answer.status, answer.body) == (status, b"my own words")
