"""Reservations and a job's longest run time, from recorded responses of a real Slurm."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from spawner.slurm.model import ReservationInfo, WallLimit
from spawner.slurm.parse import BadOutput
from spawner.slurm.parse_bounds import parse_reservations, parse_wall_limits
from tests.paths import TESTS

RECORDED = TESTS / "data/slurm/22.05.8"


def test_reservations_with_their_nodes_and_whether_it_is_maintenance() -> None:
    found = parse_reservations((RECORDED / "reservations.txt").read_text())
    assert found[0] == ReservationInfo(
        "m1",
        datetime(2026, 11, 22, 7, 7, 1, tzinfo=UTC),
        datetime(2026, 11, 22, 8, 7, 1, tzinfo=UTC),
        ("node01", "node02", "node03"),
        maintenance=True,
        users=("root",),
    )
    assert [(one.name, one.nodes, one.maintenance, one.users) for one in found[1:]] == [
        ("m2", ("node01",), False, ("bob",)),
        ("m3", ("node01",), False, ("root",)),
    ]


def test_users_and_accounts_of_a_reservation_are_parsed() -> None:
    times = "StartTime=2026-11-22T07:07:01 EndTime=2026-11-22T08:07:01"
    (found,) = parse_reservations(
        f"ReservationName=m4 {times} Nodes=(null) Users=bob,-eve Accounts=teaching\n"
    )
    assert (found.nodes, found.users, found.accounts) == ((), ("bob", "-eve"), ("teaching",))


def test_no_reservations_at_all() -> None:
    assert parse_reservations("No reservations in the system\n") == ()


def test_a_reservation_without_its_times_is_not_believed() -> None:
    with pytest.raises(BadOutput):
        parse_reservations("ReservationName=m1 StartTime=N/A EndTime=N/A Nodes=node01\n")


@pytest.mark.parametrize(
    ("user", "account", "qos", "expected"),
    [
        ("alice", "research", None, [WallLimit(40, "account", "research")]),
        # the account's own limit is in its user's association
        ("alice", "teaching", None, [WallLimit(300, "account", "teaching")]),
        ("alice", None, "normal", [WallLimit(180, "qos", "normal")]),
        ("bob", "research", "high", []),
        ("lice", "research", None, []),
    ],
)
def test_what_bounds_the_time_of_one_job(
    user: str, account: str | None, qos: str | None, expected: list[WallLimit]
) -> None:
    text = (RECORDED / "assoc_mgr.txt").read_text()
    found = parse_wall_limits(text, user=user, account=account, qos=qos, partition="cpu")
    assert list(found) == expected


def test_an_association_of_another_partition_bounds_nothing() -> None:
    line = "Account=a UserName=alice(1) Partition={} MaxWallPJ=9"
    for partition, count in (("cpu", 1), ("gpu", 0), ("", 1)):
        text = line.format(partition)
        found = parse_wall_limits(text, user="alice", account="a", qos=None, partition="cpu")
        assert len(found) == count
