"""The guard in front of TensorBoard, and how it is started."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spawner.node import netns, tensorboard
from spawner.node.tensorboard import arguments_for, guarded

SECRET = "the-guards-secret"


class Board:
    """A WSGI application that notes what reached it."""

    def __init__(self) -> None:
        self.reached: list[dict[str, Any]] = []

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        self.reached.append(environ)
        start_response("200 OK", [])
        return [b"charts"]


def ask(headers: dict[str, str]) -> tuple[str, bytes, Board]:
    board, statuses = Board(), []
    app = guarded(board, SECRET)
    body = b"".join(app({"PATH_INFO": "/", **headers}, lambda status, _: statuses.append(status)))
    return statuses[0], body, board


def test_with_the_secret_which_goes_no_further() -> None:
    status, body, board = ask({"HTTP_X_PORTAL_SECRET": SECRET, "HTTP_ACCEPT": "x"})
    assert (status, body) == ("200 OK", b"charts")
    assert board.reached == [{"PATH_INFO": "/", "HTTP_ACCEPT": "x"}]


@given(st.text(max_size=40))
def test_with_anything_else(given_secret: str) -> None:
    if given_secret == SECRET:
        return
    status, body, board = ask({"HTTP_X_PORTAL_SECRET": given_secret})
    assert (status, body) == ("403 Forbidden", b"Forbidden")
    assert board.reached == []


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"HTTP_X_PORTAL_SECRET": ""},
        {"HTTP_X_PORTAL_SECRET": f"{SECRET}, {SECRET}"},
        {"HTTP_X_PORTAL_SECRET": f"{SECRET} "},
        {"HTTP_X_PORTAL_SECRET_": SECRET},
        {"QUERY_STRING": f"X-Portal-Secret={SECRET}"},
        {"HTTP_COOKIE": f"X-Portal-Secret={SECRET}"},
    ],
)
def test_with_the_secret_in_the_wrong_place(headers: dict[str, str]) -> None:
    status, _, board = ask(headers)
    assert status == "403 Forbidden"
    assert board.reached == []


def test_the_data_server_only_where_nobody_else_can_ask_it() -> None:
    fast = arguments_for(Path("/home/a/runs"), "/tensorboard/1", private=True)
    slow = arguments_for(Path("/home/a/runs"), "/tensorboard/1", private=False)
    assert "--load_fast=auto" in fast
    assert "--load_fast=false" in slow
    assert "--logdir=/home/a/runs" in slow
    assert "--path_prefix=/tensorboard/1" in slow


def test_no_namespace_is_said_and_survived(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused() -> None:
        raise PermissionError(1, "user namespaces are refused on this node")

    monkeypatch.setattr(netns, "enter_private_network", refused)
    assert not tensorboard._private_network()
    assert "user namespaces are refused" in caplog.text


def test_one_listening_line_or_a_reason() -> None:
    for said, expected in ((b"listening\n", "listening"), (b"no room\nmore", "no room"), (b"", "")):
        reading, writing = os.pipe()
        os.write(writing, said)
        os.close(writing)
        assert tensorboard._read_all_or_line(reading) == expected
        os.close(reading)
    with pytest.raises(tensorboard.TensorboardError, match="no room"):
        tensorboard._must_listen("no room")
    with pytest.raises(tensorboard.TensorboardError, match="its log says why"):
        tensorboard._must_listen("")
    tensorboard._must_listen("listening")
