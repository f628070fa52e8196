"""Slurm's desired associations, compared with those last applied and the actual ones."""

from __future__ import annotations

from typing import Any

from portal.services.limits.associations import (
    ABSENT,
    EXISTS,
    PRESENT,
    RESTORE,
    AssociationDiff,
    AssociationInput,
    assume_applied,
    compare,
    desired_values,
    format_value,
    label,
)
from portal.services.limits.limit_rules import LimitValues, merge_limits
from spawner.slurm.parse_accounting import AssociationKey, ClusterFacts

FACTS = ClusterFacts("demo", frozenset({"limits"}), frozenset({"cpu", "mem", "gres/gpu"}))
BASE: AssociationKey = ("research", "bob", "")
FOUND: dict[AssociationKey, dict[str, Any]] = {
    ("root", "", ""): {},
    ("research", "", ""): {},
    ("teaching", "", ""): {},
    BASE: {},
    ("root", "bob", ""): {},
}


def state(
    actual: dict[AssociationKey, dict[str, Any]] | None = None,
    applied: dict[AssociationKey, dict[str, Any]] | None = None,
    accounts: dict[str, LimitValues] | None = None,
    **limits: Any,
) -> AssociationInput:
    users = {"bob": merge_limits(("bob", LimitValues(**limits)), {}, None)} if limits else {}
    return AssociationInput(
        users=users,
        accounts=accounts or {},
        actual=FOUND if actual is None else actual,
        applied=applied or {},
        partitions=frozenset({"cpu", "gpu"}),
        facts=FACTS,
    )


def diff(
    desired: dict[str, Any],
    applied: dict[str, Any],
    actual: dict[str, Any] | None,
    accepted: dict[str, Any] | None = None,
    place: AssociationKey = BASE,
) -> AssociationDiff:
    return compare(place, desired, applied, actual, accepted or {})


# --- desired state ------------------------------------------------------------------------------


def test_all_of_a_users_accounts_but_the_root_get_the_values() -> None:
    found = desired_values(state(gpus=2, memory_gb=4, time_limit_minutes=60, sessions=1, jobs=4))
    assert found == {
        BASE: {"gres/gpu": 2, "mem": 4096, "MaxSubmitJobs": 5, "MaxWall": 60},
    }


def test_unset_limits_yield_no_desired_values() -> None:
    assert desired_values(state()) == {}
    assert desired_values(state(sessions=1)) == {}  # cannot be expressed in Slurm alone
    assert desired_values(state(gpus_by_type={"k80": 1})) == {}  # which Slurm does not count


def test_accounts_are_added_and_taken_away() -> None:
    users = {"bob": merge_limits(("bob", LimitValues(accounts=["teaching", "gone"])), {}, None)}
    here = AssociationInput(users, {}, FOUND, {}, frozenset(), FACTS)
    assert desired_values(here) == {
        BASE: {EXISTS: ABSENT},
        ("teaching", "bob", ""): {EXISTS: PRESENT},
    }


def test_a_partition_that_is_not_allowed_is_closed() -> None:
    found = desired_values(state(partitions=["gpu"], gpus=1))
    assert found == {
        BASE: {"gres/gpu": 1},
        ("research", "bob", "cpu"): {EXISTS: PRESENT, "MaxSubmitJobs": 0},
    }


def test_an_operators_own_association_of_a_partition_is_limited_too() -> None:
    gpu: AssociationKey = ("research", "bob", "gpu")
    assert desired_values(state({**FOUND, gpu: {}}, gpus=1))[gpu] == {"gres/gpu": 1}


def test_what_a_group_has_together_is_its_accounts() -> None:
    shared = {"research": LimitValues(gpus=8, sessions=2, jobs=3), "nowhere": LimitValues(gpus=1)}
    found = desired_values(state(accounts=shared))
    assert found == {("research", "", ""): {"gres/gpu": 8, "GrpSubmitJobs": 5}}


# --- comparing ----------------------------------------------------------------------------------


def test_pending_limit_is_applied_once() -> None:
    assert diff({"gres/gpu": 1}, {}, {}).pending == {"gres/gpu": 1}
    after = diff({"gres/gpu": 1}, {}, {"gres/gpu": 1})
    assert (after.pending, after.applied, after.drift) == ({}, {"gres/gpu": 1}, {})


def test_what_an_operator_set_and_no_limit_speaks_of_is_left_alone() -> None:
    found = diff({"gres/gpu": 1}, {"gres/gpu": 1}, {"gres/gpu": 1, "cpu": 8})
    assert found == AssociationDiff(applied={"gres/gpu": 1})


