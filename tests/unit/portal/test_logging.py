"""External values in the log are bounded, on one line, and never secret."""

import contextvars
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.logging import MAX_VALUE_CHARS, SHARED, begin_request, bound


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


def test_log_line_has_request_id_and_launcher_fields() -> None:
    shared = logging.LogRecord("spawner.x", logging.INFO, __file__, 1, "launcher", (), None)
    vars(shared).update(user="alice", operation="submit", seconds=0.2, outcome="ok", request="a")

    def written() -> tuple[str, dict[str, object]]:
        name = begin_request()
        event: dict[str, object] = {"event": "x"}
        own: dict[str, object] = {"event": "launcher", "_record": shared}
        processor: Any
        for processor in SHARED:
            event = dict(processor(logging.getLogger("x"), "info", event))
            own = dict(processor(logging.getLogger("x"), "info", own))
        assert (own["user"], own["operation"], own["request"]) == ("alice", "submit", "a")
        return name, event

    name, event = contextvars.copy_context().run(written)
    assert event["request"] == name
