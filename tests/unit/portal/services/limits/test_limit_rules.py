"""Effective limits, and the wording of refusals."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.models import LimitScope
from portal.services.limits.limit_rules import (
    Allowance,
    EffectiveLimit,
    GroupTotal,
    LimitSource,
    LimitValues,
    apply_limits,
    explain_too_many,
    explain_too_many_in_group,
    find_exceeding,
    list_refusals,
    merge_limits,
    set_gpu_type,
)
from spawner.slurm.model import ClusterInfo, NodeInfo, PartitionInfo, Resources

AT = datetime(2026, 11, 22, tzinfo=UTC)
NODES = (
    NodeInfo("n1", "", "IDLE", ("gpu",), 32, 0, 65536, 0, {"v100": 4}),
    NodeInfo("n2", "", "IDLE", ("mixed",), 32, 0, 65536, 0, {"a100": 4}),
    NodeInfo("n3", "", "IDLE", ("mixed",), 32, 0, 65536, 0, {"v100": 4}),
)
CLUSTER = ClusterInfo(NODES, (PartitionInfo("gpu"), PartitionInfo("mixed")), AT)


def own(**numbers: Any) -> Allowance:
    return Allowance(merge_limits(("bob", LimitValues(**numbers)), {}, None))


def messages(wanted: Resources, allowance: Allowance, held: int | None = None) -> dict[str, str]:
    found = list_refusals(wanted, allowance, CLUSTER, held)
    return {error.field.removeprefix("resources."): error.message for error in found}


# --- effective limits ---------------------------------------------------------------------------


def test_ones_own_counts_before_the_groups_and_theirs_before_the_default() -> None:
    found = merge_limits(
        ("bob", LimitValues(gpus=1)),
        {"physics": LimitValues(gpus=8, cpus=16), "biology": LimitValues(cpus=4)},
        LimitValues(gpus=2, cpus=2, jobs=50),
    )
    assert found["gpus"] == EffectiveLimit(1, LimitSource(LimitScope.USER, "bob"))
    assert found["cpus"] == EffectiveLimit(16, LimitSource(LimitScope.MEMBER, "physics"))
    assert found["jobs"] == EffectiveLimit(50, LimitSource(LimitScope.DEFAULT))
    assert "sessions" not in found


def test_zero_is_a_limit_and_null_is_unset() -> None:
    found = merge_limits(("bob", LimitValues(gpus=0)), {"physics": LimitValues(gpus=8)}, None)
    assert found["gpus"].value == 0
    assert merge_limits(("bob", LimitValues()), {}, LimitValues()) == {}


def test_what_groups_name_is_had_together() -> None:
    groups = {
        "a": LimitValues(partitions=["gpu"], gpus_by_type={"v100": 1, "a100": 4}),
        "b": LimitValues(partitions=["cpu", "gpu"], gpus_by_type={"v100": 2}),
        "c": LimitValues(),
    }
    found = merge_limits(None, groups, LimitValues(partitions=["debug"]))
    assert found["partitions"] == EffectiveLimit(
        ["cpu", "gpu"], LimitSource(LimitScope.MEMBER, "a, b")
    )
    assert found["gpus_by_type"].value == {"a100": 4, "v100": 2}


@given(st.dictionaries(st.sampled_from("abcdef"), st.none() | st.integers(0, 9)), st.integers(0, 9))
def test_the_most_generous_group_counts(gpus: dict[str, int | None], default: int) -> None:
    groups = {name: LimitValues(gpus=number) for name, number in gpus.items()}
    numbers = [number for number in gpus.values() if number is not None]
    found = merge_limits(None, groups, LimitValues(gpus=default))["gpus"]
    assert found.value == (max(numbers) if numbers else default)


# --- refusals -----------------------------------------------------------------------------------


def test_more_gpus_than_the_limit_are_refused_with_whose_it_is_and_what_is_held() -> None:
    text = messages(Resources(gpus=3), own(gpus=2), held=2)["gpus"]
    assert text == (
        "You may use 2 GPUs at once (a limit of your own); this asks for 3. Your sessions and jobs"
        " use 2 now. Ask for fewer, or ask your administrators."
    )
    everybody = Allowance(merge_limits(None, {}, LimitValues(gpus=1)))
    assert "1 GPU at once (the default limit)" in messages(Resources(gpus=2), everybody)["gpus"]
    assert messages(Resources(gpus=2), own(gpus=2)) == {}


def test_all_nodes_count_together() -> None:
    allowed = own(gpus=4, cpus=8, memory_gb=16)
    assert messages(Resources(nodes=2, gpus=2, cpus=4, memory_gb=8), allowed) == {}
    found = messages(Resources(nodes=3, gpus=2, cpus=4, memory_gb=8), allowed)
    assert set(found) == {"gpus", "cpus", "memory_gb"}
    assert "16 GB of memory at once" in found["memory_gb"]
    assert "this asks for 24. Ask for less" in found["memory_gb"]


@pytest.mark.parametrize(
    ("wanted", "field", "words"),
    [
        (Resources(time_limit_minutes=61), "time_limit_minutes", "last 1 hour at most"),
        (Resources(partition="cpu"), "partition", "these partitions: gpu, debug"),
        (Resources(account="other"), "account", "these accounts: research"),
        (Resources(qos="high"), "qos", "these QOS: normal"),
    ],
)
def test_what_is_not_among_the_allowed_is_refused(
    wanted: Resources, field: str, words: str
) -> None:
    allowed = own(
        time_limit_minutes=60, partitions=["gpu", "debug"], accounts=["research"], qos=["normal"]
    )
    assert words in messages(wanted, allowed)[field]


def test_only_unrequested_values_are_adjusted() -> None:
    allowed = own(time_limit_minutes=60, partitions=["small", "gpu"], accounts=["research"])
    wanted = Resources(partition="cpu", time_limit_minutes=240, account="site")
    runs = lambda other: other.partition != "small"  # noqa: E731
    found = apply_limits(wanted, (), allowed, runs)
    assert (found.partition, found.time_limit_minutes, found.account) == ("gpu", 60, "research")
    named = ("partition", "time_limit_minutes", "account")
    assert apply_limits(wanted, named, allowed, runs) == wanted


def test_gpus_are_counted_by_type() -> None:
    allowed = own(gpus_by_type={"v100": 1})
    assert "1 GPU of type v100" in messages(Resources(gpus=2, gpu_type="v100"), allowed)["gpus"]
    assert messages(Resources(gpus=4, gpu_type="a100"), allowed) == {}
    only = set_gpu_type(Resources(partition="gpu", gpus=1), allowed, CLUSTER)
    assert only.gpu_type == "v100"
    mixed = set_gpu_type(Resources(partition="mixed", gpus=1), allowed, CLUSTER)
    assert "choose one of a100, v100" in messages(mixed, allowed)["gpu_type"]
    assert messages(Resources(partition="mixed"), allowed) == {}


def test_what_the_account_of_a_group_can_never_have_is_refused() -> None:
    shared = [GroupTotal("physics", "phys", LimitValues(gpus=2))]
    allowed = Allowance({}, shared)
    found = messages(Resources(gpus=3, account="phys"), allowed)
    assert found["gpus"].startswith("All members of physics together may use 2 GPUs at once")
    assert messages(Resources(gpus=3, account="research"), allowed) == {}


def test_sessions_and_jobs_are_counted() -> None:
    limit = EffectiveLimit(1, LimitSource(LimitScope.MEMBER, "physics"))
    assert explain_too_many("session", 0, 1, limit) is None
    assert explain_too_many("session", 1, 1, limit) == (
        "You may have 1 session at a time (the limit of your group physics); 1 of yours waits or"
        " runs now. Stop one, or ask your administrators."
    )
    none = explain_too_many("session", 0, 1, EffectiveLimit(0, LimitSource(LimitScope.DEFAULT)))
    assert none is not None
    assert none.endswith("0 of yours wait or run now. Ask your administrators for more.")
    array = explain_too_many("job", 0, 10, EffectiveLimit(5, LimitSource(LimitScope.DEFAULT)))
    assert array is not None
    assert "0 of yours wait or run now, and this would be 10 more. Submit fewer" in array
    assert explain_too_many_in_group("job", 4, 1, 5, "physics") is None
    assert "All members of physics together" in str(
        explain_too_many_in_group("job", 5, 1, 5, "physics")
    )


# --- group managers -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_", "fields"),
    [
        (LimitValues(gpus=4, partitions=["gpu"]), []),
        (LimitValues(gpus=5), ["gpus"]),
        (LimitValues(partitions=["gpu", "cpu"]), ["partitions"]),
        (LimitValues(accounts=["other"]), ["accounts"]),
        (LimitValues(cpus=1000), []),
        (LimitValues(gpus_by_type={"v100": 2}), []),
        (LimitValues(gpus_by_type={"v100": 3}), ["gpus_by_type"]),
        (LimitValues(gpus_by_type={"a100": 1}), ["gpus_by_type"]),
    ],
)
def test_a_manager_gives_no_more_than_the_group_has(given_: LimitValues, fields: list[str]) -> None:
    ceiling = LimitValues(gpus=4, partitions=["gpu"], gpus_by_type={"v100": 2})
    assert [error.field for error in find_exceeding(given_, ceiling, None)] == fields


def test_what_an_administrator_has_set_a_manager_only_lowers() -> None:
    ceiling, set_ = LimitValues(gpus=8), LimitValues(gpus=2)
    assert find_exceeding(LimitValues(gpus=1), ceiling, set_) == []
    for more in (LimitValues(gpus=3), LimitValues()):
        (error,) = find_exceeding(more, ceiling, set_)
        assert (error.field, error.message) == (
            "gpus",
            "An administrator or another group's manager set this limit: at most 2.",
        )
