"""Headers between browsers and apps: credentials, cookies, redirects and foreign pages."""

from __future__ import annotations

import pytest

from spawner.node.apps.headers import (
    ForeignRedirect,
    confine_location,
    is_own_request,
    to_app,
    to_browser,
    to_websocket,
)

BASE = "/user/alice/s1/app/demo"
HOST = "jupyter.test:8443"


def test_an_app_gets_no_credential_of_the_session() -> None:
    given = [
        ("Host", HOST),
        ("Authorization", "token secret"),
        ("Cookie", "jupyterhub-user-alice=a; mine=1; _xsrf=b; username-x=c"),
        ("Cookie", "JupyterHub-session-id=d ; theme=dark;"),
        ("X-Portal-Signature", "e"),
        ("X-Forwarded-Prefix", "/elsewhere"),
        ("Connection", "Upgrade, X"),
        ("Upgrade", "websocket"),
        ("Transfer-Encoding", "chunked"),
        ("Accept", "text/html"),
    ]
    assert to_app(given, BASE) == [
        ("Host", HOST),
        ("Accept", "text/html"),
        ("Cookie", "mine=1; theme=dark"),
        ("X-Forwarded-Prefix", BASE),
    ]
    assert to_app([("Cookie", "_xsrf=b")], None) == []


def test_an_app_cannot_replace_a_cookie_of_the_session_or_set_one_elsewhere() -> None:
    given = [
        ("Set-Cookie", "mine=1; Path=/; Domain=portal.test; HttpOnly; SameSite=Lax"),
        ("Set-Cookie", "path=2"),
        ("Set-Cookie", "jupyterhub-user-alice=x; Path=/"),
        ("Set-Cookie", " _xsrf=x"),
        ("Set-Cookie", "=jupyterhub-user-alice=x"),
        ("Set-Cookie", "_xsrf; Path=/"),
        ("Set-Cookie", "JUPYTERHUB-session-id=x"),
    ]
    cookies = [value for name, value in answer(given) if name == "Set-Cookie"]
    assert cookies == [
        f"mine=1; HttpOnly; SameSite=Lax; Path={BASE}/",
        f"path=2; Path={BASE}/",
    ]


def answer(given: list[tuple[str, str]], *, strips_prefix: bool = True) -> list[tuple[str, str]]:
    return to_browser(given, BASE, HOST, strips_prefix=strips_prefix)


def test_an_app_opens_its_pages_to_no_other_origin() -> None:
    given = [
        ("Access-Control-Allow-Origin", "*"),
        ("access-control-allow-credentials", "true"),
        ("Transfer-Encoding", "chunked"),
        ("Content-Type", "text/html"),
        ("Content-Security-Policy", "default-src 'self'"),
    ]
    assert answer(given) == [
        ("Content-Security-Policy", "frame-ancestors 'self'"),
        ("Content-Type", "text/html"),
        ("Content-Security-Policy", "default-src 'self'"),
    ]


@pytest.mark.parametrize(
    ("location", "strips_prefix", "expected"),
    [
        ("/login?next=/x", True, f"{BASE}/login?next=/x"),
        (f"{BASE}/login", True, f"{BASE}/login"),
        (f"{BASE}x/login", True, f"{BASE}{BASE}x/login"),
        ("./?folder=/home", True, "./?folder=/home"),
        ("", True, ""),
        (f"{BASE}/login", False, f"{BASE}/login"),
        ("/login", False, "/login"),
        ("http://127.0.0.1:8080/a", True, f"{BASE}/a"),
        ("http://localhost:8080", True, f"{BASE}/"),
        (f"https://{HOST}/a#b", True, f"{BASE}/a#b"),
        (f"//{HOST}/a", False, "/a"),
        (f"https://{HOST}//evil.test", False, "/evil.test"),
        ("http://127.0.0.1:8080//evil.test", False, "/evil.test"),
        ("///evil.test", False, "/evil.test"),
    ],
)
def test_a_redirect_stays_at_the_app(location: str, strips_prefix: bool, expected: str) -> None:
    assert confine_location(location, BASE, HOST, strips_prefix=strips_prefix) == expected


@pytest.mark.parametrize(
    "location",
    [
        "https://evil.test/",
        "//evil.test/",
        "/\\evil.test/",
        "\\\\evil.test/",
        "/\t/evil.test/",
        " //evil.test",
        "https:\\\\evil.test",
        "javascript:alert(1)",
        "data:text/html,x",
        "http://[evil/",
        f"https://{HOST}@evil.test/",
        f"https://{HOST}.evil.test/",
        "http://jupyter.test:9999/",
    ],
)
@pytest.mark.parametrize("strips_prefix", [True, False])
def test_a_redirect_to_another_host_is_refused(location: str, strips_prefix: bool) -> None:
    with pytest.raises(ForeignRedirect):
        confine_location(location, BASE, HOST, strips_prefix=strips_prefix)


def test_only_headers_of_the_handshake_open_a_websocket() -> None:
    given = [("Upgrade", "websocket"), ("Sec-WebSocket-Accept", "x"), ("Set-Cookie", "a=b")]
    assert to_websocket(given) == given[:2]


OWN = {"Host": HOST, "Origin": f"https://{HOST}"}
FOREIGN = {"Host": HOST, "Origin": "https://tensorboard.test"}
WEBSOCKET = {"Upgrade": "websocket"}


@pytest.mark.parametrize(
    ("method", "headers", "expected"),
    [
        ("GET", {"Host": HOST}, True),
        ("POST", OWN, True),
        ("POST", {"Host": HOST, "Sec-Fetch-Site": "same-origin"}, True),
        ("GET", {**OWN, **WEBSOCKET}, True),
        ("GET", {"Host": HOST, "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate"}, True),
        # without a proof
        ("POST", {"Host": HOST}, False),
        ("DELETE", {"Host": HOST, "Sec-Fetch-Site": "none"}, False),
        # by another page
        ("POST", FOREIGN, False),
        ("GET", FOREIGN, False),
        ("GET", {**FOREIGN, **WEBSOCKET}, False),
        ("POST", {"Host": HOST, "Origin": "null"}, False),
        ("GET", {"Origin": "https://", **WEBSOCKET}, False),
        ("GET", {"Host": HOST, "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}, False),
        (
            "POST",
            {"Host": HOST, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
            False,
        ),
    ],
)
def test_a_foreign_page_may_only_navigate(
    method: str, headers: dict[str, str], expected: bool
) -> None:
    assert is_own_request(method, headers) is expected
