"""Authenticator codes against the RFCs' test vectors, and recovery codes in all spellings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.services.auth import totp

SECRET = b"12345678901234567890"  # from RFC 4226, appendix D, and RFC 6238, appendix B
NOW_S = 1_800_000_010.0
NOW = totp.step_at(NOW_S)


RFC_4226 = (
    "755224", "287082", "359152", "969429", "338314",
    "254676", "287922", "162583", "399871", "520489",
)  # fmt: skip


@pytest.mark.parametrize(("step", "code"), list(enumerate(RFC_4226)))
def test_the_codes_of_rfc_4226(step: int, code: str) -> None:
    assert totp.compute_code(SECRET, step) == code


@pytest.mark.parametrize(
    ("unix_s", "code"),
    [
        (59, "94287082"), (1111111109, "07081804"), (1111111111, "14050471"),
        (1234567890, "89005924"), (2000000000, "69279037"), (20000000000, "65353130"),
    ],
)  # fmt: skip
def test_the_codes_of_rfc_6238(unix_s: int, code: str) -> None:
    assert totp.compute_code(SECRET, totp.step_at(unix_s), digits=8) == code


@pytest.mark.parametrize("skew", [-1, 0, 1])
def test_a_clock_may_differ_by_one_step(skew: int) -> None:
    code = totp.compute_code(SECRET, NOW + skew)
    assert totp.find_matching_step(SECRET, code, NOW_S, after=0) == NOW + skew


@pytest.mark.parametrize("skew", [-3, -2, 2, 3])
def test_but_not_by_more(skew: int) -> None:
    assert (
        totp.find_matching_step(SECRET, totp.compute_code(SECRET, NOW + skew), NOW_S, after=0)
        is None
    )


def test_a_step_that_was_used_is_over_with_all_before_it() -> None:
    for skew in (-1, 0):
        code = totp.compute_code(SECRET, NOW + skew)
        assert totp.find_matching_step(SECRET, code, NOW_S, after=NOW) is None
    later = totp.compute_code(SECRET, NOW + 1)
    assert totp.find_matching_step(SECRET, later, NOW_S, after=NOW) == NOW + 1


@given(st.text(max_size=12))
def test_no_text_is_a_code_by_accident(text: str) -> None:
    codes = {totp.compute_code(SECRET, NOW + skew) for skew in (-1, 0, 1)}
    found = totp.find_matching_step(SECRET, text, NOW_S, after=0)
    assert (found is not None) == (text in codes)


def test_key_uri_for_authenticator_apps() -> None:
    uri = totp.key_uri(SECRET, issuer="Data Scientist Portal a&b", account="alice")
    assert uri == (
        "otpauth://totp/Data%20Scientist%20Portal%20a%26b%3Aalice"
        "?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
        "&issuer=Data%20Scientist%20Portal%20a%26b&digits=6&period=30"
    )


def test_recovery_codes_are_ten_and_differ() -> None:
    codes = totp.new_recovery_codes()
    assert len(set(codes)) == totp.RECOVERY_CODES == 10
    for code in codes:
        assert len(code) == 19
        assert totp.is_recovery_code(totp.normalize_code(code))


@pytest.mark.parametrize(
    "typed", ["ABCD-EFGH-IJKL-MNOP", " abcd efgh ijkl mnop ", "abcdefghijklmnop"]
)
def test_recovery_codes_count_however_they_are_typed(typed: str) -> None:
    assert totp.normalize_code(typed) == "abcdefghijklmnop"
    assert totp.is_recovery_code(totp.normalize_code(typed))


@pytest.mark.parametrize(
    "code", ["123456", "", "abcd", "a" * 17, "abcdefghijklmno1", "ábcdefghijklmnop"]
)
def test_other_texts_are_no_recovery_codes(code: str) -> None:
    assert not totp.is_recovery_code(code)


def test_the_app_s_code_may_be_typed_with_a_space() -> None:
    assert totp.normalize_code("123 456") == "123456"
