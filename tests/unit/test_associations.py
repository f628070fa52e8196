"""What Slurm's associations should be, against what it was told and what it has."""

from __future__ import annotations

from typing import Any

from portal.services.limits.associations import (
    ABSENT,
    AGAIN,
    HERE,
    PRESENT,
    Verdict,
    World,
    compare,
    label,
    shown,
    taken_for_told,
    wanted,
)
from portal.services.limits.limit_rules import Figures, effective
from portal.services.limits.slurm_limits import Standing, lines_for
from spawner.parse_accounting import Facts, Place

FACTS = Facts("demo", frozenset({"limits"}), frozenset({"cpu", "mem", "gres/gpu"}))
BASE: Place = ("research", "bob", "")
FOUND: dict[Place, dict[str, Any]] = {
    ("root", "", ""): {},
    ("research", "", ""): {},
    ("teaching", "", ""): {},
    BASE: {},
    ("root", "bob", ""): {},
}


def world(
    found: dict[Place, dict[str, Any]] | None = None,
    seen: dict[Place, dict[str, Any]] | None = None,
    accounts: dict[str, Figures] | None = None,
    **said: Any,
) -> World:
    people = {"bob": effective(("bob", Figures(**said)), {}, None)} if said else {}
    return World(
        people=people,
        accounts=accounts or {},
        found=FOUND if found is None else found,
        seen=seen or {},
        partitions=frozenset({"cpu", "gpu"}),
        facts=FACTS,
    )


def verdict(
    should: dict[str, Any],
    told: dict[str, Any],
    found: dict[str, Any] | None,
    accepted: dict[str, Any] | None = None,
    place: Place = BASE,
) -> Verdict:
    return compare(place, should, told, found, accepted or {})


# --- what should be -----------------------------------------------------------------------------


def test_all_of_a_persons_accounts_but_the_root_get_the_figures() -> None:
    found = wanted(world(gpus=2, memory_gb=4, time_limit_minutes=60, sessions=1, jobs=4))
    assert found == {
        BASE: {"gres/gpu": 2, "mem": 4096, "MaxSubmitJobs": 5, "MaxWall": 60},
    }


def test_nothing_said_is_nothing_wanted() -> None:
    assert wanted(world()) == {}
    assert wanted(world(sessions=1)) == {}  # alone it can't be said to Slurm
    assert wanted(world(gpus_by_type={"k80": 1})) == {}  # which Slurm doesn't count


def test_accounts_are_added_and_taken_away() -> None:
    people = {"bob": effective(("bob", Figures(accounts=["teaching", "gone"])), {}, None)}
    here = World(people, {}, FOUND, {}, frozenset(), FACTS)
    assert wanted(here) == {BASE: {HERE: ABSENT}, ("teaching", "bob", ""): {HERE: PRESENT}}


def test_a_partition_that_is_not_allowed_is_closed() -> None:
    found = wanted(world(partitions=["gpu"], gpus=1))
    assert found == {
        BASE: {"gres/gpu": 1},
        ("research", "bob", "cpu"): {HERE: PRESENT, "MaxSubmitJobs": 0},
    }


def test_an_operators_own_association_of_a_partition_is_limited_too() -> None:
    gpu: Place = ("research", "bob", "gpu")
    assert wanted(world({**FOUND, gpu: {}}, gpus=1))[gpu] == {"gres/gpu": 1}


def test_what_a_group_has_together_is_its_accounts() -> None:
    shared = {"research": Figures(gpus=8, sessions=2, jobs=3), "nowhere": Figures(gpus=1)}
    found = wanted(world(accounts=shared))
    assert found == {("research", "", ""): {"gres/gpu": 8, "GrpSubmitJobs": 5}}


# --- comparing ----------------------------------------------------------------------------------


def test_what_slurm_has_yet_to_hear_is_told_once() -> None:
    assert verdict({"gres/gpu": 1}, {}, {}).tell == {"gres/gpu": 1}
    after = verdict({"gres/gpu": 1}, {}, {"gres/gpu": 1})
    assert (after.tell, after.told, after.drift) == ({}, {"gres/gpu": 1}, {})


def test_what_an_operator_set_and_no_limit_speaks_of_is_left_alone() -> None:
    found = verdict({"gres/gpu": 1}, {"gres/gpu": 1}, {"gres/gpu": 1, "cpu": 8})
    assert found == Verdict(told={"gres/gpu": 1})


def test_a_change_by_hand_is_drift_until_it_is_accepted_or_the_limit_changes() -> None:
    told = {"gres/gpu": 1}
    assert verdict(told, told, {"gres/gpu": 4}).drift == {"gres/gpu": (1, 4)}
    assert verdict(told, told, {}).drift == {"gres/gpu": (1, None)}
    accepted = verdict(told, told, {"gres/gpu": 4}, {"gres/gpu": 4})
    assert (accepted.drift, accepted.accepted) == ({}, {"gres/gpu": 4})
    assert verdict(told, told, {"gres/gpu": 5}, {"gres/gpu": 4}).drift == {"gres/gpu": (1, 5)}
    changed = verdict({"gres/gpu": 2}, told, {"gres/gpu": 4}, {"gres/gpu": 4})
    assert (changed.tell, changed.accepted) == ({"gres/gpu": 2}, {})


def test_a_limit_that_ends_is_taken_back_unless_somebody_has_changed_it() -> None:
    assert verdict({}, {"gres/gpu": 1}, {"gres/gpu": 1}).tell == {"gres/gpu": None}
    assert verdict({}, {"gres/gpu": 1}, {"gres/gpu": 4}) == Verdict()
    assert verdict({}, {"gres/gpu": 1}, {}) == Verdict()


