"""Reversible mapping of file names to text that can be displayed and sent as JSON.

Pure.

A name is bytes. Nearly all names are UTF-8 and are represented as they are. A byte that is invalid
in UTF-8 is represented as one character of U+EF80…U+EFFF (private use; the last two digits are the
byte), and so are the bytes of those characters themselves. Thus each text stands for exactly one
name and vice versa. Between portal and launcher, names are UTF-8 with surrogates (PEP 383), which
other JSON consumers do not accept.
"""

from __future__ import annotations

import re

_SPECIAL = re.compile("[\udc80-\udcff\uef80-\uefff]")
_BYTE = re.compile("[\uef80-\uefff]+")
_BASE = 0xEF00


def to_text(name: str) -> str:
    """Return the text for a name (or path) that may contain surrogates."""
    return _SPECIAL.sub(_escape_bytes, name)


def from_text(text: str) -> str:
    """Return the name (or path), with surrogates, for a text.

    Raises UnicodeEncodeError for text that contains surrogates itself.
    """
    text.encode()
    if not _BYTE.search(text):
        return text
    data = b"".join(_encode_char(char) for char in text)
    return data.decode("utf-8", "surrogateescape")


def is_text(name: str) -> bool:
    """Return whether a name is its own text: UTF-8 without the characters of this mapping."""
    return not _SPECIAL.search(name)


def readable(name: str) -> str:
    """Return a name for display only, with � for invalid bytes; it cannot be converted back."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _escape_bytes(match: re.Match[str]) -> str:
    data = match[0].encode("utf-8", "surrogateescape")
    return "".join(chr(_BASE + byte) for byte in data)


def _encode_char(char: str) -> bytes:
    code = ord(char)
    return bytes([code - _BASE]) if 0xEF80 <= code <= 0xEFFF else char.encode()
