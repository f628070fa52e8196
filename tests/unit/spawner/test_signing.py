"""Signatures of requests to a TensorBoard, and proofs in its responses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spawner.signing import LIFETIME_S, is_proven, is_signed, prove, sign

KEY, NOW_S = "the-key", 1_700_000_000.0
TARGET = "/tensorboard/5f1c/data/runs?tag=a%2Fb"


def test_a_signature_is_for_one_request() -> None:
    signature = sign(KEY, "GET", TARGET, NOW_S)
    assert is_signed(KEY, "GET", TARGET, signature, NOW_S)
    assert not is_signed("another", "GET", TARGET, signature, NOW_S)
    assert not is_signed(KEY, "POST", TARGET, signature, NOW_S)
    assert not is_signed(KEY, "GET", TARGET + "&x", signature, NOW_S)
    assert KEY not in signature


@pytest.mark.parametrize(
    ("later_s", "good"),
    [(0, True), (LIFETIME_S, True), (-LIFETIME_S, True), (LIFETIME_S + 1, False)],
)
def test_a_signature_lasts_a_few_minutes(later_s: float, good: bool) -> None:
    signature = sign(KEY, "GET", TARGET, NOW_S)
    assert is_signed(KEY, "GET", TARGET, signature, NOW_S + later_s) is good
    assert not is_signed(KEY, "GET", TARGET, signature, NOW_S - LIFETIME_S - 1)


@given(st.text(max_size=40))
def test_anything_else_is_no_signature(text: str) -> None:
    assert not is_signed(KEY, "GET", TARGET, text, NOW_S)
    assert not is_proven(KEY, "signature", text)


def test_a_later_time_can_not_be_written_into_a_signature() -> None:
    head, _, rest = sign(KEY, "GET", TARGET, NOW_S).partition(".")
    later_s = int(head) + 3600
    assert not is_signed(KEY, "GET", TARGET, f"{later_s}.{rest}", later_s)


def test_an_answer_is_proven_for_one_request() -> None:
    first, second = (sign(KEY, "GET", TARGET, NOW_S) for _ in range(2))
    proof = prove(KEY, first)
    assert is_proven(KEY, first, proof)
    assert not is_proven(KEY, second, proof), "the same request in the same second is another one"
    assert not is_proven("another", first, proof)
    assert not is_proven(KEY, first, first.rpartition(".")[2]), "a signature is no proof"
