"""Explanations of Slurm's codes: every code is covered, and no Slurm jargon remains."""

import json
from typing import Any

import pytest

from spawner.slurm.reasons import GpuLimit, explain_reason, explain_rejection
from tests.paths import TESTS

RECORDED = TESTS / "data" / "slurm" / "22.05.8"
REFUSALS: list[dict[str, Any]] = json.loads((RECORDED / "refusals.json").read_text())

CODES = """
Resources Priority Dependency DependencyNeverSatisfied BeginTime JobHeldUser JobHeldAdmin NodeDown
Reservation PartitionDown PartitionInactive PartitionTimeLimit PartitionNodeLimit Licenses Prolog
ReqNodeNotAvail JobArrayTaskLimit InvalidAccount InvalidQOS BadConstraints Cleaning
AssocGrpGRES AssocGrpCpuLimit AssocGrpNodeLimit AssocGrpMemLimit AssocMaxJobsLimit
AssocGrpCPUMinutesLimit AssocMaxWallDurationPerJobLimit AssocMaxGRESPerJob AssocGrpJobsLimit
QOSMaxGRESPerUser QOSMaxCpuPerUserLimit QOSMaxJobsPerUserLimit QOSGrpCpuLimit QOSMinGRES
QOSMaxNodePerJobLimit QOSMaxWallDurationPerJobLimit QOSMaxMemoryPerUser MaxMemoryPerAccount
QOSGrpGRES QOSMaxSubmitJobPerUserLimit
"""


@pytest.mark.parametrize("code", CODES.split())
def test_waiting(code: str) -> None:
    why = explain_reason(code)
    assert why is not None
    assert why.code == code
    assert code not in why.text
    assert why.text.endswith(".")
    assert why.text[0].isupper()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("ReqNodeNotAvail, UnavailableNodes:node03", "down, reserved or under maintenance"),
        ("launch failed requeued held", "put on hold"),
        (
            "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher …",
            "reserved for",
        ),
        ("QOSMaxGRESPerUser", "exceed your limit on GPUs"),
        ("QOSGrpCpuLimit", "the total limit of this QOS on CPUs"),
        ("MaxMemoryPerAccount", "your group's limit on memory"),
        ("QOSMaxWallDurationPerJobLimit", "requests more time than one job may have"),
        ("QOSMinGRES", "requests less GPUs than one job must"),
        ("AssocGrpCPUMinutesLimit", "limit on computing time"),
        ("AssocGrpBilling", "This would exceed your group's limit on billing units."),
        ("QOSMaxBillingPerUser", "This would exceed your limit on billing units."),
        ("QOSMaxBillingPerJob", "requests more billing units than one job may have here."),
    ],
)
def test_explanation_of_a_reason(code: str, words: str) -> None:
    why = explain_reason(code)
    assert why is not None
    assert words in why.text


def test_a_group_whose_gpus_are_known() -> None:
    why = explain_reason("AssocGrpGRES", GpuLimit(8, 8, own=False))
    assert why is not None
    assert why.text == "Your group already uses all 8 of its GPUs."
    assert why.suggestion == "This starts when one is free. To start sooner, request fewer."
    some = explain_reason("AssocGrpGRES", GpuLimit(8, 6, own=False))
    assert some is not None
    assert "Your group may use 8 GPUs at once, and 6" in some.text
    unknown = explain_reason("AssocGrpGRES", GpuLimit(8, None, own=False))
    assert unknown is not None
    assert "Your group may use 8 GPUs at once, and too few" in unknown.text


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (GpuLimit(1, 1, own=True), "You already use your only GPU."),
        (GpuLimit(4, 4, own=True), "You already use all 4 of your GPUs."),
        (GpuLimit(4, 2, own=True), "You may use 4 GPUs at once, and 2 of them are in use."),
        (GpuLimit(4, None, own=True), "You may use 4 GPUs at once, and too few of them are free."),
    ],
)
def test_a_user_whose_own_gpus_are_known(limit: GpuLimit, text: str) -> None:
    why = explain_reason("AssocGrpGRES", limit)
    assert why is not None
    assert why.text == text


@pytest.mark.parametrize("code", [None, "", "None"])
def test_no_reason(code: str | None) -> None:
    assert explain_reason(code) is None


def test_an_unknown_reason_is_shown_as_slurm_put_it_and_bounded() -> None:
    why = explain_reason("NovelReason" + "x" * 1000)
    assert why is not None
    assert "NovelReason" in why.text
    assert len(why.text) < 300


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
