"""Filters, orders and pages of the cluster's nodes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from portal.errors import PortalError
from portal.services.cluster.conditions import Condition
from portal.services.cluster.node_rows import (
    NO_GPU,
    NodeFilter,
    NodeOrder,
    NodeRow,
    NodeView,
    build_rows,
    find_own_rows,
    matches,
    sum_gpus,
    take_page,
)
from portal.services.cluster.snapshot import ClusterSnapshot, build_snapshot
from spawner.slurm.model import ClusterInfo, JobInfo, JobPhase, NodeInfo

AT = datetime(2030, 1, 1, tzinfo=UTC)
JOBS = {
    1: JobInfo(1, "alice", "train", JobPhase.RUNNING, "RUNNING", nodes=("n1",), gpus=(("v100", 1),))
}


def node(name: str, state: str = "MIXED", **values: Any) -> NodeInfo:
    sizes = {"cpus": 32, "cpus_allocated": 8, "memory_mb": 131072, "memory_allocated_mb": 65536}
    return NodeInfo(name, "10.0.0.1", state, **{"partitions": ("gpu", "debug"), **sizes, **values})


GPUS: dict[str, Any] = {"gpus": {"v100": 4}, "gpus_allocated": {"v100": 3}}
NODES = (
    node("n10", cpus_allocated=2, partitions=("cpu",)),
    node("n2", "IDLE+DRAIN", reason="Fan 2 broken", gpus={"v100": 4}),
    node("n1", **GPUS),
    node("n3", "ALLOCATED", cpus_allocated=32, gpus={"a100": 8}, gpus_allocated={"a100": 8}),
)


def rows() -> tuple[tuple[NodeRow, ...], ClusterSnapshot]:
    snapshot = build_snapshot(JOBS)
    return build_rows(ClusterInfo(NODES, (), AT), snapshot), snapshot


def test_rows_are_kept_while_their_node_and_its_jobs_stay_the_same() -> None:
    before, _ = rows()
    again, snapshot = rows()
    assert build_rows(ClusterInfo(NODES, (), AT), snapshot, before) is before
    changed = (*NODES[:1], replace(NODES[1], state="IDLE"), *NODES[2:])
    news = build_rows(ClusterInfo(changed, (), AT), build_snapshot({}), before)
    kept = [new is old for new, old in zip(news, before, strict=True)]
    assert kept == [True, False, False, True]  # n2 has another state, n1 no job any longer
    assert news == build_rows(ClusterInfo(changed, (), AT), build_snapshot({}))
    assert build_rows(ClusterInfo(NODES[1:], (), AT), snapshot, before) == again[1:]


def found(wanted: NodeFilter, username: str = "alice", more: str = "") -> list[str]:
    return [row.node.name for row in rows()[0] if matches(row, wanted, username, more)]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (NodeFilter(), ["n10", "n2", "n1", "n3"]),
        (NodeFilter(words=("fan", "broken")), ["n2"]),
        (NodeFilter(words=("v100", "debug")), ["n2", "n1"]),
        (NodeFilter(words=("drain",)), ["n2"]),
        (NodeFilter(words=("nothing",)), []),
        (NodeFilter(state=Condition.DRAINED), ["n2"]),
        (NodeFilter(state=Condition.UNKNOWN), []),
        (NodeFilter(partition="cpu"), ["n10"]),
        (NodeFilter(partition="cp"), []),
        (NodeFilter(gpu_type="v100"), ["n2", "n1"]),
        (NodeFilter(gpu_type="v100", gpus_free=1), ["n1"]),
        (NodeFilter(gpu_type="v100", gpus_free=2), []),
        (NodeFilter(gpus_free=1), ["n1"]),
        (NodeFilter(gpu_type=NO_GPU), ["n10"]),
        (NodeFilter(show="free"), ["n10", "n1"]),
        (NodeFilter(show="mine"), ["n1"]),
        (NodeFilter(show="busy"), ["n1"]),
        (NodeFilter(show="out"), ["n2"]),
        (NodeFilter(show="free", partition="gpu"), ["n1"]),
    ],
)
def test_a_filter_selects(wanted: NodeFilter, expected: list[str]) -> None:
    assert found(wanted) == expected


def test_a_filter_for_own_jobs_differs_by_user() -> None:
    assert found(NodeFilter(show="mine"), "bob") == []


def test_the_search_includes_what_only_some_may_see() -> None:
    assert found(NodeFilter(words=("10.9", "n1")), more="10.9.0.1") == ["n10", "n1"]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (NodeOrder.NAME, ["n1", "n2", "n3", "n10"]),
        (NodeOrder.STATE, ["n2", "n3", "n1", "n10"]),
        (NodeOrder.GPUS, ["n1", "n2", "n3", "n10"]),
        (NodeOrder.CPUS, ["n10", "n1", "n2", "n3"]),
        (NodeOrder.MEMORY, ["n1", "n3", "n10", "n2"]),
        (NodeOrder.PARTITIONS, ["n10", "n1", "n2", "n3"]),
    ],
)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5])
def test_pages_together_have_every_node_once_in_order(
    order: NodeOrder, expected: list[str], descending: bool, limit: int
) -> None:
    names: list[str] = []
    cursor = None
    for _ in range(10):
        page, cursor = take_page(rows()[0], order, descending, limit, cursor)
        assert len(page) <= limit
        names += [row.node.name for row in page]
        if cursor is None:
            break
    assert names == (expected[::-1] if descending else expected)


def test_a_page_continues_after_a_node_that_is_gone() -> None:
    _, cursor = take_page(rows()[0], NodeOrder.NAME, False, 2, None)
    left = [row for row in rows()[0] if row.node.name != "n2"]
    page, _ = take_page(left, NodeOrder.NAME, False, 2, cursor)
    assert [row.node.name for row in page] == ["n3", "n10"]


@pytest.mark.parametrize("cursor", ["", "n1", "many~n1", "1~n1", "--1~n1", f"-{'9' * 50}~n1"])
def test_a_cursor_of_another_list_is_refused(cursor: str) -> None:
    with pytest.raises(PortalError) as refused:
        take_page(rows()[0], NodeOrder.GPUS, False, 2, cursor)
    assert [error.field for error in refused.value.errors] == ["cursor"]


def test_a_users_own_gpus_are_theirs_and_others_for_all_others() -> None:
    shared, snapshot = rows()
    own = find_own_rows(shared, snapshot, "alice")
    assert list(own) == ["n1"]
    (mine,) = own["n1"].gpus
    assert (mine.mine, mine.free, mine.others + mine.unclear) == (1, 1, 2)
    assert find_own_rows(shared, snapshot, "bob") == {}
    (of_others,) = next(row for row in shared if row.node.name == "n1").gpus
    assert (of_others.mine, of_others.free) == (0, 1)
    sums = sum_gpus(NodeView(AT, shared, own).rows())
    assert [(gpus.type, gpus.total, gpus.free, gpus.mine, gpus.out) for gpus in sums] == [
        ("a100", 8, 0, 0, 0),
        ("v100", 8, 1, 1, 4),
    ]
