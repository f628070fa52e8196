"""The signature check in front of TensorBoard, and its start."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spawner import signing
from spawner.node import tensorboard
from spawner.node.network import namespace
from spawner.node.tensorboard import arguments_for, require_signature

KEY, NOW_S = "the-guards-key", 1_700_000_000.0


class Board:
    """A WSGI application that records the requests it received."""

    def __init__(self) -> None:
        self.reached: list[dict[str, Any]] = []

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        self.reached.append(environ)
        start_response("200 OK", [])
        return [b"charts"]


def ask(headers: dict[str, str]) -> tuple[str, bytes, dict[str, str], Board]:
    board, answers = Board(), []
    environ = {"REQUEST_METHOD": "GET", "REQUEST_URI": "/x?y", **headers}

    def start(status: str, fields: list[tuple[str, str]]) -> None:
        answers.append((status, dict(fields)))

    body = b"".join(require_signature(board, KEY, lambda: NOW_S)(environ, start))
    ((status, fields),) = answers
    return status, body, fields, board


def test_a_signed_request_gets_a_proven_answer() -> None:
    signature = signing.sign(KEY, "GET", "/x?y", NOW_S)
    status, body, headers, board = ask({"HTTP_X_PORTAL_SIGNATURE": signature, "HTTP_ACCEPT": "x"})
    assert (status, body) == ("200 OK", b"charts")
    assert signing.is_proven(KEY, signature, headers[signing.PROOF_HEADER])
    assert [environ.keys() for environ in board.reached] == [
        {"REQUEST_METHOD", "REQUEST_URI", "HTTP_ACCEPT"}
    ], "the signature goes no further"


@given(st.text(max_size=40))
def test_with_anything_else(given_signature: str) -> None:
    status, body, headers, board = ask({"HTTP_X_PORTAL_SIGNATURE": given_signature})
    assert (status, body) == ("403 Forbidden", b"Forbidden")
    assert signing.PROOF_HEADER not in headers, "a proof is made for what the portal has signed"
    assert board.reached == []


GOOD = signing.sign(KEY, "GET", "/x?y", NOW_S)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"HTTP_X_PORTAL_SIGNATURE": ""},
        {"HTTP_X_PORTAL_SIGNATURE": KEY},
        {"HTTP_X_PORTAL_SIGNATURE": f"{GOOD}, {GOOD}"},
        {"HTTP_X_PORTAL_SIGNATURE": f"{GOOD} "},
        {"HTTP_X_PORTAL_SIGNATURE": GOOD, "REQUEST_METHOD": "POST"},
        {"HTTP_X_PORTAL_SIGNATURE": GOOD, "REQUEST_URI": "/x?z"},
        {"HTTP_X_PORTAL_SIGNATURE_": GOOD},
        {"QUERY_STRING": f"X-Portal-Signature={GOOD}"},
        {"HTTP_COOKIE": f"X-Portal-Signature={GOOD}"},
    ],
)
def test_with_the_signature_in_the_wrong_place(headers: dict[str, str]) -> None:
    status, _, _, board = ask(headers)
    assert status == "403 Forbidden"
    assert board.reached == []


def test_data_server_runs_only_in_a_private_network() -> None:
    fast = arguments_for(Path("/home/a/runs"), "/tensorboard/1", private=True)
    slow = arguments_for(Path("/home/a/runs"), "/tensorboard/1", private=False)
    assert "--load_fast=auto" in fast
    assert "--load_fast=false" in slow
    assert "--logdir=/home/a/runs" in slow
    assert "--path_prefix=/tensorboard/1" in slow


def test_missing_namespace_is_logged_and_tolerated(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused() -> None:
        raise PermissionError(1, "user namespaces are not allowed on this node")

    monkeypatch.setattr(namespace, "enter_private_network", refused)
    assert not tensorboard._enter_private_network()
    assert "user namespaces are not allowed" in caplog.text


def test_one_listening_line_or_a_reason() -> None:
    for fields, expected in (
        (b"listening\n", "listening"),
        (b"no room\nmore", "no room"),
        (b"", ""),
    ):
        reading, writing = os.pipe()
        os.write(writing, fields)
        os.close(writing)
        assert tensorboard._read_first_line(reading) == expected
        os.close(reading)
    with pytest.raises(tensorboard.TensorboardError, match="no room"):
        tensorboard._require_listening("no room")
    with pytest.raises(tensorboard.TensorboardError, match="see its log"):
        tensorboard._require_listening("")
    tensorboard._require_listening("listening")
