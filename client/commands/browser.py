"""Pages of the portal in the user's browser."""

from __future__ import annotations

import webbrowser
from urllib.parse import urlsplit

from ..config import LOOPBACK
from ..errors import PortalUnreachable


def open_page(url: str) -> None:
    """Open an address that the portal sent.

    Raises PortalUnreachable for one that is no page with TLS, or of this machine: browsers start
    programs for some schemes.
    """
    if not is_page(url):
        raise PortalUnreachable(
            f"The portal sent an address that is not opened: {url}",
            "If you trust it, use --no-browser, and open it yourself.",
            kind="unknown-answer",
        )
    webbrowser.open(url)


def is_page(url: str) -> bool:
    """Return whether this is an address with TLS, or one of this machine. Pure."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    if not url.isprintable() or " " in url or not parts.hostname:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
