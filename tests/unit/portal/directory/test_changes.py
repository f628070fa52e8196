"""The control that makes a change conditional (RFC 4528), in the bytes of RFC 4511."""

import pytest

from portal.directory.changes import ASSERTION, assertion


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ("1", b"\xa3\x06" b"\x04\x01a" b"\x04\x011"),
        ("é" * 100, b"\xa3\x81\xce" b"\x04\x01a" b"\x04\x81\xc8" + "é".encode() * 100),
        ("x" * 300, b"\xa3\x82\x01\x33" b"\x04\x01a" b"\x04\x82\x01\x2c" + b"x" * 300),
    ],
)  # fmt: skip
def test_a_condition_is_an_equality_filter(value: str, data: bytes) -> None:
    assert assertion("a", value) == (ASSERTION, True, data)
