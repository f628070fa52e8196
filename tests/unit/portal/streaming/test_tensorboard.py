"""Headers that are forwarded to a TensorBoard and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.streaming.tensorboard import (
    REQUEST_HEADERS,
    RESPONSE_HEADERS,
    TensorboardTarget,
    request_headers,
    response_headers,
)

ORIGIN = "https://portal.test"
OWN = "/tensorboard/5f1c/"
PREFIX = f"{OWN}0123456789abcdef0123456789abcdef/"
PLACE = TensorboardTarget(ORIGIN, PREFIX, OWN)
names = st.text(
    st.characters(min_codepoint=33, max_codepoint=126, exclude_characters=":"), min_size=1
)


def returned(*pairs: tuple[str, str]) -> dict[str, list[str]]:
    """Return the headers that the browser gets, by name."""
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs]
    found: dict[str, list[str]] = {}
    for name, value in response_headers(raw, PLACE):
        found.setdefault(name.decode(), []).append(value.decode("latin-1"))
    return found


# --- rules ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "cookie",
        "authorization",
        "proxy-authorization",
        "origin",
        "referer",
        "host",
        "x-forwarded-for",
        "x-forwarded-host",
        "forwarded",
        "x-real-ip",
        "x-portal-signature",
        "connection",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "content-length",
        "upgrade",
        "expect",
        "user-agent",
    ],
)
def test_private_headers_are_not_passed_to_tensorboard(name: str) -> None:
    assert request_headers([(name.encode(), b"x")]) == []


def test_harmless_headers_are_passed_to_tensorboard() -> None:
    client = [
        (b"accept", b"*/*"),
        (b"accept-encoding", b"gzip"),
        (b"content-type", b"multipart/form-data; boundary=x"),
        (b"if-none-match", b'"1"'),
        (b"x-tensorboard-feature-flags", b"{}"),
    ]
    passed = request_headers(client)
    assert dict(passed) == {name.decode(): value.decode() for name, value in client}


@given(st.lists(st.tuples(names, st.text(max_size=20))))
def test_nothing_else_ever_passes_on(pairs: list[tuple[str, str]]) -> None:
    raw = [(name.lower().encode(), value.encode()) for name, value in pairs]
    for name, _ in request_headers(raw):
        key = name.encode()
        assert key in REQUEST_HEADERS or key.startswith(b"x-tensorboard-")


@pytest.mark.parametrize(
    "name",
    [
        "Set-Cookie",
        "Set-Cookie2",
        "Service-Worker-Allowed",
        "Refresh",
        "Clear-Site-Data",
        "Link",
        "Alt-Svc",
        "NEL",
        "Report-To",
        "Strict-Transport-Security",
        "Access-Control-Allow-Origin",
        "WWW-Authenticate",
        "Connection",
        "Keep-Alive",
        "Transfer-Encoding",
        "Upgrade",
        "Trailer",
        "Server",
        "X-Accel-Redirect",
        "X-Frame-Options",
        "Sourcemap",
    ],
)
def test_what_a_tensorboard_can_not_say(name: str) -> None:
    assert returned((name, "x")) == returned()
    assert returned((name.upper(), "x")) == returned()


@given(st.lists(st.tuples(names, st.text(st.characters(max_codepoint=255), max_size=20))))
def test_nothing_else_ever_comes_back(pairs: list[tuple[str, str]]) -> None:
    allowed = {name.decode() for name in RESPONSE_HEADERS} | {"content-length", "location"}
    assert set(returned(*pairs)) <= allowed | set(returned())


def test_every_answer_is_confined() -> None:
    own = "default-src *; script-src * 'unsafe-inline'"
    found = returned(
        ("Content-Security-Policy", own), ("Cross-Origin-Opener-Policy", "unsafe-none")
    )
    # in addition to the portal's, and thus only narrower
    assert found["content-security-policy"][0] == own
    policy = found["content-security-policy"][1]
    base = f"{ORIGIN}{PREFIX}"
    assert policy.split("; ") == [
        "default-src 'none'",
        f"script-src {base} 'unsafe-inline' 'unsafe-eval'",
        f"style-src {base} 'unsafe-inline'",
        f"font-src {base} data:",
        f"img-src {base} data: blob:",
        f"media-src {base}",
        f"connect-src {base}",
        f"frame-src {base}",
        f"worker-src {base}",
        "object-src 'none'",
        "fenced-frame-src 'none'",
        "manifest-src 'none'",
        f"base-uri {base}",
        "form-action 'none'",
        "frame-ancestors 'self'",
        "sandbox allow-scripts allow-same-origin allow-forms allow-downloads allow-modals",
    ]
    assert found["x-frame-options"] == ["SAMEORIGIN"]
    assert found["cross-origin-resource-policy"] == ["same-origin"]
    assert found["referrer-policy"] == ["no-referrer"]
    assert found["cross-origin-opener-policy"] == ["same-origin"]


@pytest.mark.parametrize(
    "reports",
    ["report-uri /api/v1/logout", "Report-URI /api/v1/logout", "report-to x", "\treport-uri\t/x"],
)
def test_a_tensorboards_policy_makes_the_browser_report_to_no_one(reports: str) -> None:
    """A report is a POST with the viewer's cookies, to any destination."""
    for own in (
        reports,
        f"img-src 'none'; {reports}",
        f"{reports};img-src 'none'",
        f"img-src 'none', {reports}",
    ):
        passed = returned(("Content-Security-Policy", own))["content-security-policy"][0]
        assert "report" not in passed.lower()
        assert ("img-src 'none'" in passed) == ("img-src 'none'" in own)


@pytest.mark.parametrize(
    ("location", "passed"),
    [
        (f"{OWN}#x", PREFIX),
        (f"{OWN}a?b=c", f"{PREFIX}a?b=c"),
        (f"http://10.77.0.11:40000{OWN}a", f"{PREFIX}a"),
        (f"//evil.test{OWN}a", f"{PREFIX}a"),
        (f"javascript:{OWN}", PREFIX),
        ("/api/v1/logout", None),
        ("//evil.test/", None),
        ("a", None),
        ("", None),
        (OWN[:-1], None),
        (f"{OWN}../x/", None),
        (f"{OWN}%2e%2e/x/", None),
        (f"{OWN}\\..\\x", None),
    ],
)
def test_redirects_stay_below_the_tensorboard(location: str, passed: str | None) -> None:
    assert returned(("Location", location)).get("location") == ([passed] if passed else None)


def test_a_length_passes_only_if_it_is_the_length() -> None:
    assert returned(("Content-Length", "5"))["content-length"] == ["5"]
    assert "content-length" not in returned(
        ("Content-Length", "5"), ("Transfer-Encoding", "chunked")
    )
    assert "content-length" not in returned(("Content-Length", "5"), ("Content-Length", "6"))
