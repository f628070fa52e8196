"""The name under which a computer asks for a login."""

import pytest

from client.commands.login import device_name


@pytest.mark.parametrize(
    ("node", "name"),
    [
        ("laptop.example", "dsp on laptop"),
        ("", "dsp on a computer"),
        ("x" * 100, "dsp on " + "x" * 53),
        ("a\x1b[2J", "dsp on a\\x1b[2J"),
    ],
)
def test_device_name_is_printable_and_short(node: str, name: str) -> None:
    assert device_name(node) == name
    assert name.isprintable()
