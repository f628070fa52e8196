"""Commands for sacctmgr: what shares a line, and their order."""

from portal.services.limits.association_lines import build_lines
from portal.services.limits.association_states import AssociationState
from portal.services.limits.associations import ABSENT, EXISTS, PRESENT


def test_equal_values_share_a_line_and_removals_come_last() -> None:
    due = [
        AssociationState("1", ("research", "bob", ""), pending={"gres/gpu": 1}),
        AssociationState("2", ("research", "alice", ""), pending={"gres/gpu": 1}),
        AssociationState("3", ("research", "carol", ""), pending={EXISTS: ABSENT}),
        AssociationState("4", ("teaching", "carol", ""), pending={EXISTS: PRESENT, "gres/gpu": 1}),
        AssociationState(
            "5", ("teaching", "carol", "cpu"), pending={EXISTS: PRESENT, "MaxSubmitJobs": 0}
        ),
        AssociationState("6", ("teaching", "", ""), pending={"cpu": 9}),
    ]
    lines = [line for line, _ in build_lines(due, "demo", {"carol": "teaching"})]
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


def test_many_users_are_split_into_lines() -> None:
    due = [
        AssociationState(str(n), ("research", f"u{n}", ""), pending={"cpu": 1}) for n in range(250)
    ]
    lines = build_lines(due, "demo", {})
    assert [len(group) for _, group in lines] == [100, 100, 50]
