"""The shared watcher: its polling interval and its notifications, with a fake Slurm."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.db import utcnow
from spawner.errors import Rejected, Unreachable
from spawner.slurm.call_budget import CallBudget, Pace
from spawner.slurm.job_tracker import NEW_JOB
from spawner.slurm.model import (
    JobInfo,
    JobPhase,
    JobUsage,
    NodeInfo,
    PartitionInfo,
    ReservationInfo,
)
from spawner.slurm.watcher import Watcher
from tests.polling import until
from tests.unit.spawner.slurm.slurm_jobs import KEY, NOW, job


class TestBudget:
    @given(st.lists(st.floats(0, 3), min_size=20, max_size=400), st.sampled_from([30, 60]))
    def test_no_minute_sees_more_than_allowed(self, gaps: list[float], per_minute: int) -> None:
        now, budget, calls = 0.0, CallBudget(5, 0.0), []
        for gap in gaps:
            now += gap
            now += budget.wait_s(per_minute, now)
            assert budget.wait_s(per_minute, now) < 1e-6
            budget.spend()
            calls.append(now)
        for first in calls:
            assert sum(first <= call < first + 60 for call in calls) <= per_minute

    def test_it_starts_full_and_refills(self) -> None:
        budget = CallBudget(5, 0.0)
        for _ in range(5):
            assert budget.wait_s(30, 0.0) == 0
            budget.spend()
        assert budget.wait_s(30, 0.0) == pytest.approx(60 / 25)
        assert budget.wait_s(30, 60.0) == 0


class PlayedSlurm:
    """Slurm as the watcher sees it. Behaviors: answers, `down`, and `gate` (slow until set)."""

    def __init__(self) -> None:
        self.shown: list[JobInfo] = []
        self.accounted: list[JobInfo] = []
        self.reserved: list[ReservationInfo] = []
        self.down = False
        self.gate: asyncio.Event | None = None
        self.looks = self.accountings = self.surveys = self.backlogs = 0
        self.undelivered = 0
        self.found: list[JobInfo] = []
        self.asked_directly: list[set[int]] = []
        self.asked_ids: list[Collection[int] | None] = []
        self.asked_users: list[tuple[str | None, datetime]] = []
        self.unknown_users: set[str | None] = set()

    async def jobs(self) -> list[JobInfo]:
        self.looks += 1
        shown = list(self.shown)
        if self.gate is not None:
            await self.gate.wait()
        if self.down:
            raise Unreachable("Slurm did not answer.")
        return shown

    async def accounting(
        self,
        since: datetime,
        job_ids: Collection[int] | None = None,
        *,
        until: datetime | None = None,
        user: str | None = None,
    ) -> list[JobInfo]:
        self.accountings += 1
        self.asked_ids.append(job_ids)
        self.asked_users.append((user, since))
        if user in self.unknown_users:
            raise Rejected("invalid-user", "Slurm refused.")
        return self.accounted

    async def backlog(self) -> int:
        self.backlogs += 1
        return self.undelivered

    async def find(self, *job_ids: int) -> list[JobInfo]:
        self.asked_directly.append(set(job_ids))
        if self.down:
            raise Unreachable("Slurm did not answer.")
        return self.found

    async def min_job_age(self) -> timedelta:
        return timedelta(minutes=5)

    async def usage(self, job_ids: Collection[int]) -> list[JobUsage]:
        return []

    async def nodes(self) -> tuple[NodeInfo, ...]:
        self.surveys += 1
        return (NodeInfo("node01", "10.0.0.1", "IDLE"),)

    async def partitions(self) -> tuple[PartitionInfo, ...]:
        return (PartitionInfo("gpu"),)

    async def reservations(self) -> tuple[ReservationInfo, ...]:
        if self.down:
            raise Unreachable("Slurm did not answer.")
        return tuple(self.reserved)


QUICK = Pace(
    rest_s=0.02, hurried_s=0.01, nodes_s=0.02, partitions_s=0.05,
    rest_per_minute=100_000, hurried_per_minute=100_000, burst=50,
)  # fmt: skip


@contextlib.asynccontextmanager
async def running(
    slurm: PlayedSlurm, pace: Pace = QUICK, now: Callable[[], datetime] = utcnow
) -> AsyncIterator[Watcher]:
    watcher = Watcher(slurm, pace, now)
    loop = asyncio.create_task(watcher.run())
    try:
        yield watcher
    finally:
        loop.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await loop


@pytest.mark.anyio
class TestWatcher:
    async def test_before_the_first_look_nothing_is_known(self) -> None:
        watcher = Watcher(PlayedSlurm())
        assert watcher.stale_since is not None
        assert watcher.find_or_request(*KEY) is None
        assert watcher.unknown_since(*KEY) is None

    async def test_it_keeps_looking(self) -> None:
        slurm = PlayedSlurm()
        async with running(slurm) as watcher:
            await until(lambda: watcher.stale_since is None)
            slurm.shown = [job()]
            await until(lambda: watcher.find_or_request(*KEY) == job())
            await until(lambda: watcher.cluster is not None)
            assert watcher.cluster is not None
            assert watcher.cluster.nodes[0].address == "10.0.0.1"
            assert watcher.cluster.partitions[0].name == "gpu"

    async def test_reservations_are_known_once_slurm_answers(self) -> None:
        slurm = PlayedSlurm()
        slurm.down = True
        async with running(slurm, replace(QUICK, reservations_s=0.02)) as watcher:
            assert watcher.reservations is None
            slurm.reserved = [ReservationInfo("m1", NOW, NOW + timedelta(hours=1), ("node01",))]
            slurm.down = False
            await until(lambda: watcher.reservations == tuple(slurm.reserved))
            slurm.reserved = []
            await until(lambda: watcher.reservations == ())

    async def test_reservations_are_stale_while_slurm_is_down(self) -> None:
        slurm = PlayedSlurm()
        slurm.reserved = [ReservationInfo("m1", NOW, NOW + timedelta(hours=1), ("node01",))]
        began = datetime.now(UTC)
        async with running(slurm, replace(QUICK, reservations_s=0.02)) as watcher:
            await until(lambda: watcher.reservations is not None)
            assert watcher.reservations_stale_since is None
            slurm.down = True
            await until(lambda: watcher.reservations_stale_since is not None)
            assert watcher.reservations_stale_since is not None
            assert watcher.reservations_stale_since >= began
            assert watcher.reservations == tuple(slurm.reserved)
            slurm.down = False
            await until(lambda: watcher.reservations_stale_since is None)

    async def test_all_who_ask_at_once_share_one_look(self) -> None:
        slurm = PlayedSlurm()
        watcher = Watcher(slurm)
        await asyncio.gather(*(watcher.refresh() for _ in range(100)))
        assert slurm.looks == 1

    async def test_whose_name_is_gone_is_known_by_number(self) -> None:
        """squeue reports only numbers for users that no longer exist on the cluster's hosts."""
        slurm = PlayedSlurm()
        slurm.shown = [job(user="20001"), job(8, user="20002")]
        watcher = Watcher(slurm)
        asked: list[Collection[int]] = []

        async def names(numbers: Collection[int]) -> Mapping[int, str]:
            asked.append(set(numbers))
            return {20001: "alice"}

        watcher.look_up_usernames = names
        await watcher.refresh()
        assert watcher.find_or_request(*KEY) == job()
        assert asked == [{20001, 20002}]
        assert watcher.jobs[8].user == "20002"
        slurm.shown = [job()]
        await watcher.refresh()
        assert len(asked) == 1, "no lookup where every name is known"

    async def test_a_look_that_had_begun_does_not_count(self) -> None:
        slurm = PlayedSlurm()
        slurm.gate = asyncio.Event()
        watcher = Watcher(slurm)
        first = asyncio.create_task(watcher.refresh())
        await until(lambda: slurm.looks == 1)
        slurm.shown = [job()]  # after the first poll has been answered
        later = [asyncio.create_task(watcher.refresh()) for _ in range(10)]
        slurm.gate.set()
        await asyncio.gather(first, *later)
        assert slurm.looks == 2
        assert watcher.find_or_request(*KEY) == job()

    async def test_who_stops_waiting_does_not_stop_the_look(self) -> None:
        slurm = PlayedSlurm()
        slurm.gate = asyncio.Event()
        watcher = Watcher(slurm)
        impatient, patient = (asyncio.create_task(watcher.refresh()) for _ in range(2))
        await until(lambda: slurm.looks == 1)
        impatient.cancel()
        slurm.gate.set()
        await patient
        assert watcher.stale_since is None

    async def test_outage_keeps_known_jobs_and_their_time(self) -> None:
        slurm = PlayedSlurm()
        slurm.shown = [job()]
        watcher = Watcher(slurm)
        await watcher.refresh()
        known_at = watcher.at
        slurm.down = True
        await watcher.refresh()
        await watcher.refresh()
        assert watcher.stale_since == known_at
        assert watcher.find_or_request(*KEY) == job()
        slurm.down = False
        await watcher.refresh()
        assert watcher.stale_since is None

    async def test_an_incredible_answer_is_stale_not_true(self) -> None:
        slurm = PlayedSlurm()
        slurm.shown = [job(n, uuid=None) for n in range(20)]
        watcher = Watcher(slurm)
        await watcher.refresh()
        slurm.shown = []
        await watcher.refresh()
        assert watcher.stale_since is not None
        assert len(watcher.jobs) == 20

    async def test_what_has_vanished_is_asked_for_in_accounting(self) -> None:
        slurm = PlayedSlurm()
        slurm.shown = [job()]
        async with running(slurm) as watcher:
            await until(lambda: watcher.find_or_request(*KEY) is not None)
            assert slurm.accountings == 0, "nothing to ask"
            slurm.accounted = [job(state=JobPhase.ENDED)]
            slurm.shown = []
            await until(lambda: state_of(watcher) is JobPhase.ENDED)
        assert slurm.asked_ids == [{1}]

    async def test_many_lookups_are_split_and_those_without_an_id_apart(self) -> None:
        slurm = PlayedSlurm()
        async with running(slurm) as watcher:
            await until(lambda: watcher.stale_since is None)
            watcher.find_or_request("unknown", "alice", since=NOW - timedelta(hours=1))
            for number in range(1, 2501):
                watcher.find_or_request(str(number), "alice", job_id=number, since=NOW)
            await until(lambda: slurm.accountings >= 3)
        sizes = [len(ids) if ids is not None else None for ids in slurm.asked_ids[:3]]
        assert sizes == [1000, 1000, 500]

    async def test_jobs_without_an_id_are_looked_up_by_user_from_their_own_time(self) -> None:
        """Not with one question about all users' jobs since the oldest of them."""
        slurm = PlayedSlurm()
        slurm.unknown_users = {"gone"}
        ages = {"alice": timedelta(hours=1), "bob": timedelta(days=30), "gone": timedelta(0)}
        now = NOW
        async with running(slurm, now=lambda: now) as watcher:
            await until(lambda: watcher.stale_since is None)
            for user, age in ages.items():
                assert watcher.find_or_request("unknown", user, since=NOW - age) is None
            now += NEW_JOB
            await until(lambda: slurm.accountings >= 4)
        asked = slurm.asked_users[:4]
        assert sorted(ask for ask in asked if ask[0]) == [(u, NOW - ages[u]) for u in sorted(ages)]
        assert [ask for ask in asked if not ask[0]] == [(None, NOW)], "this host knows no such user"

    async def test_only_a_current_slurmdbd_can_say_that_a_job_is_lost(self) -> None:
        slurm = PlayedSlurm()
        slurm.undelivered = 7
        async with running(slurm) as watcher:
            await until(lambda: watcher.stale_since is None)
            assert watcher.find_or_request(*KEY, job_id=5, since=NOW) is None
            await until(lambda: slurm.accountings == 1 and slurm.backlogs == 1)
            await watcher.refresh()
            assert watcher.missing_since(*KEY) is None
            slurm.undelivered = 0
            watcher.discard_lookups(*KEY)  # so that it is polled at once
            assert watcher.find_or_request(*KEY, job_id=5, since=NOW) is None
            await until(lambda: watcher.missing_since(*KEY) is not None)

    async def test_a_forgotten_job_is_asked_for_by_its_id_before_it_is_lost(self) -> None:
        slurm = PlayedSlurm()
        slurm.shown, slurm.undelivered = [job(7)], 5
        began_s = time.monotonic()

        def now() -> datetime:  # 20 times as fast
            return NOW + timedelta(seconds=20 * (time.monotonic() - began_s))

        async with running(slurm, now=now) as watcher:
            await until(lambda: watcher.find_or_request(*KEY) is not None)
            slurm.shown, slurm.found = [], [job(7)]
            await until(lambda: len(slurm.asked_directly) == 1)
            await watcher.refresh()
            assert not watcher.is_lost_by_slurmctld(*KEY), "Slurm has the job after all"
            slurm.found = []
            await until(lambda: watcher.is_lost_by_slurmctld(*KEY))
            assert watcher.find_or_request(*KEY) is None
            assert watcher.unknown_since(*KEY) is not None
        assert slurm.asked_directly == [{7}, {7}]

    async def test_a_program_that_starts_learns_what_ended_before(self) -> None:
        slurm = PlayedSlurm()
        slurm.accounted = [job(5, state=JobPhase.ENDED)]
        async with running(slurm) as watcher:
            await until(lambda: watcher.stale_since is None)
            assert watcher.find_or_request(*KEY, job_id=5, since=NOW) is None
            await until(lambda: watcher.find_or_request(*KEY, job_id=5) is not None)
        assert slurm.asked_ids == [{5}]

    async def test_subscribers_hear_of_changes_only(self) -> None:
        slurm = PlayedSlurm()
        heard = 0

        async def listen(watcher: Watcher) -> None:
            nonlocal heard
            async for _ in watcher.subscribe():
                heard += 1

        async with running(slurm) as watcher:
            await until(lambda: watcher.cluster is not None and watcher.stale_since is None)
            listener = asyncio.create_task(listen(watcher))
            await until(lambda: heard == 1)
            looks = slurm.looks
            await until(lambda: slurm.looks > looks + 3)
            assert heard == 1, "the same again is no change"
            slurm.shown = [job()]
            await until(lambda: heard == 2)
            slurm.down = True
            await until(lambda: heard == 3)
            listener.cancel()

    async def test_hurry_does_not_wait_for_the_end_of_a_rest(self) -> None:
        slurm = PlayedSlurm()
        pace = Pace(rest_s=3600, hurried_s=0.01, rest_per_minute=30, hurried_per_minute=100_000)
        async with running(slurm, pace) as watcher:
            await until(lambda: watcher.stale_since is None)
            looks = slurm.looks
            watcher.hurry = True
            await until(lambda: slurm.looks > looks)

    async def test_the_default_pace_fits_its_own_budget(self) -> None:
        pace = Pace()
        other = 60 / pace.nodes_s + 60 / pace.partitions_s + 60 / pace.reservations_s
        assert 60 / pace.rest_s + other <= pace.rest_per_minute - pace.burst
        assert 60 / pace.hurried_s + other <= pace.hurried_per_minute - pace.burst


def state_of(watcher: Watcher) -> JobPhase | None:
    found = watcher.find_or_request(*KEY)
    return found.phase if found else None
