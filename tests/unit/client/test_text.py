"""Texts of the portal on a terminal: nothing in them controls it."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.text import format_bytes, format_time, to_line, to_log


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 数据.csv", "plain é 数据.csv"),
        ("a\nb", "a\\nb"),
        ("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("evil\u202egnp.exe", "evil\\u202egnp.exe"),
        ("\x7f\u2028", "\\x7f\\u2028"),
        ("\udc80", "\\udc80"),
    ],
)
def test_to_line_spells_control_characters(text: str, shown: str) -> None:
    assert to_line(text) == shown


@given(st.text())
def test_to_line_has_no_control_character(text: str) -> None:
    assert not any(unicodedata.category(letter) in {"Cc", "Cs"} for letter in to_line(text))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("line\n\tnext", "line\n\tnext"),
        ("\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("\x1b]52;c;Zm9v\x07", "\\x1b]52;c;Zm9v\\x07"),
        ("10%\r20%\r\n", "10%\n20%\n"),
        ("\x1b[31\x1b[m", "\\x1b[31\x1b[m"),
    ],
)
def test_to_log_keeps_lines_and_colors_only(text: str, shown: str) -> None:
    assert to_log(text) == shown


@pytest.mark.parametrize(
    ("size", "shown"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 << 40, "5.0 TiB")]
)
def test_format_bytes(size: int, shown: str) -> None:
    assert format_bytes(size) == shown


def test_format_time_of_something_else_is_harmless() -> None:
    assert format_time(None) == ""
    assert format_time("\x1b[2J") == "\\x1b[2J"
    assert len(format_time("2026-11-27T10:00:00Z")) == len("2026-11-27 10:00")
