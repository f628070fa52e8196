"""The job tracker: the effect of Slurm's responses on known jobs, without I/O."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spawner.slurm.job_tracker import LOST_AFTER, NEW_JOB, RUNAWAY_AFTER, JobTracker
from spawner.slurm.model import JobInfo, JobPhase
from tests.unit.spawner.slurm.slurm_jobs import KEY, NOW, SECOND, UUID, job


class TestLedger:
    def test_seen(self) -> None:
        tracker = JobTracker()
        assert tracker.apply_squeue([job()], NOW)
        assert tracker.find(KEY, None) == job()
        assert tracker.by_id[1] == job()

    def test_another_users_claim_neither_stands_for_a_job_nor_hides_it(self) -> None:
        tracker = JobTracker()
        forged = job(0, user="mallory", submitted=NOW - SECOND)
        tracker.apply_squeue([forged], NOW)
        assert tracker.find(KEY, None) is None
        tracker.apply_squeue([forged, job(7)], NOW)
        assert tracker.find(KEY, None) == job(7)
        tracker.apply_squeue([forged], NOW)
        assert tracker.find(KEY, None) == job(7), "gone from squeue is not ended"

    def test_of_two_copies_the_one_that_lives_or_is_named(self) -> None:
        tracker = JobTracker()
        first, second = job(1, state=JobPhase.ENDED), job(2)
        tracker.apply_squeue([first, second], NOW)
        assert tracker.find(KEY, None) == second
        assert tracker.find(KEY, 1) == first

    def test_changed_job_is_reported_once(self) -> None:
        tracker = JobTracker()
        other = job(8, uuid=None)
        tracker.apply_squeue([job(7), other], NOW)
        assert tracker.take_changed() == {KEY, 8}
        tracker.apply_squeue([job(7), other], NOW)
        assert tracker.take_changed() == set()
        tracker.apply_squeue([job(7, state=JobPhase.COMPLETING), job(9)], NOW)
        assert tracker.take_changed() == {KEY, 8}
        assert tracker.list_copies(KEY, None) == (job(7, state=JobPhase.COMPLETING), job(9))
        tracker.apply_squeue([], NOW)
        assert tracker.take_changed() == {KEY}
        assert tracker.list_records(KEY, None, False) == ()

    def test_an_unchanged_answer_leaves_the_same_object(self) -> None:
        """What is computed from it stays valid; the order is the queue's."""
        tracker = JobTracker()
        first, second = job(7), job(8, uuid=None)
        tracker.apply_squeue([first, second], NOW)
        shown = tracker.by_id
        tracker.apply_squeue([first, second], NOW)
        assert tracker.by_id is shown
        tracker.apply_squeue([second, first], NOW)
        assert list(tracker.by_id) == [8, 7]
        tracker.apply_squeue([second], NOW)
        assert list(tracker.by_id) == [8]

    def test_one_from_outside_is_named_by_its_number(self) -> None:
        tracker = JobTracker()
        tracker.apply_squeue([job(8, uuid=None)], NOW)
        assert tracker.list_records(KEY, 8, True) == (job(8, uuid=None),)
        assert tracker.list_records(KEY, 8, False) == ()
        assert tracker.list_records((UUID, "bob"), 8, True) == ()

    def test_a_job_with_a_uuid_that_is_not_ours_is_one_from_outside(self) -> None:
        """From squeue's next output on, and in accounting; another user's job with the same UUID
        stays."""
        tracker = JobTracker()
        tracker.apply_squeue([job(8), job(9, user="bob")], NOW)
        tracker.take_changed()
        tracker.mark_unknown_uuids([KEY])
        tracker.apply_squeue([job(8), job(9, user="bob")], NOW)
        assert tracker.take_changed() == {KEY, 8}
        row = ("87654321-4321-5321-4321-cba987654321", "alice")
        assert tracker.list_records(row, 8, True) == (job(8, uuid=None),)
        assert tracker.find((UUID, "bob"), None) == job(9, user="bob")
        assert not tracker.due_lookups(NOW + SECOND), "no lookup of the other was requested"
        tracker.apply_squeue([], NOW)
        tracker.request_lookup(row, 8, NOW, NOW)
        tracker.apply_accounting(
            tracker.due_lookups(NOW), [job(8, state=JobPhase.ENDED)], NOW, current=True
        )
        found = tracker.find(row, 8, True)
        assert found is not None
        assert (found.phase, found.uuid) == (JobPhase.ENDED, row[0])

    def test_a_job_whose_comment_is_changed_stays_known(self) -> None:
        """As by `scontrol update Comment=`, and also once it is requeued."""
        tracker = JobTracker()
        tracker.apply_squeue([job(7)], NOW)
        tracker.take_changed()
        tracker.apply_squeue([job(7, uuid=None)], NOW)
        assert tracker.find(KEY, 7) == job(7)
        assert tracker.list_copies(KEY, 7) == (job(7),)
        assert tracker.take_changed() == set()
        requeued = job(7, state=JobPhase.QUEUED, submitted=NOW + 60 * SECOND)
        tracker.apply_squeue([replace(requeued, uuid=None)], NOW)
        assert tracker.find(KEY, 7) == requeued
        assert not tracker.due_lookups(NOW + SECOND)

    def test_a_lost_job_is_ignored_and_the_next_one_of_its_row_is_not(self) -> None:
        """In squeue and in accounting, also if the next one has the same id."""
        tracker = JobTracker()
        lost = job(7, state=JobPhase.ENDED)
        tracker.apply_squeue([lost, job(8)], NOW)
        tracker.ignore(KEY, 7, NOW)
        for _ in range(2):
            assert tracker.list_copies(KEY, None) == (job(8),)
            assert tracker.by_id == {8: job(8)}
            tracker.apply_squeue([lost, job(8)], NOW)
        tracker.apply_squeue([lost], NOW)
        assert tracker.missing_since(KEY) is None
        assert tracker.find(KEY, 8) == job(8), "gone from squeue is not ended"
        lookups = tracker.due_lookups(NOW)
        tracker.apply_accounting(lookups, [lost], NOW, current=True)
        assert tracker.missing_since(KEY) == NOW, "accounting has no end of the second"
        reused = job(7, submitted=NOW + 60 * SECOND)
        tracker.apply_squeue([reused], NOW)
        assert tracker.find(KEY, 7) == reused

    def test_the_end_of_a_lost_job_is_forgotten(self) -> None:
        tracker = JobTracker()
        tracker.apply_squeue([job(7, state=JobPhase.ENDED)], NOW)
        tracker.apply_squeue([], NOW)
        assert tracker.find(KEY, None) is not None
        tracker.ignore(KEY, 7, NOW)
        assert tracker.find(KEY, None) is None

    def test_tasks_of_an_array_whose_comment_is_changed_stay_known(self) -> None:
        tracker = JobTracker()
        waiting = replace(job(7, state=JobPhase.QUEUED), array_job_id=7, tasks=(0, 1))
        tracker.apply_squeue([waiting], NOW)
        first = replace(job(8), array_job_id=7, tasks=(0,))
        tracker.apply_squeue(
            [replace(waiting, uuid=None, tasks=(1,)), replace(first, uuid=None)], NOW
        )
        assert tracker.list_copies(KEY, 7) == (replace(waiting, tasks=(1,)), first)

    @pytest.mark.parametrize(
        "other",
        [
            job(7, user="bob", uuid=None),
            job(7, uuid=None, submitted=NOW - timedelta(hours=1)),
            replace(job(7, uuid=None, submitted=NOW + 60 * SECOND), name="another"),
            job(8, uuid=None),
        ],
        ids=["user", "older", "a later one with another name", "id"],
    )
    def test_a_changed_comment_does_not_excuse_another_job(self, other: JobInfo) -> None:
        tracker = JobTracker()
        tracker.apply_squeue([job(7)], NOW)
        tracker.apply_squeue([other], NOW)
        assert tracker.by_id[other.job_id] == other
        assert KEY in tracker.due_lookups(NOW + SECOND)

    @pytest.mark.parametrize(
        ("last", "shown", "found"),
        [
            (None, NOW, True),
            (None, NOW - timedelta(hours=1), False),
            (NOW, NOW, True),
            (NOW, NOW + timedelta(hours=1), False),
        ],
    )
    def test_a_job_whose_comment_never_arrived_is_found_by_its_id(
        self, last: datetime | None, shown: datetime, found: bool
    ) -> None:
        """Slurm's job_submit plugin may overwrite it, and the portal may have been restarted."""
        tracker = JobTracker()
        tracker.request_lookup(KEY, 7, NOW, NOW, submit_time=last)
        answer = [job(7, uuid=None, submitted=shown)]
        tracker.apply_squeue(answer, NOW)
        assert (tracker.find(KEY, 7) is not None) is found
        tracker.apply_squeue(answer, NOW)
        assert (tracker.find(KEY, 7) is not None) is found
        assert not found or tracker.missing_since(KEY) is None

    def test_the_lookup_of_an_external_job_gives_it_no_uuid(self) -> None:
        tracker = JobTracker()
        tracker.request_lookup(KEY, 7, NOW, NOW, external=True)
        tracker.apply_squeue([job(7, uuid=None)], NOW)
        assert tracker.by_id[7].uuid is None

    def test_absence_is_never_the_end(self) -> None:
        tracker = JobTracker()
        tracker.apply_squeue([job()], NOW)
        tracker.apply_squeue([], NOW + SECOND)
        found = tracker.find(KEY, None)
        assert found is not None
        assert found.phase is JobPhase.RUNNING
        assert KEY in tracker.due_lookups(NOW + SECOND), "accounting is asked at once"

    def test_accounting_reports_the_end(self) -> None:
        tracker = JobTracker()
        tracker.apply_squeue([job()], NOW)
        tracker.apply_squeue([], NOW)
        before = tracker.version
        ended = job(state=JobPhase.ENDED, uuid=None)  # comments may be lost
        tracker.apply_accounting(tracker.due_lookups(NOW), [ended], NOW, current=True)
        found = tracker.find(KEY, None)
        assert found is not None
        assert (found.phase, found.uuid) == (JobPhase.ENDED, UUID)
        assert tracker.version > before
        assert not tracker.due_lookups(NOW + timedelta(hours=1))

    @pytest.mark.parametrize(
        "other",
        [
            job(state=JobPhase.ENDED, user="bob"),
            job(state=JobPhase.ENDED, uuid="00000000-1234-1234-1234-123456789abc"),
            job(state=JobPhase.ENDED, uuid=None, submitted=NOW - timedelta(days=1)),
            job(2, state=JobPhase.ENDED, uuid=None),
            job(state=JobPhase.RUNNING),
        ],
        ids=["user", "uuid", "an older job of the same id", "id", "not ended"],
    )
    def test_accounting_speaks_of_another_job(self, other: JobInfo) -> None:
        tracker = JobTracker()
        tracker.apply_squeue([job()], NOW)
        tracker.apply_squeue([], NOW)
        tracker.apply_accounting(tracker.due_lookups(NOW), [other], NOW, current=True)
        assert tracker.find(KEY, None) == job()

    def test_accounting_that_does_not_answer_is_asked_again_ever_more_seldom(self) -> None:
        tracker = JobTracker()
        tracker.apply_squeue([job()], NOW)
        tracker.apply_squeue([], NOW)
        asked = []
        for second in range(1200):
            now = NOW + second * SECOND
            if due := tracker.due_lookups(now):
                tracker.apply_accounting(due, None, now, current=True)
                asked.append(second)
        assert asked == [0, 4, 10, 26, 58, 122, 250, 506, 806, 1106]
        assert tracker.find(KEY, None) == job(), "unknown, so as it was"
        assert tracker.unknown_since(KEY) is None

    def test_lost_only_when_accounting_has_answered_without_it_for_long(self) -> None:
        tracker = JobTracker()
        tracker.apply_squeue([job()], NOW)
        tracker.apply_squeue([], NOW)
        now = NOW
        while now < NOW + LOST_AFTER:
            assert tracker.find(KEY, None) == job()
            tracker.apply_accounting(tracker.due_lookups(now), [], now, current=True)
            now += SECOND
        while tracker.find(KEY, None):
            assert now < NOW + 2 * LOST_AFTER
            tracker.apply_accounting(tracker.due_lookups(now), [], now, current=True)
            now += SECOND
        assert tracker.unknown_since(KEY) == NOW

    @pytest.mark.parametrize("state", [JobPhase.QUEUED, JobPhase.RUNNING])
    def test_lagging_accounting_does_not_make_a_job_missing(self, state: JobPhase) -> None:
        tracker = JobTracker()
        tracker.apply_squeue([], NOW)
        tracker.request_lookup(KEY, 1, NOW, NOW)
        for minutes in range(60):
            now = NOW + timedelta(minutes=minutes)
            tracker.request_lookup(KEY, 1, NOW, now)
            tracker.apply_accounting(
                tracker.due_lookups(now), [job(state=state, uuid=None)], now, current=False
            )
            assert tracker.missing_since(KEY) is None
            assert tracker.unknown_since(KEY) is None
        now += timedelta(minutes=6)
        ended = job(state=JobPhase.ENDED, uuid=None)
        tracker.apply_accounting(tracker.due_lookups(now), [ended], now, current=False)
        found = tracker.find(KEY, 1)
        assert found is not None
        assert found.phase is JobPhase.ENDED

    def test_accounting_that_lags_does_not_make_a_job_unknown(self) -> None:
        tracker = JobTracker()
        tracker.apply_squeue([], NOW)
        tracker.request_lookup(KEY, 1, NOW, NOW)
        tracker.apply_accounting(tracker.due_lookups(NOW), [], NOW, current=False)
        assert tracker.missing_since(KEY) is None
        later = NOW + 10 * SECOND
        tracker.apply_accounting(tracker.due_lookups(later), [], later, current=True)
        assert tracker.missing_since(KEY) == later

    def test_a_job_that_only_accounting_has_is_lost_after_a_while(self) -> None:
        """slurmctld lost its state, and with it the job's end: it is never reported to
        accounting."""
        tracker = JobTracker()
        tracker.apply_squeue([job()], NOW)
        tracker.apply_squeue([], NOW)
        running = job(uuid=None)
        tracker.apply_accounting(tracker.due_lookups(NOW), [running], NOW, current=True)
        assert tracker.missing_since(KEY) is None
        now = NOW + RUNAWAY_AFTER
        tracker.apply_accounting(tracker.due_lookups(now), [running], now, current=True)
        assert tracker.missing_since(KEY) == now
        assert tracker.find(KEY, None) == job()
        now += LOST_AFTER
        tracker.apply_accounting(tracker.due_lookups(now), [running], now, current=True)
        assert tracker.find(KEY, None) is None

    @pytest.mark.parametrize("uuid", [UUID, None])
    def test_the_run_before_a_requeue_is_not_the_end(self, uuid: str | None) -> None:
        """slurmdbd may have no other record yet."""
        tracker = JobTracker()
        requeued = job(submitted=NOW + 10 * SECOND)
        tracker.apply_squeue([requeued], NOW)
        tracker.apply_squeue([], NOW)
        earlier = job(uuid=uuid, state=JobPhase.ENDED)
        tracker.apply_accounting(tracker.due_lookups(NOW), [earlier], NOW, current=False)
        assert tracker.find(KEY, 1) == requeued
        later = NOW + 10 * SECOND
        own = job(uuid=uuid, state=JobPhase.ENDED, submitted=later)
        tracker.apply_accounting(tracker.due_lookups(later), [earlier, own], later, current=True)
        assert tracker.find(KEY, 1) == job(state=JobPhase.ENDED, submitted=later)

    def test_a_job_that_comes_back_was_never_away(self) -> None:
        tracker = JobTracker()
        tracker.apply_squeue([job()], NOW)
        tracker.apply_squeue([], NOW)
        tracker.apply_squeue([job()], NOW)
        assert not tracker.due_lookups(NOW)
        assert tracker.find(KEY, None) == job()

    def test_an_ended_job_is_remembered_when_squeue_forgets_it(self) -> None:
        tracker = JobTracker()
        ended = job(state=JobPhase.ENDED)
        tracker.apply_squeue([ended], NOW)
        tracker.apply_squeue([], NOW)
        assert tracker.find(KEY, None) == ended
        assert not tracker.due_lookups(NOW)

    def test_a_job_never_seen_is_looked_up_by_its_id_at_once(self) -> None:
        tracker = JobTracker()
        tracker.apply_squeue([], NOW)
        tracker.request_lookup(KEY, 5, NOW, NOW)
        tracker.apply_accounting(
            tracker.due_lookups(NOW), [job(5, state=JobPhase.ENDED)], NOW, current=True
        )
        found = tracker.find(KEY, 5)
        assert found is not None
        assert found.phase is JobPhase.ENDED

    def test_a_job_just_submitted_is_not_looked_up_yet(self) -> None:
        tracker = JobTracker()
        tracker.request_lookup(KEY, None, NOW, NOW)
        assert not tracker.due_lookups(NOW + 10 * SECOND)
        assert tracker.due_lookups(NOW + 12 * SECOND), "it is to be settled within 30 s"

    def test_readers_learn_at_once_that_a_job_is_unknown(self) -> None:
        tracker = JobTracker()
        tracker.apply_squeue([], NOW)
        tracker.request_lookup(KEY, None, NOW, NOW)
        version, later = tracker.version, NOW + NEW_JOB
        for _ in range(2):
            tracker.apply_accounting(tracker.due_lookups(later), [], later, current=True)
        assert tracker.unknown_since(KEY) == later
        assert tracker.version == version + 1

    def test_unrepeated_lookups_are_dropped(self) -> None:
        tracker = JobTracker()
        tracker.request_lookup(KEY, 5, NOW, NOW)
        assert not tracker.due_lookups(NOW + timedelta(hours=1))

    def test_a_fifth_gone_at_once_is_not_believed_until_repeated(self) -> None:
        tracker = JobTracker()
        jobs = [job(n, uuid=None) for n in range(1, 26)]
        assert tracker.apply_squeue(jobs, NOW)
        for _ in range(2):
            assert not tracker.apply_squeue(jobs[5:], NOW)
            assert len(tracker.by_id) == 25
        assert tracker.apply_squeue(jobs[5:], NOW)
        assert len(tracker.by_id) == 20

    @given(st.integers(0, 200), st.integers(0, 200))
    def test_what_is_incredible(self, live: int, gone: int) -> None:
        gone = min(live, gone)
        tracker = JobTracker()
        tracker.apply_squeue([job(n, uuid=None) for n in range(live)], NOW)
        believed = tracker.apply_squeue([job(n, uuid=None) for n in range(gone, live)], NOW)
        assert believed is not (gone >= 5 and gone * 5 >= live)

    def test_ended_jobs_may_leave_in_any_number(self) -> None:
        tracker = JobTracker()
        tracker.apply_squeue([job(n, uuid=None, state=JobPhase.ENDED) for n in range(100)], NOW)
        assert tracker.apply_squeue([], NOW)

    def test_one_doubt_does_not_count_for_the_next(self) -> None:
        tracker = JobTracker()
        jobs = [job(n, uuid=None) for n in range(10)]
        for _ in range(5):
            assert tracker.apply_squeue(jobs, NOW)
            assert not tracker.apply_squeue([], NOW)
