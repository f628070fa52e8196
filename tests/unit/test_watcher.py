"""The shared watcher: how often it asks, what it believes, and what it never concludes.

Slurm is played by named behaviours; the ledger, which has no clock, is told the time.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spawner.errors import Unreachable
from spawner.ledger import LOST_AFTER, Ledger
from spawner.model import (
    JobInfo,
    NodeInfo,
    Outcome,
    PartitionInfo,
    ReservationInfo,
    SlurmState,
)
from spawner.watcher import Budget, Pace, Watcher

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
UUID = "12345678-1234-1234-1234-123456789abc"
KEY = (UUID, "alice")


def job(
    job_id: int = 1,
    user: str = "alice",
    uuid: str | None = UUID,
    state: SlurmState = SlurmState.RUNNING,
    submitted: datetime = NOW,
) -> JobInfo:
    outcome = Outcome.COMPLETED if state is SlurmState.ENDED else None
    return JobInfo(
        job_id, user, "x", state, state.value.upper(), outcome, uuid=uuid, submit_time=submitted
    )


class TestLedger:
    def test_seen(self) -> None:
        ledger = Ledger()
        assert ledger.squeue([job()], NOW)
        assert ledger.find(KEY, None) == job()
        assert ledger.by_id[1] == job()

    def test_another_users_claim_neither_stands_for_a_job_nor_hides_it(self) -> None:
        ledger = Ledger()
        forged = job(0, user="mallory", submitted=NOW - SECOND)
        ledger.squeue([forged], NOW)
        assert ledger.find(KEY, None) is None
        ledger.squeue([forged, job(7)], NOW)
        assert ledger.find(KEY, None) == job(7)
        ledger.squeue([forged], NOW)
        assert ledger.find(KEY, None) == job(7), "gone from squeue is not ended"

    def test_of_two_copies_the_one_that_lives_or_is_named(self) -> None:
        ledger = Ledger()
        first, second = job(1, state=SlurmState.ENDED), job(2)
        ledger.squeue([first, second], NOW)
        assert ledger.find(KEY, None) == second
        assert ledger.find(KEY, 1) == first

    def test_what_is_shown_differently_is_told_once(self) -> None:
        ledger = Ledger()
        other = job(8, uuid=None)
        ledger.squeue([job(7), other], NOW)
        assert ledger.take_changed() == {KEY, 8}
        ledger.squeue([job(7), other], NOW)
        assert ledger.take_changed() == set()
        ledger.squeue([job(7, state=SlurmState.COMPLETING), job(9)], NOW)
        assert ledger.take_changed() == {KEY, 8}
        assert ledger.copies(KEY, None) == (job(7, state=SlurmState.COMPLETING), job(9))
        ledger.squeue([], NOW)
        assert ledger.take_changed() == {KEY}
        assert ledger.shown(KEY, None, False) == ()

    def test_one_from_outside_is_named_by_its_number(self) -> None:
        ledger = Ledger()
        ledger.squeue([job(8, uuid=None)], NOW)
        assert ledger.shown(KEY, 8, True) == (job(8, uuid=None),)
        assert ledger.shown(KEY, 8, False) == ()
        assert ledger.shown((UUID, "bob"), 8, True) == ()

    def test_a_job_with_a_uuid_that_is_not_ours_is_one_from_outside(self) -> None:
        """From squeue's next answer on, and in accounting; another's of the same UUID stays."""
        ledger = Ledger()
        ledger.squeue([job(8), job(9, user="bob")], NOW)
        ledger.take_changed()
        ledger.disown([KEY])
        ledger.squeue([job(8), job(9, user="bob")], NOW)
        assert ledger.take_changed() == {KEY, 8}
        row = ("87654321-4321-5321-4321-cba987654321", "alice")
        assert ledger.shown(row, 8, True) == (job(8, uuid=None),)
        assert ledger.find((UUID, "bob"), None) == job(9, user="bob")
        assert not ledger.due(NOW + SECOND), "nobody wonders what became of the other"
        ledger.squeue([], NOW)
        ledger.wonder(row, 8, NOW, NOW)
        ledger.accounting(ledger.due(NOW), [job(8, state=SlurmState.ENDED)], NOW)
        found = ledger.find(row, 8, True)
        assert found is not None
        assert (found.state, found.uuid) == (SlurmState.ENDED, row[0])

    def test_absence_is_never_the_end(self) -> None:
        ledger = Ledger()
        ledger.squeue([job()], NOW)
        ledger.squeue([], NOW + SECOND)
        found = ledger.find(KEY, None)
        assert found is not None
        assert found.state is SlurmState.RUNNING
        assert KEY in ledger.due(NOW + SECOND), "accounting is asked at once"

    def test_accounting_says_that_it_ended(self) -> None:
        ledger = Ledger()
        ledger.squeue([job()], NOW)
        ledger.squeue([], NOW)
        before = ledger.version
        ended = job(state=SlurmState.ENDED, uuid=None)  # comments need not be kept
        ledger.accounting(ledger.due(NOW), [ended], NOW)
        found = ledger.find(KEY, None)
        assert found is not None
        assert (found.state, found.uuid) == (SlurmState.ENDED, UUID)
        assert ledger.version > before
        assert not ledger.due(NOW + timedelta(hours=1))

    @pytest.mark.parametrize(
        "other",
        [
            job(state=SlurmState.ENDED, user="bob"),
            job(state=SlurmState.ENDED, uuid="00000000-1234-1234-1234-123456789abc"),
            job(state=SlurmState.ENDED, uuid=None, submitted=NOW - timedelta(days=1)),
            job(2, state=SlurmState.ENDED, uuid=None),
            job(state=SlurmState.RUNNING),
        ],
        ids=["user", "uuid", "an older job of the same id", "id", "not ended"],
    )
    def test_accounting_speaks_of_another_job(self, other: JobInfo) -> None:
        ledger = Ledger()
        ledger.squeue([job()], NOW)
        ledger.squeue([], NOW)
        ledger.accounting(ledger.due(NOW), [other], NOW)
        assert ledger.find(KEY, None) == job()

    def test_accounting_that_does_not_answer_is_asked_again_ever_more_seldom(self) -> None:
        ledger = Ledger()
        ledger.squeue([job()], NOW)
        ledger.squeue([], NOW)
        asked = []
        for second in range(1200):
            now = NOW + second * SECOND
            if due := ledger.due(now):
                ledger.accounting(due, None, now)
                asked.append(second)
        assert asked == [0, 4, 12, 28, 60, 124, 252, 508, 808, 1108]
        assert ledger.find(KEY, None) == job(), "unknown, so as it was"
        assert ledger.unknown_since(KEY) is None

    def test_lost_only_when_accounting_has_answered_without_it_for_long(self) -> None:
        ledger = Ledger()
        ledger.squeue([job()], NOW)
        ledger.squeue([], NOW)
        now = NOW
        while now < NOW + LOST_AFTER:
            assert ledger.find(KEY, None) == job()
            ledger.accounting(ledger.due(now), [], now)
            now += SECOND
        while ledger.find(KEY, None):
            assert now < NOW + 2 * LOST_AFTER
            ledger.accounting(ledger.due(now), [], now)
            now += SECOND
        assert ledger.unknown_since(KEY) == NOW

    def test_a_job_that_comes_back_was_never_away(self) -> None:
        ledger = Ledger()
        ledger.squeue([job()], NOW)
        ledger.squeue([], NOW)
        ledger.squeue([job()], NOW)
        assert not ledger.due(NOW)
        assert ledger.find(KEY, None) == job()

    def test_an_ended_job_is_remembered_when_squeue_forgets_it(self) -> None:
        ledger = Ledger()
        ended = job(state=SlurmState.ENDED)
        ledger.squeue([ended], NOW)
        ledger.squeue([], NOW)
        assert ledger.find(KEY, None) == ended
        assert not ledger.due(NOW)

    def test_a_job_never_seen_is_looked_up_by_its_id_at_once(self) -> None:
        ledger = Ledger()
        ledger.squeue([], NOW)
        ledger.wonder(KEY, 5, NOW, NOW)
        ledger.accounting(ledger.due(NOW), [job(5, state=SlurmState.ENDED)], NOW)
        found = ledger.find(KEY, 5)
        assert found is not None
        assert found.state is SlurmState.ENDED

    def test_a_job_just_submitted_is_not_looked_up_yet(self) -> None:
        ledger = Ledger()
        ledger.wonder(KEY, None, NOW, NOW)
        assert not ledger.due(NOW + 10 * SECOND)
        assert ledger.due(NOW + 25 * SECOND)

    def test_questions_nobody_repeats_are_dropped(self) -> None:
        ledger = Ledger()
        ledger.wonder(KEY, 5, NOW, NOW)
        assert not ledger.due(NOW + timedelta(hours=1))

    def test_a_fifth_gone_at_once_is_not_believed_until_repeated(self) -> None:
        ledger = Ledger()
        jobs = [job(n, uuid=None) for n in range(1, 26)]
        assert ledger.squeue(jobs, NOW)
        for _ in range(2):
            assert not ledger.squeue(jobs[5:], NOW)
            assert len(ledger.by_id) == 25
        assert ledger.squeue(jobs[5:], NOW)
        assert len(ledger.by_id) == 20

    @given(st.integers(0, 200), st.integers(0, 200))
    def test_what_is_incredible(self, live: int, gone: int) -> None:
        gone = min(live, gone)
        ledger = Ledger()
        ledger.squeue([job(n, uuid=None) for n in range(live)], NOW)
        believed = ledger.squeue([job(n, uuid=None) for n in range(gone, live)], NOW)
        assert believed is not (gone >= 5 and gone * 5 >= live)

    def test_ended_jobs_may_leave_in_any_number(self) -> None:
        ledger = Ledger()
        ledger.squeue([job(n, uuid=None, state=SlurmState.ENDED) for n in range(100)], NOW)
        assert ledger.squeue([], NOW)

    def test_one_doubt_does_not_count_for_the_next(self) -> None:
        ledger = Ledger()
        jobs = [job(n, uuid=None) for n in range(10)]
        for _ in range(5):
            assert ledger.squeue(jobs, NOW)
            assert not ledger.squeue([], NOW)


class TestBudget:
    @given(st.lists(st.floats(0, 3), min_size=20, max_size=400), st.sampled_from([30, 60]))
    def test_no_minute_sees_more_than_allowed(self, gaps: list[float], per_minute: int) -> None:
        now, budget, calls = 0.0, Budget(5, 0.0), []
        for gap in gaps:
            now += gap
            now += budget.wait_s(per_minute, now)
            assert budget.wait_s(per_minute, now) < 1e-6
            budget.spend()
            calls.append(now)
        for first in calls:
            assert sum(first <= call < first + 60 for call in calls) <= per_minute

    def test_it_starts_full_and_refills(self) -> None:
        budget = Budget(5, 0.0)
        for _ in range(5):
            assert budget.wait_s(30, 0.0) == 0
            budget.spend()
        assert budget.wait_s(30, 0.0) == pytest.approx(60 / 25)
        assert budget.wait_s(30, 60.0) == 0


class PlayedSlurm:
    """Slurm as the watcher sees it. Behaviours: answers, `down`, and `gate` (slow until set)."""

    def __init__(self) -> None:
        self.shown: list[JobInfo] = []
        self.accounted: list[JobInfo] = []
        self.reserved: list[ReservationInfo] = []
        self.down = False
        self.gate: asyncio.Event | None = None
        self.looks = self.accountings = self.surveys = 0
        self.asked_ids: list[Collection[int] | None] = []

    async def jobs(self) -> list[JobInfo]:
        self.looks += 1
        shown = list(self.shown)
        if self.gate is not None:
            await self.gate.wait()
        if self.down:
            raise Unreachable("Slurm did not answer.")
        return shown

    async def accounting(
        self, since: datetime, job_ids: Collection[int] | None = None
    ) -> list[JobInfo]:
        self.accountings += 1
        self.asked_ids.append(job_ids)
        return self.accounted

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
async def running(slurm: PlayedSlurm, pace: Pace = QUICK) -> AsyncIterator[Watcher]:
    watcher = Watcher(slurm, pace)
    loop = asyncio.create_task(watcher.run())
    try:
        yield watcher
    finally:
        loop.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await loop


async def until(condition: Callable[[], bool], bound_s: float = 30.0) -> None:
    end = time.monotonic() + bound_s
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        await asyncio.sleep(0.001)


@pytest.mark.anyio
class TestWatcher:
    async def test_before_the_first_look_nothing_is_known(self) -> None:
        watcher = Watcher(PlayedSlurm())
        assert watcher.stale_since is not None
        assert watcher.by_uuid(*KEY) is None
        assert watcher.unknown_since(*KEY) is None

    async def test_it_keeps_looking(self) -> None:
        slurm = PlayedSlurm()
        async with running(slurm) as watcher:
            await until(lambda: watcher.stale_since is None)
            slurm.shown = [job()]
            await until(lambda: watcher.by_uuid(*KEY) == job())
            await until(lambda: watcher.cluster is not None)
            assert watcher.cluster is not None
            assert watcher.cluster.nodes[0].address == "10.0.0.1"
            assert watcher.cluster.partitions[0].name == "gpu"

    async def test_what_lies_ahead_is_known_once_slurm_has_told(self) -> None:
        slurm = PlayedSlurm()
        slurm.down = True
        async with running(slurm, replace(QUICK, reservations_s=0.02)) as watcher:
            assert watcher.reservations is None
            slurm.reserved = [ReservationInfo("m1", NOW, NOW + timedelta(hours=1), ("node01",))]
            slurm.down = False
            await until(lambda: watcher.reservations == tuple(slurm.reserved))
            slurm.reserved = []
            await until(lambda: watcher.reservations == ())

    async def test_what_lies_ahead_is_said_to_be_old_while_slurm_tells_no_more(self) -> None:
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
        await asyncio.gather(*(watcher.look() for _ in range(100)))
        assert slurm.looks == 1

    async def test_whose_name_is_gone_is_known_by_number(self) -> None:
        """Of people whom the cluster's hosts don't know any more squeue has the number only."""
        slurm = PlayedSlurm()
        slurm.shown = [job(user="20001"), job(8, user="20002")]
        watcher = Watcher(slurm)
        asked: list[Collection[int]] = []

        async def names(numbers: Collection[int]) -> Mapping[int, str]:
            asked.append(set(numbers))
            return {20001: "alice"}

        watcher.names = names
        await watcher.look()
        assert watcher.by_uuid(*KEY) == job()
        assert asked == [{20001, 20002}]
        assert watcher.jobs[8].user == "20002"
        slurm.shown = [job()]
        await watcher.look()
        assert len(asked) == 1, "nobody is asked where every name is known"

    async def test_a_look_that_had_begun_does_not_count(self) -> None:
        slurm = PlayedSlurm()
        slurm.gate = asyncio.Event()
        watcher = Watcher(slurm)
        first = asyncio.create_task(watcher.look())
        await until(lambda: slurm.looks == 1)
        slurm.shown = [job()]  # after the first look has been answered
        later = [asyncio.create_task(watcher.look()) for _ in range(10)]
        slurm.gate.set()
        await asyncio.gather(first, *later)
        assert slurm.looks == 2
        assert watcher.by_uuid(*KEY) == job()

    async def test_who_stops_waiting_does_not_stop_the_look(self) -> None:
        slurm = PlayedSlurm()
        slurm.gate = asyncio.Event()
        watcher = Watcher(slurm)
        impatient, patient = (asyncio.create_task(watcher.look()) for _ in range(2))
        await until(lambda: slurm.looks == 1)
        impatient.cancel()
        slurm.gate.set()
        await patient
        assert watcher.stale_since is None

    async def test_down_keeps_what_was_known_and_says_since_when(self) -> None:
        slurm = PlayedSlurm()
        slurm.shown = [job()]
        watcher = Watcher(slurm)
        await watcher.look()
        known_at = watcher.at
        slurm.down = True
        await watcher.look()
        await watcher.look()
        assert watcher.stale_since == known_at
        assert watcher.by_uuid(*KEY) == job()
        slurm.down = False
        await watcher.look()
        assert watcher.stale_since is None

    async def test_an_incredible_answer_is_stale_not_true(self) -> None:
        slurm = PlayedSlurm()
        slurm.shown = [job(n, uuid=None) for n in range(20)]
        watcher = Watcher(slurm)
        await watcher.look()
        slurm.shown = []
        await watcher.look()
        assert watcher.stale_since is not None
        assert len(watcher.jobs) == 20

    async def test_what_has_vanished_is_asked_for_in_accounting(self) -> None:
        slurm = PlayedSlurm()
        slurm.shown = [job()]
        async with running(slurm) as watcher:
            await until(lambda: watcher.by_uuid(*KEY) is not None)
            assert slurm.accountings == 0, "nothing to ask"
            slurm.accounted = [job(state=SlurmState.ENDED)]
            slurm.shown = []
            await until(lambda: state_of(watcher) is SlurmState.ENDED)
        assert slurm.asked_ids == [{1}]

    async def test_a_program_that_starts_learns_what_ended_before(self) -> None:
        slurm = PlayedSlurm()
        slurm.accounted = [job(5, state=SlurmState.ENDED)]
        async with running(slurm) as watcher:
            await until(lambda: watcher.stale_since is None)
            assert watcher.by_uuid(*KEY, job_id=5, since=NOW) is None
            await until(lambda: watcher.by_uuid(*KEY, job_id=5) is not None)
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


def state_of(watcher: Watcher) -> SlurmState | None:
    found = watcher.by_uuid(*KEY)
    return found.state if found else None
