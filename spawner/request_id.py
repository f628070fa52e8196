"""The name of the request that something is done for, which stands in every log line about it.

nginx gives it, the portal takes it on, and it goes along to the launcher and the hub. Work that no
request asked for has a name of its own.
"""

from __future__ import annotations

import re
import secrets
from contextvars import ContextVar

HEADER = "X-Request-Id"
_SHAPE = re.compile(r"[0-9a-f]{16,32}")
_current: ContextVar[str] = ContextVar("request_id", default="")


def current() -> str:
    """What this task works for; "" for nothing in particular."""
    return _current.get()


def begin(given: str = "") -> str:
    """From now on this task, and what it starts, works for the request of this name; one that has
    none, or a name that can't be one, gets a new name."""
    name = given if _SHAPE.fullmatch(given) else secrets.token_hex(16)
    _current.set(name)
    return name
