"""The cluster overview for a viewer, from squeue's output and the nodes' states."""

import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.services.cluster.conditions import Condition, get_condition
from portal.services.cluster.gpus import GpuAllocation, NodeShare, compute_shares, list_allocations
from portal.services.cluster.identity_cache import IdentityCache
from portal.services.cluster.reservations import is_for, list_reservations
from portal.services.cluster.snapshot import Queue, build_snapshot
from spawner.slurm.model import JobInfo, JobPhase, NodeInfo, ReservationInfo
from spawner.slurm.parse import parse_squeue
from tests.paths import TESTS

RECORDED = TESTS / "data/slurm/22.05.8/squeue.txt"
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
NODE = NodeInfo("n1", "10.0.0.1", "MIXED", gpus={"v100": 4}, gpus_allocated={"v100": 3})


def job(number: int, user: str = "alice", **values: Any) -> JobInfo:
    base: dict[str, Any] = {"phase": JobPhase.RUNNING, "slurm_state": "", "nodes": ("n1",)}
    return JobInfo(number, user, f"job {number}", **{**base, "partition": "gpu", **values})


def waits(number: int, user: str = "alice", **values: Any) -> JobInfo:
    return job(number, user, **{"phase": JobPhase.QUEUED, "nodes": (), **values})


def of(*jobs: JobInfo) -> Mapping[int, JobInfo]:
    return {job.job_id: job for job in jobs}


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("IDLE", Condition.FREE), ("MIXED", Condition.PARTLY), ("ALLOCATED", Condition.FULL),
        ("MIXED+PLANNED", Condition.PARTLY), ("IDLE+COMPLETING", Condition.FREE),
        ("IDLE+DRAIN", Condition.DRAINED), ("MIXED+DRAIN", Condition.DRAINING),
        ("ALLOCATED+DRAIN", Condition.DRAINING), ("DOWN+NOT_RESPONDING", Condition.DOWN),
        ("DOWN*", Condition.DOWN), ("IDLE*", Condition.SILENT),
        ("IDLE+MAINT", Condition.MAINTENANCE), ("IDLE+MAINT+RESERVED", Condition.MAINTENANCE),
        ("IDLE+RESERVED", Condition.RESERVED),
        ("IDLE+POWERED_DOWN", Condition.ASLEEP), ("IDLE~", Condition.ASLEEP),
        ("IDLE+POWERING_UP", Condition.WAKING), ("IDLE+REBOOT_REQUESTED", Condition.RESTARTING),
        ("FUTURE", Condition.UNKNOWN), ("", Condition.UNKNOWN),
    ],
)  # fmt: skip
def test_slurms_states_in_one_word(state: str, expected: Condition) -> None:
    assert get_condition(state) is expected


