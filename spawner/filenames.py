"""Names of files as text that can be shown, sent as JSON and sent back. Pure.

A name is bytes. Nearly all are UTF-8 and stand for themselves. A byte that is part of none stands
as one character of U+EF80…U+EFFF (private use; the last two digits are the byte), and so do the
bytes of those characters themselves: each text means one name, and each name has one text. Between
portal and launcher names are UTF-8 with surrogates (PEP 383), which JSON can't carry further.
"""

from __future__ import annotations

import re

_SPECIAL = re.compile("[\udc80-\udcff\uef80-\uefff]")
_BYTE = re.compile("[\uef80-\uefff]+")
_BASE = 0xEF00


def shown(name: str) -> str:
    """The text of a name (or path) that may have surrogates."""
    return _SPECIAL.sub(_as_bytes, name)


def meant(text: str) -> str:
    """The name (or path), with surrogates, that a text stands for. Raises UnicodeEncodeError for
    text that has surrogates itself."""
    text.encode()
    if not _BYTE.search(text):
        return text
    data = b"".join(_part(char) for char in text)
    return data.decode("utf-8", "surrogateescape")


def is_text(name: str) -> bool:
    """Whether a name is UTF-8."""
    return not _SPECIAL.search(name)


def readable(name: str) -> str:
    """A name as a person reads it: � for what is no text. It can't be sent back."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _as_bytes(match: re.Match[str]) -> str:
    data = match[0].encode("utf-8", "surrogateescape")
    return "".join(chr(_BASE + byte) for byte in data)


def _part(char: str) -> bytes:
    code = ord(char)
    return bytes([code - _BASE]) if 0xEF80 <= code <= 0xEFFF else char.encode()
