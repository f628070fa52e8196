"""Decoding of the portal's answers."""

from typing import Any

import pytest

from client.errors import ExitCode, PortalUnreachable
from client.models import JobListing, LogText, PendingUpload, RequestedResources, decode

PIECE = {"text": "a", "offset": 0, "next_offset": 1, "size": 1, "end": False}


def test_decode_ignores_fields_that_it_does_not_read() -> None:
    assert decode(LogText, {**PIECE, "new": {"deep": []}}) == LogText("a", 0, 1, 1, False)


def test_decode_uses_defaults_for_optional_fields() -> None:
    assert decode(JobListing, {"items": []}) == JobListing([])


def test_decode_takes_whole_numbers_for_fractions() -> None:
    value = {
        "partition": None, "nodes": 1, "gpus": 0, "cpus": 1, "memory_gb": 2,
        "time_limit_minutes": None,
    }  # fmt: skip
    assert decode(RequestedResources, value).memory_gb == 2.0


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"offset": "0"}, "LogText.offset"),
        ({"offset": True}, "LogText.offset"),
        ({"end": 0}, "LogText.end"),
        ({"text": None}, "LogText.text"),
        ({"size": 1.5}, "LogText.size"),
    ],
)
def test_decode_of_another_type_names_the_field(changes: dict[str, Any], place: str) -> None:
    with pytest.raises(PortalUnreachable) as raised:
        decode(LogText, {**PIECE, **changes})
    assert place in raised.value.detail
    assert raised.value.code is ExitCode.UNREACHABLE


@pytest.mark.parametrize("value", [None, [], "text", {"items": [{}]}, {"items": {}}])
def test_decode_of_something_else_is_refused(value: Any) -> None:
    with pytest.raises(PortalUnreachable):
        decode(JobListing, value)


def test_decode_of_a_missing_field_names_it() -> None:
    with pytest.raises(PortalUnreachable, match=r"PendingUpload\.chunk_bytes"):
        decode(
            PendingUpload,
            {"id": "x", "root": "", "path": "", "size_bytes": 1, "offset": 0, "overwrite": False},
        )