def test_a_change_by_hand_is_drift_until_it_is_accepted_or_the_limit_changes() -> None:
    applied = {"gres/gpu": 1}
    assert diff(applied, applied, {"gres/gpu": 4}).drift == {"gres/gpu": (1, 4)}
    assert diff(applied, applied, {}).drift == {"gres/gpu": (1, None)}
    accepted = diff(applied, applied, {"gres/gpu": 4}, {"gres/gpu": 4})
    assert (accepted.drift, accepted.accepted) == ({}, {"gres/gpu": 4})
    assert diff(applied, applied, {"gres/gpu": 5}, {"gres/gpu": 4}).drift == {"gres/gpu": (1, 5)}
    changed = diff({"gres/gpu": 2}, applied, {"gres/gpu": 4}, {"gres/gpu": 4})
    assert (changed.pending, changed.accepted) == ({"gres/gpu": 2}, {})


def test_removed_limit_is_cleared_unless_changed_outside() -> None:
    assert diff({}, {"gres/gpu": 1}, {"gres/gpu": 1}).pending == {"gres/gpu": None}
    assert diff({}, {"gres/gpu": 1}, {"gres/gpu": 4}) == AssociationDiff()
    assert diff({}, {"gres/gpu": 1}, {}) == AssociationDiff()


def test_any_allowed_qos_may_be_the_default_one() -> None:
    desired = {"QOS": ["high", "normal"], "DefaultQOS": "high"}
    found = diff(desired, {}, {"QOS": ["high", "normal"], "DefaultQOS": "normal"})
    assert found.pending == {}
    assert diff(desired, {}, {"QOS": ["normal"]}).pending == desired


def test_an_association_that_is_gone_is_drift_and_given_again_with_its_values() -> None:
    applied = {"gres/gpu": 1}
    seen: dict[AssociationKey, dict[str, Any]] = {BASE: applied}
    left = {place: values for place, values in FOUND.items() if place != BASE}
    desired = desired_values(state(left, seen, gpus=1))[BASE]
    assert desired == {EXISTS: PRESENT, "gres/gpu": 1}
    first = diff(desired, applied, None)
    assert first == AssociationDiff(
        applied={EXISTS: PRESENT, **applied}, drift={EXISTS: (PRESENT, ABSENT)}
    )
    assert diff(desired, first.applied, None) == first
    stands = diff(desired, first.applied, None, {EXISTS: ABSENT})
    assert (stands.pending, stands.drift, stands.accepted) == ({}, {}, {EXISTS: ABSENT})
    # while the association is missing
    assert diff({**desired, "gres/gpu": 2}, first.applied, None).pending == {}
    assert diff(desired, {EXISTS: RESTORE}, None).pending == desired  # repaired
    assert diff(applied, {EXISTS: RESTORE}, applied) == AssociationDiff(applied=applied)
    assert diff({}, first.applied, None) == AssociationDiff()  # the limit was removed


def test_what_the_portal_took_away_or_what_lost_its_account_is_not_missed() -> None:
    left = {place: values for place, values in FOUND.items() if place != BASE}
    assert BASE not in desired_values(state(left, {BASE: {EXISTS: ABSENT}}, gpus=1))
    without = {place: values for place, values in left.items() if place[0] != "research"}
    assert BASE not in desired_values(state(without, {BASE: {"gres/gpu": 1}}, gpus=1))


def test_a_closed_partition_is_opened_again_and_a_kept_account_stays() -> None:
    applied = {EXISTS: PRESENT, "MaxSubmitJobs": 0}
    closed = diff({}, applied, {"MaxSubmitJobs": 0}, place=("research", "bob", "cpu"))
    assert closed.pending == {EXISTS: ABSENT}
    assert diff({}, {EXISTS: PRESENT}, {}) == AssociationDiff()
    assert diff({}, {EXISTS: ABSENT}, None) == AssociationDiff()


def test_an_account_given_by_hand_later_is_shown_before_it_is_taken() -> None:
    place: AssociationKey = ("teaching", "bob", "")
    applied = assume_applied(place, {EXISTS: ABSENT}, True)
    assert diff({EXISTS: ABSENT}, dict(applied), {}, place=place).drift == {
        EXISTS: (ABSENT, PRESENT)
    }
    applied = assume_applied(place, {EXISTS: ABSENT}, False)
    assert diff({EXISTS: ABSENT}, dict(applied), {}, place=place).pending == {EXISTS: ABSENT}


def test_values_as_users_read_them() -> None:
    values = {"mem": 4096, "MaxWall": 1530, "gres/gpu:v100": 2, "QOS": ["high", "normal"]}
    assert [(label(name), format_value(name, value)) for name, value in values.items()] == [
        ("Memory at once", "4 GB"),
        ("Time limit", "1 day 1 hour 30 minutes"),
        ("GPUs of type v100 at once", "2"),
        ("QOS", "high, normal"),
    ]
    assert [format_value("MaxWall", minutes) for minutes in (30, 1440)] == ["30 minutes", "1 day"]
    assert format_value("gres/gpu", None) == "no limit"
