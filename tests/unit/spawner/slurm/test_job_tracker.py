"""The job tracker: the effect of Slurm's responses on known jobs, without I/O."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spawner.slurm.job_tracker import LOST_AFTER, RUNAWAY_AFTER, JobTracker
from spawner.slurm.model import JobInfo, SlurmState
from tests.unit.spawner.slurm.slurm_jobs import KEY, NOW, SECOND, UUID, job


class TestLedger:
    def test_seen(self) -> None:
        ledger = JobTracker()
        assert ledger.squeue([job()], NOW)
        assert ledger.find(KEY, None) == job()
        assert ledger.by_id[1] == job()

    def test_another_users_claim_neither_stands_for_a_job_nor_hides_it(self) -> None:
        ledger = JobTracker()
        forged = job(0, user="mallory", submitted=NOW - SECOND)
        ledger.squeue([forged], NOW)
        assert ledger.find(KEY, None) is None
        ledger.squeue([forged, job(7)], NOW)
        assert ledger.find(KEY, None) == job(7)
        ledger.squeue([forged], NOW)
        assert ledger.find(KEY, None) == job(7), "gone from squeue is not ended"

    def test_of_two_copies_the_one_that_lives_or_is_named(self) -> None:
        ledger = JobTracker()
        first, second = job(1, state=SlurmState.ENDED), job(2)
        ledger.squeue([first, second], NOW)
        assert ledger.find(KEY, None) == second
        assert ledger.find(KEY, 1) == first

    def test_changed_job_is_reported_once(self) -> None:
        ledger = JobTracker()
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
        ledger = JobTracker()
        ledger.squeue([job(8, uuid=None)], NOW)
        assert ledger.shown(KEY, 8, True) == (job(8, uuid=None),)
        assert ledger.shown(KEY, 8, False) == ()
        assert ledger.shown((UUID, "bob"), 8, True) == ()

    def test_a_job_with_a_uuid_that_is_not_ours_is_one_from_outside(self) -> None:
        """From squeue's next output on, and in accounting; another user's job with the same UUID
        stays."""
        ledger = JobTracker()
        ledger.squeue([job(8), job(9, user="bob")], NOW)
        ledger.take_changed()
        ledger.mark_foreign([KEY])
        ledger.squeue([job(8), job(9, user="bob")], NOW)
        assert ledger.take_changed() == {KEY, 8}
        row = ("87654321-4321-5321-4321-cba987654321", "alice")
        assert ledger.shown(row, 8, True) == (job(8, uuid=None),)
        assert ledger.find((UUID, "bob"), None) == job(9, user="bob")
        assert not ledger.due(NOW + SECOND), "no lookup of the other was requested"
        ledger.squeue([], NOW)
        ledger.request_lookup(row, 8, NOW, NOW)
        ledger.accounting(ledger.due(NOW), [job(8, state=SlurmState.ENDED)], NOW, current=True)
        found = ledger.find(row, 8, True)
        assert found is not None
        assert (found.state, found.uuid) == (SlurmState.ENDED, row[0])

    def test_absence_is_never_the_end(self) -> None:
        ledger = JobTracker()
        ledger.squeue([job()], NOW)
        ledger.squeue([], NOW + SECOND)
        found = ledger.find(KEY, None)
        assert found is not None
        assert found.state is SlurmState.RUNNING
        assert KEY in ledger.due(NOW + SECOND), "accounting is asked at once"

    def test_accounting_reports_the_end(self) -> None:
        ledger = JobTracker()
        ledger.squeue([job()], NOW)
        ledger.squeue([], NOW)
        before = ledger.version
        ended = job(state=SlurmState.ENDED, uuid=None)  # comments may be lost
        ledger.accounting(ledger.due(NOW), [ended], NOW, current=True)
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
        ledger = JobTracker()
        ledger.squeue([job()], NOW)
        ledger.squeue([], NOW)
        ledger.accounting(ledger.due(NOW), [other], NOW, current=True)
        assert ledger.find(KEY, None) == job()

    def test_accounting_that_does_not_answer_is_asked_again_ever_more_seldom(self) -> None:
        ledger = JobTracker()
        ledger.squeue([job()], NOW)
        ledger.squeue([], NOW)
        asked = []
        for second in range(1200):
            now = NOW + second * SECOND
            if due := ledger.due(now):
                ledger.accounting(due, None, now, current=True)
                asked.append(second)
        assert asked == [0, 4, 12, 28, 60, 124, 252, 508, 808, 1108]
        assert ledger.find(KEY, None) == job(), "unknown, so as it was"
        assert ledger.unknown_since(KEY) is None

    def test_lost_only_when_accounting_has_answered_without_it_for_long(self) -> None:
        ledger = JobTracker()
        ledger.squeue([job()], NOW)
        ledger.squeue([], NOW)
        now = NOW
        while now < NOW + LOST_AFTER:
            assert ledger.find(KEY, None) == job()
            ledger.accounting(ledger.due(now), [], now, current=True)
            now += SECOND
        while ledger.find(KEY, None):
            assert now < NOW + 2 * LOST_AFTER
            ledger.accounting(ledger.due(now), [], now, current=True)
            now += SECOND
        assert ledger.unknown_since(KEY) == NOW

    @pytest.mark.parametrize("state", [SlurmState.QUEUED, SlurmState.RUNNING])
    def test_lagging_accounting_does_not_make_a_job_missing(self, state: SlurmState) -> None:
        ledger = JobTracker()
        ledger.squeue([], NOW)
        ledger.request_lookup(KEY, 1, NOW, NOW)
        for minutes in range(60):
            now = NOW + timedelta(minutes=minutes)
            ledger.request_lookup(KEY, 1, NOW, now)
            ledger.accounting(ledger.due(now), [job(state=state, uuid=None)], now, current=False)
            assert ledger.missing_since(KEY) is None
            assert ledger.unknown_since(KEY) is None
        now += timedelta(minutes=6)
        ended = job(state=SlurmState.ENDED, uuid=None)
        ledger.accounting(ledger.due(now), [ended], now, current=False)
        found = ledger.find(KEY, 1)
        assert found is not None
        assert found.state is SlurmState.ENDED

    def test_accounting_that_lags_does_not_make_a_job_unknown(self) -> None:
        ledger = JobTracker()
        ledger.squeue([], NOW)
        ledger.request_lookup(KEY, 1, NOW, NOW)
        ledger.accounting(ledger.due(NOW), [], NOW, current=False)
        assert ledger.missing_since(KEY) is None
        later = NOW + 10 * SECOND
        ledger.accounting(ledger.due(later), [], later, current=True)
        assert ledger.missing_since(KEY) == later

    def test_a_job_that_only_accounting_has_is_lost_after_a_while(self) -> None:
        """slurmctld lost its state, and with it the job's end: it is never reported to
        accounting."""
        ledger = JobTracker()
        ledger.squeue([job()], NOW)
        ledger.squeue([], NOW)
        running = job(uuid=None)
        ledger.accounting(ledger.due(NOW), [running], NOW, current=True)
        assert ledger.missing_since(KEY) is None
        now = NOW + RUNAWAY_AFTER
        ledger.accounting(ledger.due(now), [running], now, current=True)
        assert ledger.missing_since(KEY) == now
        assert ledger.find(KEY, None) == job()
        now += LOST_AFTER
        ledger.accounting(ledger.due(now), [running], now, current=True)
        assert ledger.find(KEY, None) is None

    def test_a_job_that_comes_back_was_never_away(self) -> None:
        ledger = JobTracker()
        ledger.squeue([job()], NOW)
        ledger.squeue([], NOW)
        ledger.squeue([job()], NOW)
        assert not ledger.due(NOW)
        assert ledger.find(KEY, None) == job()

    def test_an_ended_job_is_remembered_when_squeue_forgets_it(self) -> None:
        ledger = JobTracker()
        ended = job(state=SlurmState.ENDED)
        ledger.squeue([ended], NOW)
        ledger.squeue([], NOW)
        assert ledger.find(KEY, None) == ended
        assert not ledger.due(NOW)

    def test_a_job_never_seen_is_looked_up_by_its_id_at_once(self) -> None:
        ledger = JobTracker()
        ledger.squeue([], NOW)
        ledger.request_lookup(KEY, 5, NOW, NOW)
        ledger.accounting(ledger.due(NOW), [job(5, state=SlurmState.ENDED)], NOW, current=True)
        found = ledger.find(KEY, 5)
        assert found is not None
        assert found.state is SlurmState.ENDED

    def test_a_job_just_submitted_is_not_looked_up_yet(self) -> None:
        ledger = JobTracker()
        ledger.request_lookup(KEY, None, NOW, NOW)
        assert not ledger.due(NOW + 10 * SECOND)
        assert ledger.due(NOW + 25 * SECOND)

    def test_unrepeated_lookups_are_dropped(self) -> None:
        ledger = JobTracker()
        ledger.request_lookup(KEY, 5, NOW, NOW)
        assert not ledger.due(NOW + timedelta(hours=1))

    def test_a_fifth_gone_at_once_is_not_believed_until_repeated(self) -> None:
        ledger = JobTracker()
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
        ledger = JobTracker()
        ledger.squeue([job(n, uuid=None) for n in range(live)], NOW)
        believed = ledger.squeue([job(n, uuid=None) for n in range(gone, live)], NOW)
        assert believed is not (gone >= 5 and gone * 5 >= live)

    def test_ended_jobs_may_leave_in_any_number(self) -> None:
        ledger = JobTracker()
        ledger.squeue([job(n, uuid=None, state=SlurmState.ENDED) for n in range(100)], NOW)
        assert ledger.squeue([], NOW)

    def test_one_doubt_does_not_count_for_the_next(self) -> None:
        ledger = JobTracker()
        jobs = [job(n, uuid=None) for n in range(10)]
        for _ in range(5):
            assert ledger.squeue(jobs, NOW)
            assert not ledger.squeue([], NOW)