def test_any_allowed_qos_may_be_the_default_one() -> None:
    should = {"QOS": ["high", "normal"], "DefaultQOS": "high"}
    found = verdict(should, {}, {"QOS": ["high", "normal"], "DefaultQOS": "normal"})
    assert found.tell == {}
    assert verdict(should, {}, {"QOS": ["normal"]}).tell == should


def test_an_association_that_is_gone_is_drift_and_given_again_with_its_figures() -> None:
    told = {"gres/gpu": 1}
    seen: dict[Place, dict[str, Any]] = {BASE: told}
    left = {place: figures for place, figures in FOUND.items() if place != BASE}
    should = wanted(world(left, seen, gpus=1))[BASE]
    assert should == {HERE: PRESENT, "gres/gpu": 1}
    first = verdict(should, told, None)
    assert first == Verdict(told={HERE: PRESENT, **told}, drift={HERE: (PRESENT, ABSENT)})
    assert verdict(should, first.told, None) == first
    stands = verdict(should, first.told, None, {HERE: ABSENT})
    assert (stands.tell, stands.drift, stands.accepted) == ({}, {}, {HERE: ABSENT})
    assert verdict({**should, "gres/gpu": 2}, first.told, None).tell == {}  # while it is gone
    assert verdict(should, {HERE: AGAIN}, None).tell == should  # mended
    assert verdict(told, {HERE: AGAIN}, told) == Verdict(told=told)
    assert verdict({}, first.told, None) == Verdict()  # the limit has ended


def test_what_the_portal_took_away_or_what_lost_its_account_is_not_missed() -> None:
    left = {place: figures for place, figures in FOUND.items() if place != BASE}
    assert BASE not in wanted(world(left, {BASE: {HERE: ABSENT}}, gpus=1))
    without = {place: figures for place, figures in left.items() if place[0] != "research"}
    assert BASE not in wanted(world(without, {BASE: {"gres/gpu": 1}}, gpus=1))


def test_a_closed_partition_is_opened_again_and_a_kept_account_stays() -> None:
    told = {HERE: PRESENT, "MaxSubmitJobs": 0}
    closed = verdict({}, told, {"MaxSubmitJobs": 0}, place=("research", "bob", "cpu"))
    assert closed.tell == {HERE: ABSENT}
    assert verdict({}, {HERE: PRESENT}, {}) == Verdict()
    assert verdict({}, {HERE: ABSENT}, None) == Verdict()


def test_an_account_given_by_hand_later_is_shown_before_it_is_taken() -> None:
    place: Place = ("teaching", "bob", "")
    told = taken_for_told(place, {HERE: ABSENT}, True)
    assert verdict({HERE: ABSENT}, dict(told), {}, place=place).drift == {HERE: (ABSENT, PRESENT)}
    told = taken_for_told(place, {HERE: ABSENT}, False)
    assert verdict({HERE: ABSENT}, dict(told), {}, place=place).tell == {HERE: ABSENT}


def test_figures_as_people_read_them() -> None:
    figures = {"mem": 4096, "MaxWall": 1530, "gres/gpu:v100": 2, "QOS": ["high", "normal"]}
    assert [(label(name), shown(name, value)) for name, value in figures.items()] == [
        ("Memory at once", "4 GB"),
        ("Longest time", "25 h 30 min"),
        ("GPUs of type v100 at once", "2"),
        ("QOS", "high, normal"),
    ]
    assert [shown("MaxWall", minutes) for minutes in (30, 1440)] == ["30 minutes", "24 h"]
    assert shown("gres/gpu", None) == "no limit"


# --- lines --------------------------------------------------------------------------------------


def test_who_gets_the_same_is_in_one_line_and_what_goes_comes_last() -> None:
    due = [
        Standing("1", ("research", "bob", ""), tell={"gres/gpu": 1}),
        Standing("2", ("research", "alice", ""), tell={"gres/gpu": 1}),
        Standing("3", ("research", "carol", ""), tell={HERE: ABSENT}),
        Standing("4", ("teaching", "carol", ""), tell={HERE: PRESENT, "gres/gpu": 1}),
        Standing("5", ("teaching", "carol", "cpu"), tell={HERE: PRESENT, "MaxSubmitJobs": 0}),
        Standing("6", ("teaching", "", ""), tell={"cpu": 9}),
    ]
    lines = [line for line, _ in lines_for(due, "demo", {"carol": "teaching"})]
    assert lines == [
        "add user carol account=teaching cluster=demo",
        "add user carol account=teaching cluster=demo partition=cpu",
        "modify user alice,bob where account=research cluster=demo partition= set"
        " GrpTRES=gres/gpu=1",
        "modify user carol where account=teaching cluster=demo partition= set GrpTRES=gres/gpu=1",
        "modify account teaching where cluster=demo set GrpTRES=cpu=9",
        "modify user carol where account=teaching cluster=demo partition=cpu set MaxSubmitJobs=0",
        "modify user carol where cluster=demo set DefaultAccount=teaching",
        "remove user carol where account=research cluster=demo",
    ]


def test_many_users_are_cut_into_lines() -> None:
    due = [Standing(str(n), ("research", f"u{n}", ""), tell={"cpu": 1}) for n in range(250)]
    lines = lines_for(due, "demo", {})
    assert [len(group) for _, group in lines] == [100, 100, 50]