class TestGpus:
    def test_mine_others_and_free(self) -> None:
        jobs = (job(1, gpus=(("v100", 1),)), job(2, "bob", gpus=(("gpu", 2),)))
        assert list_allocations(NODE, jobs, "alice") == [
            GpuAllocation("v100", 4, free=1, mine=1, others=2)
        ]
        assert list_allocations(NODE, jobs, "carol") == [GpuAllocation("v100", 4, free=1, others=3)]

    def test_what_a_job_did_not_say_by_node_is_whose_it_can_only_be(self) -> None:
        known = job(1, gpus=(("v100", 1),))
        assert list_allocations(NODE, (known, job(2)), "alice")[0].mine == 3
        assert list_allocations(NODE, (known, job(2, "bob")), "alice")[0].others == 2
        unclear = list_allocations(NODE, (known, job(2, "bob"), job(3)), "alice")[0]
        assert (unclear.mine, unclear.others, unclear.unclear, unclear.free) == (1, 0, 2, 1)

    def test_the_portals_own_jobs_have_what_they_named_and_no_more(self) -> None:
        jobs = parse_squeue(RECORDED.read_text(), "Mk7_recorded")
        there = {job.job_id: job for job in jobs if job.phase is JobPhase.RUNNING}
        without, with_two = there[31], there[29]
        assert (without.gpus, with_two.gpus) == ((), (("v100", 2),))
        node = replace(NODE, gpus_allocated={"v100": 2})
        mine, bobs = replace(without, uuid="of-a-session"), job(2, "bob", gpus=())
        assert list_allocations(node, (mine, bobs), "alice") == [
            GpuAllocation("v100", 4, free=2, others=2)
        ]
        assert list_allocations(node, (mine,), "alice")[0].mine == 0
        assert compute_shares(node, (mine, bobs)) == {
            "alice": NodeShare(1, 0),
            "bob": NodeShare(1, 2),
        }
        foreign = replace(mine, uuid=None)
        assert list_allocations(node, (foreign, bobs), "alice")[0].unclear == 2

    def test_a_node_that_takes_no_work_has_nothing_free(self) -> None:
        drained = replace(NODE, state="MIXED+DRAIN", gpus_allocated={"v100": 1})
        (use,) = list_allocations(drained, (job(1, gpus=(("v100", 1),)),), "alice")
        assert (use.free, use.mine, use.out) == (0, 1, 3)

    def test_jobs_newer_than_the_nodes_figures_count(self) -> None:
        old = replace(NODE, gpus_allocated={})
        (use,) = list_allocations(old, (job(1, gpus=(("v100", 2),)),), "alice")
        assert (use.mine, use.free) == (2, 2)

    def test_any_of_two_types_is_not_guessed(self) -> None:
        both = replace(NODE, gpus={"a100": 2, "v100": 2}, gpus_allocated={"a100": 1})
        jobs = (job(1, gpus=(("gpu", 1),)), job(2, "bob", gpus=(("v100", 1),)))
        a100, v100 = list_allocations(both, jobs, "alice")
        assert (a100.mine, a100.free) == (1, 1)
        assert (v100.others, v100.free) == (1, 1)

    def test_who_has_what_of_a_node(self) -> None:
        known = job(1, gpus=(("v100", 1),))
        assert compute_shares(NODE, (known, job(2, "bob"))) == {
            "alice": NodeShare(1, 1),
            "bob": NodeShare(1, 2),
        }
        both = compute_shares(NODE, (known, job(2, "bob"), job(3, "carol"), job(4, "carol")))
        assert both == {
            "alice": NodeShare(1, 1),
            "bob": NodeShare(1, None),
            "carol": NodeShare(2, None),
        }
        none_left = replace(NODE, gpus_allocated={"v100": 1})
        found = compute_shares(none_left, (known, job(2, "bob"), job(3, "carol")))
        assert found["bob"] == NodeShare(1, 0)

    @given(
        st.integers(0, 8),
        st.integers(0, 9),
        st.lists(st.tuples(st.booleans(), st.none() | st.integers(0, 9)), max_size=5),
        st.booleans(),
    )
    def test_the_parts_always_add_up(
        self, total: int, used: int, jobs: list[tuple[bool, int | None]], is_open: bool
    ) -> None:
        node = replace(
            NODE,
            state="MIXED" if is_open else "DOWN",
            gpus={"v100": total},
            gpus_allocated={"v100": used},
        )
        there = [
            job(number, "alice" if mine else "bob", gpus=None if n is None else (("gpu", n),))
            for number, (mine, n) in enumerate(jobs)
        ]
        (use,) = list_allocations(node, there, "alice")
        parts = (use.free, use.mine, use.others, use.unclear, use.out)
        assert sum(parts) == use.total == total
        assert min(parts) >= 0


