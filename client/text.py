"""Text from the portal as a terminal may show it. Pure.

File names, job names and logs are written by programs and other users. An escape sequence in them
could rewrite what the terminal shows, so control and bidirectional characters become visible text.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime, timezone

_COLOR = re.compile(r"\x1b\[[0-9;:]{0,60}m")
_BIDIRECTIONAL = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def to_line(text: str) -> str:
    """Return the text in one line, with every control character spelled out."""
    return "".join(_spell(letter) if _is_control(letter) else letter for letter in text)


def to_log(text: str) -> str:
    """Return a log's text: line breaks, tabs and colors stay, other control characters do not.

    A carriage return, with which progress bars return to the start of their line, begins a line.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    parts, end = [], 0
    for color in _COLOR.finditer(text):
        parts += [_spell_controls(text[end : color.start()]), color[0]]
        end = color.end()
    return "".join([*parts, _spell_controls(text[end:])])


def format_bytes(size: int) -> str:
    """Return a size with a binary unit: 1.5 MiB."""
    value = float(size)
    for unit in _UNITS[:-1]:
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} {_UNITS[-1]}"


def format_time(text: str | None) -> str:
    """Return a time of the API in the local zone, to the minute; empty for None."""
    if text is None:
        return ""
    try:
        at = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return to_line(text)
    return at.replace(tzinfo=at.tzinfo or timezone.utc).astimezone().strftime("%Y-%m-%d %H:%M")


def _spell_controls(text: str) -> str:
    return "".join(
        _spell(letter) if letter not in "\n\t" and _is_control(letter) else letter
        for letter in text
    )


def _is_control(letter: str) -> bool:
    return letter in _BIDIRECTIONAL or unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp"}


def _spell(letter: str) -> str:
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(letter) or (
        f"\\x{ord(letter):02x}" if ord(letter) < 256 else f"\\u{ord(letter):04x}"
    )
