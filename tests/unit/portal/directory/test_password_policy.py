"""The directory's reasons for refused passwords, parsed from bytes and diagnostics."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.directory.password_policy import (
    PolicyError,
    active_directory_error,
    change_refusal,
    decode_control,
    decode_grace,
)


@pytest.mark.parametrize("error", list(PolicyError))
def test_every_error_is_read(error: PolicyError) -> None:
    assert decode_control(bytes([0x30, 0x03, 0x81, 0x01, error])) is error


def test_a_warning_before_the_error_is_passed_over() -> None:
    warning = bytes([0xA0, 0x03, 0x81, 0x01, 0x05])
    error = bytes([0x81, 0x01, 0x01])
    value = bytes([0x30, len(warning) + len(error)]) + warning + error
    assert decode_control(value) is PolicyError.ACCOUNT_LOCKED


@pytest.mark.parametrize(
    "value",
    [b"", b"0", b"0\x00", b"0\x05\xa0\x03\x81\x01\x05", b"0\x03\x81\x01\x63", b"0\x02\x81\x00"],
)
def test_no_error_is_none(value: bytes) -> None:
    assert decode_control(value) is None


@pytest.mark.parametrize(
    ("warning", "left"),
    [
        (bytes([0xA0, 0x03, 0x81, 0x01, 0x05]), 5),
        (bytes([0xA0, 0x03, 0x81, 0x01, 0x00]), 0),
        (bytes([0xA0, 0x04, 0x80, 0x02, 0x01, 0x05]), 0),  # seconds until it expires
        (b"", 0),
    ],
)
def test_the_logins_that_are_left_to_an_expired_password(warning: bytes, left: int) -> None:
    assert decode_grace(bytes([0x30, len(warning)]) + warning) == left


@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_harm(value: bytes) -> None:
    assert decode_control(value) in {None, *PolicyError}
    assert decode_grace(value) >= 0


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("775", PolicyError.ACCOUNT_LOCKED),
        ("532", PolicyError.PASSWORD_EXPIRED),
        ("773", PolicyError.CHANGE_AFTER_RESET),
        ("52e", None),
    ],
)
def test_active_directory_error_is_parsed_from_the_diagnostic(
    code: str, error: PolicyError | None
) -> None:
    text = f"80090308: LdapErr: DSID-0C09044E, comment: AcceptSecurityContext error, data {code}, v"
    assert active_directory_error(text) is error


@pytest.mark.parametrize(
    ("policy", "diagnostic", "words"),
    [
        (PolicyError.TOO_SHORT, "", "too short"),
        (PolicyError.IN_HISTORY, "", "used before"),
        (None, "Password is too short for policy", "too short"),
        (None, "Password is in history of old passwords", "used before"),
        (None, "Password fails quality checking policy", "too simple"),
        (None, "something else", "Choose another"),
        (PolicyError.PASSWORD_EXPIRED, "", "refused"),
    ],
)
def test_refused_new_passwords_have_a_sentence(
    policy: PolicyError | None, diagnostic: str, words: str
) -> None:
    assert words in change_refusal(policy, diagnostic)