class TestQueue:
    def test_places_are_in_the_order_of_priority_and_tasks_count(self) -> None:
        found = build_snapshot(
            of(
                waits(1, "bob"),
                waits(2, "bob", tasks=(0, 1, 2), array_job_id=2),
                waits(3),
                waits(4, reason="Resources"),
                job(5, "bob"),
            )
        )
        assert found.queues == {"gpu": Queue(running=1, in_line=6, aside=0)}
        assert [one.ahead for one in found.waiting["alice"]["gpu"]] == [4, 5]
        assert found.running["bob"] == {"gpu": 1}

    @pytest.mark.parametrize(
        "reason",
        ["JobHeldUser", "Dependency", "AssocGrpGRES", "QOSMaxJobsPerUserLimit", "BeginTime"],
    )
    def test_job_waiting_for_other_reasons_blocks_no_others(self, reason: str) -> None:
        found = build_snapshot(of(waits(1, "bob", reason=reason), waits(2)))
        assert found.queues["gpu"] == Queue(in_line=1, aside=1)
        assert [one.ahead for one in found.waiting["bob"]["gpu"]] == [None]
        assert [one.ahead for one in found.waiting["alice"]["gpu"]] == [0]

    def test_a_job_may_wait_in_several_partitions(self) -> None:
        found = build_snapshot(of(waits(1, "bob"), waits(2, partition="debug,gpu")))
        places = {name: jobs[0].ahead for name, jobs in found.waiting["alice"].items()}
        assert places == {"debug": 0, "gpu": 1}

    def test_what_has_ended_is_nowhere(self) -> None:
        found = build_snapshot(of(job(1, phase=JobPhase.ENDED)))
        assert (found.queues, found.on_node) == ({}, {})

    def test_what_still_holds_a_node_is_there(self) -> None:
        found = build_snapshot(
            of(
                *(
                    job(n, phase=state, nodes=("n1", "n2"))
                    for n, state in enumerate(
                        (JobPhase.RUNNING, JobPhase.SUSPENDED, JobPhase.COMPLETING)
                    )
                )
            )
        )
        assert {node: len(jobs) for node, jobs in found.on_node.items()} == {"n1": 3, "n2": 3}


def test_what_many_ask_of_one_look_is_made_once() -> None:
    kept: IdentityCache[list[str]] = IdentityCache()
    jobs, nodes = of(waits(1)), ("n1",)
    first = kept.get_or_compute(jobs, nodes, make=lambda: ["made"])
    assert kept.get_or_compute(jobs, nodes, make=lambda: ["again"]) is first
    assert kept.get_or_compute(dict(jobs), nodes, make=lambda: ["new"]) == ["new"]
    assert kept.get_or_compute(jobs, make=lambda: ["other"]) == ["other"]
    assert kept.last == ["other"]


def test_threads_that_ask_at_once_share_one_computation() -> None:
    kept: IdentityCache[int] = IdentityCache()
    origin, computed = object(), list[int]()
    all_ask = threading.Barrier(4)

    def make() -> int:
        time.sleep(0.05)  # the others ask while it computes
        computed.append(1)
        return len(computed)

    def ask(_: int) -> int:
        all_ask.wait(10)
        return kept.get_or_compute(origin, make=make)

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(ask, range(4))) == [1, 1, 1, 1]


def kept(name: str, starts_h: float, **values: Any) -> ReservationInfo:
    start = NOW + timedelta(hours=starts_h)
    return ReservationInfo(name, start, start + timedelta(hours=2), ("n1",), **values)


class TestAhead:
    def test_the_next_comes_first_and_what_is_over_is_gone(self) -> None:
        known = (kept("late", 5), kept("soon", 1), kept("on", -1), kept("over", -3))
        found = list_reservations(known, NOW, "carol", (), sees_all=True)
        assert [one.name for one in found] == ["on", "soon", "late"]

    def test_what_keeps_no_nodes_is_left_out(self) -> None:
        assert (
            list_reservations((replace(kept("licences", 1), nodes=()),), NOW, "carol", (), True)
            == []
        )

    def test_reservation_names_of_other_users_are_hidden(self) -> None:
        theirs = kept("bobs_course", 1, users=("bob",))
        works = kept("works", 1, users=("root",), maintenance=True)
        own = kept("mine", 1, users=("alice",))
        shown = list_reservations((theirs, works, own), NOW, "alice", (), sees_all=False)
        assert [(one.name, one.mine, one.kept_for) for one in shown] == [
            (None, False, None),
            ("mine", True, None),
            ("works", False, None),
        ]

    @pytest.mark.parametrize(
        ("users", "accounts", "expected"),
        [
            (("alice",), (), True),
            (("bob",), (), False),
            ((), ("lab",), True),
            ((), ("other",), False),
            (("-alice",), (), False),
            (("-bob",), (), True),
            (("alice",), ("-lab",), False),
            ((), (), False),
        ],
    )
    def test_is_for_matches_users_and_accounts(
        self, users: tuple[str, ...], accounts: tuple[str, ...], expected: bool
    ) -> None:
        assert is_for(kept("r", 1, users=users, accounts=accounts), "alice", {"lab"}) is expected
