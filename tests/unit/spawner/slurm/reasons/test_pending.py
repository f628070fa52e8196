"""Explanations of Slurm's codes: every code is covered, and no Slurm jargon remains."""

import pytest

from spawner.slurm.reasons.pending import GpuLimit, explain_reason

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
        ("QOSMinGRES", "requests fewer GPUs than one job must"),
        ("AssocGrpCPUMinutesLimit", "limit on computing time"),
        ("AssocGrpBilling", "This would exceed your or your group's limit on billing units."),
        ("AssocGrpCpuLimit", "This would exceed your or your group's limit on CPUs."),
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
