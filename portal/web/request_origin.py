"""The origin check: whether the portal's own page sent a request, by two headers that browsers set
and pages cannot forge.

Pure. It knows no framework; it is used by the middleware in web/middleware.py.
"""

from collections.abc import Collection

CROSS_ORIGIN_SITES = frozenset({"same-site", "cross-site"})
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
    own_pages_only: bool = False,
) -> bool:
    """Return whether the request may act with its cookie.

    `has_token`: it acts with an access token and nothing else, which no page can make a browser
    send by itself.

    Reading is allowed, because the browser keeps the response from foreign pages. With
    `own_pages_only` it is not allowed if the browser reports a page of another origin: pages on
    other ports of this host are of the same site, so their requests carry the cookie. All other
    requests, and every websocket (which no same-origin policy protects), must come from our own
    pages according to the browser's headers. A request without these headers and without a cookie
    is from a program with its own credentials; one with a cookie is refused.
    """
    if has_token:
        return True
    if method in SAFE_METHODS and not websocket:
        return not (own_pages_only and has_cookie and sec_fetch_site in CROSS_ORIGIN_SITES)
    if origin is not None and origin.lower() not in own_origins:
        return False
    if sec_fetch_site is not None and sec_fetch_site != "same-origin":
        return False
    if origin is None and sec_fetch_site is None:
        return not has_cookie
    return True
