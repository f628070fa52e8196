"""Whose page sent this request: decided from two headers that browsers write and pages can't forge.

Pure. It knows no framework; the middleware in api/middleware.py asks it.
"""

from collections.abc import Collection

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def origin_allowed(
    *,
    method: str,
    websocket: bool,
    has_cookie: bool,
    has_token: bool = False,
    origin: str | None,
    sec_fetch_site: str | None,
    own_origins: Collection[str],
) -> bool:
    """May this request act with the cookie it carries? `has_token`: it acts with an access token
    and with nothing else, which no page can make a browser send by itself.

    Reading is always allowed: the browser keeps the answer from foreign pages. Anything else, and
    every websocket (which no same-origin policy guards), must come from our own pages: what the
    browser says must say so. A request without any of it and without a cookie is a program that
    brings its own credentials; one with a cookie is refused.
    """
    if has_token or (method in SAFE_METHODS and not websocket):
        return True
    if origin is not None and origin.lower() not in own_origins:
        return False
    if sec_fetch_site is not None and sec_fetch_site != "same-origin":
        return False
    if origin is None and sec_fetch_site is None:
        return not has_cookie
    return True
