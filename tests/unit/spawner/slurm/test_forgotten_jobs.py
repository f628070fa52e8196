"""Jobs that slurmctld has certainly forgotten, as after a kill right after their submission."""

from datetime import datetime, timedelta

import pytest

from spawner.slurm.job_tracker import JobTracker
from spawner.slurm.model import JobInfo, JobPhase
from tests.unit.spawner.slurm.slurm_jobs import KEY, NOW, SECOND, job

POLL = 4 * SECOND
MIN_JOB_AGE = timedelta(minutes=5)
AGAIN = NOW + SECOND  # slurmctld answers again
ENDED = job(state=JobPhase.ENDED)


def poll(
    tracker: JobTracker,
    start: datetime,
    length: timedelta,
    *,
    shown: tuple[JobInfo, ...] = (),
    found: tuple[JobInfo, ...] = (),
    recorded: tuple[JobInfo, ...] | None = None,
    min_job_age: timedelta = MIN_JOB_AGE,
    since: datetime | None = NOW,
    job_id: int | None = 1,
    external: bool = False,
    lookup_time: timedelta = timedelta(0),
) -> datetime | None:
    """Poll as the watcher does, with an accounting that lags; return when the job was forgotten.

    A lookup takes `lookup_time`.
    """
    now = start
    while now <= start + length:
        tracker.apply_squeue(shown, now)
        if tracker.find(KEY, job_id, external) is None:
            tracker.request_lookup(KEY, job_id, since, now, external=external)
        lookups = tracker.due_lookups(now)
        keys = tracker.list_unconfirmed(lookups, now)
        forgotten = tracker.select_forgotten(keys, min_job_age, found, now)
        answered_at = now + lookup_time
        tracker.apply_accounting(lookups, recorded, answered_at, current=False, forgotten=forgotten)
        if tracker.is_lost_by_slurmctld(KEY):
            return now
        now += POLL
    return None


def see(tracker: JobTracker, state: JobPhase = JobPhase.RUNNING, at: datetime = NOW) -> None:
    tracker.apply_squeue([job(state=state)], at)


@pytest.mark.parametrize("state", [JobPhase.QUEUED, JobPhase.RUNNING, JobPhase.SUSPENDED])
@pytest.mark.parametrize("recorded", [None, (), (job(uuid=None),)])
def test_a_job_seen_live_is_forgotten_within_seconds(
    state: JobPhase, recorded: tuple[JobInfo, ...] | None
) -> None:
    """Whether accounting is away, does not have the job, or has it as running."""
    tracker = JobTracker()
    see(tracker, state)
    version = tracker.version
    at = poll(tracker, AGAIN, 30 * SECOND, recorded=recorded)
    assert at is not None
    assert 10 * SECOND <= at - AGAIN <= 20 * SECOND
    assert tracker.find(KEY, 1) is None
    assert tracker.unknown_since(KEY) is not None
    assert tracker.missing_since(KEY) is not None
    assert tracker.version > version


@pytest.mark.parametrize("external", [False, True])
def test_a_job_just_submitted_is_forgotten_within_seconds(external: bool) -> None:
    at = poll(JobTracker(), AGAIN, 30 * SECOND, external=external)
    assert at is not None
    assert at - AGAIN <= 20 * SECOND


@pytest.mark.parametrize("lookup_s", [1, 2, 3])
def test_slow_lookups_do_not_delay_it(lookup_s: int) -> None:
    tracker = JobTracker()
    see(tracker)
    at = poll(tracker, AGAIN, 30 * SECOND, lookup_time=lookup_s * SECOND)
    assert at is not None
    assert at - AGAIN <= 12 * SECOND


def test_a_recorded_end_takes_precedence() -> None:
    tracker = JobTracker()
    see(tracker)
    assert poll(tracker, AGAIN, 8 * SECOND) is None
    assert poll(tracker, AGAIN + 12 * SECOND, timedelta(0), recorded=(ENDED,)) is None
    assert tracker.find(KEY, 1) == ENDED


