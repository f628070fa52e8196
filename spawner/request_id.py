"""Id of the request that the current task serves; every log line about it contains the id.

nginx assigns it, the portal adopts it and passes it on to the launcher and the hub. Background work
gets an id of its own.
"""

from __future__ import annotations

import re
import secrets
from contextvars import ContextVar

HEADER = "X-Request-Id"
SHAPE = re.compile(r"[0-9a-f]{16,32}")
_current: ContextVar[str] = ContextVar("request_id", default="")


def current() -> str:
    """Return the request id of the current task, or "" if it has none."""
    return _current.get()


def set_request_id(request_id: str = "") -> str:
    """Set the request id of the current task and the tasks it starts, and return it.

    A missing or malformed id is replaced by a new one.
    """
    if not SHAPE.fullmatch(request_id):
        request_id = secrets.token_hex(16)
    _current.set(request_id)
    return request_id
