"""What a launcher tells of its work on its error output, passed on to the log.

A JSON object a line. It runs as its user, so that this too is the user's word: no more lines than
there were requests, each field of its own shape, and the user's name is what the portal called
them. Anything else that comes there is a complaint, which is not passed on from here.
"""

from __future__ import annotations

import json
import logging
import re
from typing import Any

log = logging.getLogger(__name__)

BEGINNING = b'{"launcher":'
MAX_LINE = 1000
MAX_SECONDS = 1e6
SLOW_S = 1.0
LOUD = frozenset({"submit", "withdraw", "cancel", "step", "end_step"})
"""Operations that change something in Slurm; the others are told of when they fail or are slow."""

_WORD = re.compile(r"[A-Za-z_]{1,40}")
_NO_WORD = re.compile(r"[A-Za-z_]{0,40}")
_REQUEST = re.compile(r"[0-9a-f]{0,32}")


class Relay:
    """The error output of one launcher."""

    def __init__(self, username: str) -> None:
        self._username = username
        self._expected = 0
        self._line = b""

    def expect(self) -> None:
        """A request is on its way: it may be told of once."""
        self._expected += 1

    def take(self, chunk: bytes) -> bytes:
        """What of this, and of what was held back before, is no word on a request."""
        *lines, last = (self._line + chunk).split(b"\n")
        kept = b"".join(line + b"\n" for line in lines if not self._told(line))
        begins = BEGINNING.startswith(last) or last.startswith(BEGINNING)
        held = begins and len(last) <= MAX_LINE
        self._line = last if held else b""
        return kept if held else kept + last

    def rest(self) -> bytes:
        """What was held back, at the end."""
        rest, self._line = self._line, b""
        return b"" if self._told(rest) else rest

    def _told(self, line: bytes) -> bool:
        """Whether this was a word on a request; it is then in the log."""
        if not line.startswith(BEGINNING) or self._expected <= 0:
            return False
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            return False
        fields = _fields(said)
        if fields is None:
            return False
        self._expected -= 1
        operation, seconds, error, request = fields
        notable = error or seconds >= SLOW_S or operation in LOUD
        log.log(
            logging.INFO if notable else logging.DEBUG,
            "launcher",
            extra={
                "user": self._username,
                "operation": operation,
                "seconds": seconds,
                "outcome": error or "ok",
                "request": request,
            },
        )
        return True


def _fields(said: Any) -> tuple[str, float, str, str] | None:
    """Operation, seconds, the error's type ("" for none) and the request's name; None if it is
    anything else."""
    if not isinstance(said, dict):
        return None
    operation, error, request = said.get("launcher"), said.get("error"), said.get("request")
    words = ((_WORD, operation), (_NO_WORD, error), (_REQUEST, request))
    if not all(type(word) is str and shape.fullmatch(word) for shape, word in words):
        return None
    seconds: Any = said.get("seconds")
    if type(seconds) not in {int, float} or not 0 <= seconds < MAX_SECONDS:
        return None
    return str(operation), round(float(seconds), 3), str(error), str(request)
