"""Explanations of refusals, from recorded messages of sbatch."""

import json
from typing import Any

import pytest

from spawner.slurm.reasons.rejections import explain_rejection
from tests.paths import TESTS

RECORDED = TESTS / "data" / "slurm" / "22.05.8"
REFUSALS: list[dict[str, Any]] = json.loads((RECORDED / "refusals.json").read_text())


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda r: " ".join(r["arguments"])[:40] or "-")
def test_recorded_refusals(refusal: dict[str, Any]) -> None:
    why = explain_rejection(refusal["stderr"])
    assert why.text.endswith(".")
    assert "sbatch" not in why.text
    assert "error:" not in why.text


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("-A nosuch", "invalid-account"),
        ("-p nosuch", "invalid-partition"),
        ("-p gpu --qos=nosuch", "invalid-qos"),
        ("-p gpu --gres=gpu:v100:5", "no-such-node"),
        ("-p gpu --nodes=3", "too-many-nodes"),
        ("-p cpu --mem=1000G", "too-much-memory"),
        ("-p cpu --cpus-per-task=64", "too-many-cpus"),
        ("-p cpu --time=2-00:00:00", "time-limit"),
        ("-p gpu --qos=one --gres=gpu:2", "limit:QOSMaxGRESPerUser"),
        ("--qos=smallwall --time=20", "limit:QOSMaxWallDurationPerJobLimit"),
        ("--mem=foo", "invalid-option"),
    ],
)
def test_codes_of_refusals_are_stable(arguments: str, code: str) -> None:
    (refusal,) = [r for r in REFUSALS if " ".join(r["arguments"]) == arguments]
    assert explain_rejection(refusal["stderr"]).code == code


def test_unknown_rejection_quotes_slurm() -> None:
    why = explain_rejection("sbatch: error: Batch job submission failed: The moon is full\n")
    assert (why.code, why.text) == ("rejected", "Slurm refused it: The moon is full.")
    why = explain_rejection(
        "sbatch: error: Batch job submission failed: Invalid node name specified"
    )
    assert (why.code, why.text) == (
        "invalid-node",
        "The requested node does not exist.",
    )
    assert explain_rejection("").text == "Slurm refused it: it gave no reason."
