"""Headers between browsers and apps: which pass, and how redirects and cookies are confined.

Pure.

An app is the user's own program, or any program that they downloaded. It gets no credential of the
session, and what it answers concerns its own address alone. nginx adds its part: it removes headers
that apply to the whole origin, and confines cookies to the app's path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

Headers = list[tuple[str, str]]
Pairs = Iterable[tuple[str, str]]

_WORDS = (
    "connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer"
    " transfer-encoding upgrade"
)
HOP_BY_HOP = frozenset(_WORDS.split())
PREFIX_HEADER = "X-Forwarded-Prefix"
"""Header with the part of the path that was removed."""
FRAMES = ("Content-Security-Policy", "frame-ancestors 'self'")
_NOT_TO_APP = HOP_BY_HOP | {"authorization", "cookie", "expect"}
_NOT_TO_BROWSER = HOP_BY_HOP | {"set-cookie", "location"}
_OF_WEBSOCKET = frozenset({"upgrade", "connection"})
_WEBSOCKET_PREFIX = "sec-websocket-"
_OF_SESSION = re.compile(
    r"\s*=?\s*(?:jupyterhub-[^=;]*|username-[^=;]*|_xsrf)\s*(?:=|;|$)", re.IGNORECASE
)
"""Cookies of the session's server. Browsers send a cookie without a name as its value alone."""
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_APP_HOSTS = frozenset({"127.0.0.1", "0.0.0.0", "::1", "::", "localhost", "app"})  # noqa: S104
"""Names by which an app may know itself."""
_UNSAFE_IN_LOCATION = re.compile(r"[\x00-\x20\x7f\\]")
"""Browsers remove some of these, and read a backslash as a slash."""


class ForeignRedirect(Exception):
    """An app redirects to another host; the message is the host."""


def is_own_request(method: str, headers: Mapping[str, str]) -> bool:
    """Return True unless a page of another origin sent more than a navigation.

    A request that may change something must have a header that proves its origin.
    """
    origin, site = headers.get("Origin"), headers.get("Sec-Fetch-Site")
    if origin is not None:
        host = headers.get("Host", "")
        if not host or urlsplit(origin).netloc.lower() != host.lower():
            return False
    if site in {"same-site", "cross-site"}:
        navigates = headers.get("Sec-Fetch-Mode") == "navigate" and "Upgrade" not in headers
        return navigates and method in {"GET", "HEAD"}
    return method in _SAFE_METHODS or origin is not None or site == "same-origin"


def to_app(headers: Pairs, prefix: str | None) -> Headers:
    """Return the headers of a request as the app gets them.

    `prefix` is the part that is removed from the path; None: nothing is.
    """
    given = list(headers)
    passing = [(name, value) for name, value in given if _passes_to_app(name.lower())]
    cookies = [
        cookie.strip()
        for name, value in given
        if name.lower() == "cookie"
        for cookie in value.split(";")
        if cookie.strip() and not _OF_SESSION.match(cookie)
    ]
    if cookies:
        passing.append(("Cookie", "; ".join(cookies)))
    if prefix is not None:
        passing.append((PREFIX_HEADER, prefix))
    return passing


def _passes_to_app(name: str) -> bool:
    return (
        name not in _NOT_TO_APP
        and name != PREFIX_HEADER.lower()
        and not name.startswith("x-portal-")
    )


def to_browser(headers: Pairs, base: str, host: str, *, strips_prefix: bool) -> Headers:
    """Return the headers of an app's answer as the browser gets them. Raises ForeignRedirect.

    `base` is the app's path without a final slash, `host` the one of the request. The app can't
    replace a cookie of the session's server, and opens its pages to no other origin. An app with
    `strips_prefix` gets paths without `base`.
    """
    passing: Headers = [FRAMES]
    for name, value in headers:
        lower = name.lower()
        if lower == "location":
            location = confine_location(value, base, host, strips_prefix=strips_prefix)
            passing.append((name, location))
        elif lower == "set-cookie":
            if not _OF_SESSION.match(value):
                passing.append((name, confine_cookie(value, base)))
        elif lower not in _NOT_TO_BROWSER and not lower.startswith("access-control-"):
            passing.append((name, value))
    return passing


def to_websocket(headers: Pairs) -> Headers:
    """Return the headers of an answer that opens a websocket."""
    return [(name, value) for name, value in headers if _is_of_websocket(name.lower())]


def confine_cookie(cookie: str, base: str) -> str:
    """Return a Set-Cookie that is sent to the app's own path alone."""
    pair, *attributes = (part.strip() for part in cookie.split(";"))
    kept = [a for a in attributes if a.partition("=")[0].strip().lower() not in {"path", "domain"}]
    return "; ".join([pair, *kept, f"Path={base}/"])


def _is_of_websocket(name: str) -> bool:
    return name in _OF_WEBSOCKET or name.startswith(_WEBSOCKET_PREFIX)


def confine_location(location: str, base: str, host: str, *, strips_prefix: bool) -> str:
    """Return a redirect within this host: below the app's path, if the app doesn't know that.

    Raises ForeignRedirect for another host.
    """
    if _UNSAFE_IN_LOCATION.search(location):
        raise ForeignRedirect("a malformed address")
    try:
        parts = urlsplit(location)
        name = parts.hostname or ""
    except ValueError as error:
        raise ForeignRedirect("a malformed address") from error
    if parts.scheme or parts.netloc:
        if parts.scheme not in {"", "http", "https"}:
            raise ForeignRedirect(f"an address of the kind {parts.scheme}:")
        if parts.netloc.lower() != host.lower() and name not in _APP_HOSTS:
            raise ForeignRedirect(name)
    path = parts._replace(scheme="", netloc="").geturl()
    if parts.netloc or path.startswith("/"):
        path = f"/{path.lstrip('/')}"  # two slashes would begin with a host
    if strips_prefix and path.startswith("/") and not is_below(parts.path, base):
        path = base + path
    return path


def is_below(path: str, base: str) -> bool:
    """Return whether a path is the app's."""
    return path == base or path.startswith(f"{base}/")
