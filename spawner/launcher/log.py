"""Relay of the reports that a launcher writes to stderr, one JSON object per line, to the log.

The launcher runs as its user, so its reports are untrusted: there are no more of them than there
were requests, each field is validated, and the user's name is taken from the portal. Other output
counts as an error message and is not logged here.
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
LOGGED_OPERATIONS = frozenset({"submit", "withdraw", "cancel", "step", "end_step"})
"""Operations that start or end something, always logged at INFO; others only if failed or slow."""

_WORD = re.compile(r"[A-Za-z_]{1,40}")
_WORD_OR_EMPTY = re.compile(r"[A-Za-z_]{0,40}")
_REQUEST = re.compile(r"[0-9a-f]{0,32}")


class LogRelay:
    """Filter for the error output of one launcher."""

    def __init__(self, username: str) -> None:
        self._username = username
        self._expected = 0
        self._line = b""

    def expect(self) -> None:
        """Allow one more report, because a request is being sent."""
        self._expected += 1

    def filter_reports(self, chunk: bytes) -> bytes:
        """Return the part of this and of earlier withheld output that is not a report."""
        *lines, last = (self._line + chunk).split(b"\n")
        passed_on = b"".join(line + b"\n" for line in lines if not self._log_report(line))
        begins = BEGINNING.startswith(last) or last.startswith(BEGINNING)
        is_withheld = begins and len(last) <= MAX_LINE
        self._line = last if is_withheld else b""
        return passed_on if is_withheld else passed_on + last

    def flush(self) -> bytes:
        """Return the output still withheld, at the end."""
        withheld, self._line = self._line, b""
        return b"" if self._log_report(withheld) else withheld

    def _log_report(self, line: bytes) -> bool:
        """Log the line if it is a valid report; return whether it was."""
        if not line.startswith(BEGINNING) or self._expected <= 0:
            return False
        try:
            report = json.loads(line)
        except (ValueError, RecursionError):
            return False
        fields = _parse_fields(report)
        if fields is None:
            return False
        self._expected -= 1
        operation, seconds, error, request = fields
        notable = error or seconds >= SLOW_S or operation in LOGGED_OPERATIONS
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


def _parse_fields(report: Any) -> tuple[str, float, str, str] | None:
    """Return operation, seconds, error type ("" for none) and request id; None if invalid."""
    if not isinstance(report, dict):
        return None
    operation, error, request = report.get("launcher"), report.get("error"), report.get("request")
    patterns = ((_WORD, operation), (_WORD_OR_EMPTY, error), (_REQUEST, request))
    if not all(type(word) is str and shape.fullmatch(word) for shape, word in patterns):
        return None
    seconds: Any = report.get("seconds")
    if type(seconds) not in {int, float} or not 0 <= seconds < MAX_SECONDS:
        return None
    return str(operation), round(float(seconds), 3), str(error), str(request)
