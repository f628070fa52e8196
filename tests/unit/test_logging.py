"""What the log takes from outside is bounded, on one line, and never a secret."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.logging import MAX_VALUE_CHARS, bound


@given(st.text(max_size=3000))
def test_any_text_stays_on_one_line_and_short(text: str) -> None:
    value = bound(None, "info", {"event": "x", "username": text})["username"]
    assert len(value.splitlines()) <= 1
    assert len(value) <= MAX_VALUE_CHARS * 10
    assert value.isprintable()


@pytest.mark.parametrize(
    "name", ["password", "new_password", "secret", "hub_token", "Cookie", "authorization"]
)
def test_what_is_named_a_secret_is_not_written(name: str) -> None:
    assert bound(None, "info", {"event": "x", name: "hunter2"})[name] == "…"


def test_other_values_are_kept() -> None:
    event = {"event": "directory failed", "url": "ldap://a", "count": 3}
    assert dict(bound(None, "info", dict(event))) == event
