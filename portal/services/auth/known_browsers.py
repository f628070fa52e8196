"""Cookies of known browsers: signed proof that a user has logged in there before.

A browser that presents one has its own allowance of wrong passwords, so that failed logins from
elsewhere do not lock its user out. The cookie grants no access. It holds one entry per user: a
nonce, an expiry time and a signature over both and the user name, which the cookie does not
contain.
"""

import base64
import hashlib
import hmac
import re
import secrets
from datetime import datetime, timedelta

from portal.config.settings import Settings

LIFETIME = timedelta(days=180)
MAX_USERS = 5
_MAX_LENGTH = 1000
_SEPARATOR = "~"
_ENTRY = re.compile(r"(?P<nonce>[\w-]{16})\.(?P<expires>[0-9]{1,12})\.(?P<signature>[\w-]{43})")


def issue(settings: Settings, username: str, cookie: str, now: datetime) -> str:
    """Return the cookie's new value: an entry for this user and the other users' entries."""
    others = [
        entry.group()
        for entry in _entries(cookie)
        if _expires(entry) > now.timestamp() and not _is_signed_for(settings, username, entry)
    ]
    body = f"{secrets.token_urlsafe(12)}.{int((now + LIFETIME).timestamp())}"
    own_entry = f"{body}.{_signature(settings, username, body)}"
    return _SEPARATOR.join([own_entry, *others[: MAX_USERS - 1]])


def find_nonce(settings: Settings, username: str, cookie: str, now: datetime) -> str:
    """Return the nonce of this browser for this user, or "" for an unknown browser."""
    for entry in _entries(cookie):
        if _expires(entry) > now.timestamp() and _is_signed_for(settings, username, entry):
            return entry["nonce"]
    return ""


def _entries(cookie: str) -> list[re.Match[str]]:
    if len(cookie) > _MAX_LENGTH:
        return []
    matches = (_ENTRY.fullmatch(entry) for entry in cookie.split(_SEPARATOR))
    return [entry for entry in matches if entry]


def _expires(entry: re.Match[str]) -> int:
    return int(entry["expires"])


def _is_signed_for(settings: Settings, username: str, entry: re.Match[str]) -> bool:
    signature = _signature(settings, username, f"{entry['nonce']}.{entry['expires']}")
    return hmac.compare_digest(signature, entry["signature"])


def _signature(settings: Settings, username: str, body: str) -> str:
    secret = settings.internal_secret.encode()
    key = hmac.digest(secret, b"device cookie", hashlib.sha256)
    digest = hmac.digest(key, f"{username}\n{body}".encode(), hashlib.sha256)
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