def test_an_outage_before_the_answers_does_not_delay_them() -> None:
    tracker = JobTracker()
    see(tracker)
    poll(tracker, AGAIN, 9 * SECOND)
    tracker.note_outage()
    again = AGAIN + timedelta(minutes=2)
    at = poll(tracker, again, 30 * SECOND)
    assert at is not None
    assert 10 * SECOND <= at - again <= 20 * SECOND


def test_a_reused_id_is_another_job() -> None:
    for other in (job(user="bob"), job(uuid="00000000-1234-1234-1234-123456789abc")):
        tracker = JobTracker()
        see(tracker)
        assert poll(tracker, AGAIN, 30 * SECOND, shown=(other,), found=(other,)) is not None


def test_a_job_that_comes_back_is_not_forgotten() -> None:
    tracker = JobTracker()
    see(tracker)
    assert poll(tracker, AGAIN, 30 * SECOND) is not None
    see(tracker, at=NOW + timedelta(minutes=1))
    assert not tracker.is_lost_by_slurmctld(KEY)
    assert tracker.find(KEY, 1) == job()


# --- no proof -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seen", "first_answer", "changes"),
    [
        (JobPhase.RUNNING, timedelta(minutes=5), {}),
        (JobPhase.RUNNING, SECOND, {"min_job_age": 30 * SECOND}),
        (JobPhase.RUNNING, SECOND, {"min_job_age": timedelta(0)}),
        (JobPhase.RUNNING, SECOND, {"found": (job(),)}),
        (JobPhase.RUNNING, SECOND, {"found": (job(uuid=None),)}),
        (None, SECOND, {"since": NOW - timedelta(minutes=5)}),
        (None, SECOND, {"since": NOW + timedelta(minutes=5)}),
        (None, SECOND, {"since": None}),
        (None, SECOND, {"job_id": None}),
    ],
    ids=[
        "seen too long ago", "ended jobs are kept briefly", "no MinJobAge", "shown by its id",
        "shown without a comment", "old", "clock set back", "age unknown", "id unknown",
    ],
)  # fmt: skip
def test_not_forgotten(
    seen: JobPhase | None, first_answer: timedelta, changes: dict[str, object]
) -> None:
    tracker = JobTracker()
    if seen is not None:
        see(tracker, seen)
    assert poll(tracker, NOW + first_answer, timedelta(minutes=3), **changes) is None  # type: ignore[arg-type]


def test_a_completing_job_may_have_ended_long_ago() -> None:
    """Slurm counts MinJobAge from when it began to complete."""
    tracker = JobTracker()
    later = NOW + timedelta(minutes=10)
    see(tracker, JobPhase.COMPLETING, later)
    assert poll(tracker, later + SECOND, timedelta(minutes=3)) is None
    assert tracker.find(KEY, 1) is not None


def test_answers_count_only_without_an_outage_between_them() -> None:
    tracker = JobTracker()
    see(tracker)
    for minute in range(3):
        start = NOW + timedelta(minutes=minute)
        assert poll(tracker, start, 9 * SECOND) is None
        tracker.note_outage()


def test_answers_from_before_the_submission_do_not_count() -> None:
    tracker = JobTracker()
    assert poll(tracker, AGAIN, 30 * SECOND, job_id=None) is None
    submitted = AGAIN + 34 * SECOND
    assert poll(tracker, submitted, 8 * SECOND) is None
    assert poll(tracker, submitted + 12 * SECOND, 20 * SECOND) is not None


def test_an_external_job_that_is_shown_is_not_missing() -> None:
    tracker = JobTracker()
    poll(tracker, AGAIN, 8 * SECOND, external=True)
    shown = job(uuid=None)
    assert poll(tracker, AGAIN + 12 * SECOND, 30 * SECOND, shown=(shown,), external=True) is None
    assert poll(tracker, AGAIN + 46 * SECOND, 8 * SECOND, external=True) is None
