"""Parsing of followed logs."""

import json
from collections.abc import Iterator

import pytest

from client.commands.jobs import parse_events, state_of
from client.errors import PortalUnreachable

PIECE = {"text": "é\x1b[2J", "offset": 0, "next_offset": 9, "size": 9, "end": True}
STREAM = (f"event: log\ndata: {json.dumps(PIECE)}\n\nevent: ping\ndata: {{}}\n\n").encode()


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_parse_events_of_any_block_size(size: int) -> None:
    blocks: Iterator[bytes] = (STREAM[at : at + size] for at in range(0, len(STREAM), size))
    (piece,) = parse_events(blocks)
    assert (piece.text, piece.next_offset, piece.end) == ("é\x1b[2J", 9, True)


def test_parse_events_of_something_else_is_refused() -> None:
    with pytest.raises(PortalUnreachable):
        list(parse_events(iter([b'data: {"next_offset": "x"}\n'])))


def test_state_of_an_ended_job_is_its_outcome() -> None:
    assert state_of("ended", "timeout") == "timeout"
    assert state_of("running", None) == "running"
