"""Types of request fields, shared by all routes: times and texts."""

import re
import unicodedata
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BeforeValidator

from portal.services.times import check_time

_DATE_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}")
# Characters that change the display order of text. The plain marks U+200E and U+200F are allowed.
_BIDIRECTIONAL = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_BREAKS = frozenset("\u2028\u2029")
NOT_A_TIME = "This must be a time such as 2026-01-31T08:00:00Z."
HIDDEN = "This contains control characters. Remove them."


def _check_date_time_text(value: Any) -> Any:
    """Refuse numbers, which pydantic interprets as seconds since 1970."""
    if not isinstance(value, datetime) and not (isinstance(value, str) and _DATE_TIME.match(value)):
        raise ValueError(NOT_A_TIME)
    return value


DateTime = Annotated[
    AwareDatetime, AfterValidator(check_time), BeforeValidator(_check_date_time_text)
]
"""A time with its zone, converted to UTC, in the range that databases and arithmetic support."""


def _check_visible(text: str, allowed: str) -> str:
    for char in text:
        hidden = char in _BIDIRECTIONAL or char in _BREAKS
        hidden = hidden or unicodedata.category(char) in {"Cc", "Cs"}
        if hidden and char not in allowed:
            raise ValueError(HIDDEN)
    return text


def _check_line(text: str) -> str:
    return _check_visible(text, "")


def _check_lines(text: str) -> str:
    return _check_visible(text, "\n\r\t")


Line = Annotated[str, AfterValidator(_check_line)]
"""Text without control characters, line breaks, or characters that reverse the order of text."""
Lines = Annotated[str, AfterValidator(_check_lines)]
"""The same with several lines."""
