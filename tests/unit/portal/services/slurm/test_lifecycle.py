"""The effect of Slurm's reports on a row: every state, both desired states, and foreign jobs."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from portal.models import JobState, Session, User, Wanted
from portal.services.slurm import lifecycle
from spawner.slurm.model import JobInfo, JobPhase, Outcome

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
PATIENCE = lifecycle.Patience(timedelta(minutes=3), timedelta(minutes=5))


def session(**columns: object) -> Session:
    made: dict[str, object] = {
        "id": "5b1c", "name": "s1", "wanted": Wanted.RUN, "state": JobState.QUEUED,
        "created_at": NOW, "user": User(username="alice"),
    }  # fmt: skip
    return Session(**(made | columns))


def info(state: JobPhase, **fields: Any) -> JobInfo:
    base = JobInfo(
        job_id=7, user="alice", name="portal-s1", phase=state, slurm_state=state.upper(),
        uuid="5b1c", submit_time=NOW, time_limit_minutes=60,
    )  # fmt: skip
    return replace(base, **fields)


@pytest.mark.parametrize(
    "stranger",
    [
        {"uuid": "other"},
        {"uuid": None, "job_id": 8},
        {"user": "bob"},
        {"submit_time": NOW - timedelta(hours=1)},
    ],
)
def test_job_with_other_identity_is_foreign(stranger: dict[str, object]) -> None:
    assert lifecycle.is_ours(session(), info(JobPhase.RUNNING))
    assert not lifecycle.is_ours(session(), info(JobPhase.RUNNING, **stranger))


def test_suspended_job_has_no_suggestion_from_the_queue() -> None:
    row = session(reason="Waiting for free resources.", suggestion="Choose another partition.")
    found = lifecycle.build_observed_columns(row, info(JobPhase.SUSPENDED), NOW)
    assert found["reason"] == "Slurm has suspended this job."
    assert found["suggestion"] is None


def test_suspended_job_that_an_administrator_stops_keeps_the_reason() -> None:
    row = session(wanted=Wanted.STOP, outcome=Outcome.CANCELLED, reason="An administrator did it.")
    found = lifecycle.build_observed_columns(row, info(JobPhase.SUSPENDED), NOW)
    assert "reason" not in found


def external(**columns: object) -> Session:
    """Return a job from outside the portal, with an id derived from Slurm's own."""
    return session(id="87654321-4321-5321-4321-cba987654321", job_id=7, submit_time=NOW, **columns)


LATER = NOW + timedelta(hours=1)


@pytest.mark.parametrize(
    ("row", "shown", "same"),
    [
        (session(job_id=7), {}, True),
        (session(job_id=7), {"submit_time": LATER}, True),  # requeued
        (session(job_id=7), {"submit_time": NOW - timedelta(hours=1)}, False),
        (session(job_id=7), {"uuid": "another"}, False),
        (session(job_id=7), {"user": "bob"}, False),
        (session(job_id=7, submit_time=NOW), {"uuid": None}, True),  # its comment was changed
        (session(job_id=7, submit_time=NOW), {"uuid": None, "submit_time": LATER}, False),
        (session(job_id=7), {"uuid": None}, False),
        (external(), {"uuid": None}, True),
        (external(), {"uuid": "another's"}, True),
        (external(), {"uuid": None, "submit_time": LATER}, False),
        (external(), {"uuid": None, "user": "bob"}, False),
    ],
)
def test_a_later_job_with_the_same_number_is_not_the_same(
    row: Session, shown: dict[str, object], same: bool
) -> None:
    assert lifecycle.is_certainly_ours(row, info(JobPhase.RUNNING, **shown)) is same


def test_queued_job_has_reason_and_estimate() -> None:
    start = NOW + timedelta(minutes=9)
    found = lifecycle.build_observed_columns(
        session(), info(JobPhase.QUEUED, reason="Resources", estimated_start=start), NOW
    )
    assert found["state"] is JobState.QUEUED
    assert "free resources" in str(found["reason"])
    assert found["estimated_start"] == start


def test_a_running_job_without_a_server_is_starting() -> None:
    running = info(JobPhase.RUNNING, start_time=NOW, nodes=("node01",))
    found = lifecycle.build_observed_columns(session(), running, NOW)
    assert found["state"] is JobState.STARTING
    assert found["node"] == "node01"
    assert found["expires_at"] == NOW + timedelta(minutes=60)
    left = lifecycle.build_observed_columns(
        session(called_home_at=NOW, target_port=None), running, NOW
    )
    assert left["state"] is JobState.STOPPING
    ready = lifecycle.build_observed_columns(session(ready_at=NOW), running, NOW)
    assert ready["state"] is JobState.RUNNING


@pytest.mark.parametrize("state", [JobPhase.QUEUED, JobPhase.RUNNING])
def test_what_should_stop_is_stopping_until_it_has(state: JobPhase) -> None:
    found = lifecycle.build_observed_columns(
        session(wanted=Wanted.STOP), info(state, nodes=("node01",)), NOW
    )
    assert found["state"] is JobState.STOPPING


def test_a_stopped_session_was_cancelled_whatever_slurm_calls_it() -> None:
    ended = info(JobPhase.ENDED, outcome=Outcome.FAILED, exit_code=143)
    found = lifecycle.build_observed_columns(session(wanted=Wanted.STOP), ended, NOW)
    assert (found["state"], found["outcome"]) == (JobState.ENDED, Outcome.CANCELLED)


def test_a_session_given_up_by_us_keeps_our_reason() -> None:
    row = session(wanted=Wanted.STOP, outcome=Outcome.FAILED, reason="ours")
    found = lifecycle.build_observed_columns(
        row, info(JobPhase.ENDED, outcome=Outcome.CANCELLED), NOW
    )
    assert found["outcome"] is Outcome.FAILED
    assert "reason" not in found


@pytest.mark.parametrize("state", [JobPhase.QUEUED, JobPhase.RUNNING])
def test_a_session_stopped_by_an_administrator_says_so_until_the_end(state: JobPhase) -> None:
    decided = {"reason": "An administrator …", "suggestion": "Ask them."}
    row = session(wanted=Wanted.STOP, outcome=Outcome.CANCELLED, **decided)
    found = lifecycle.build_observed_columns(row, info(state, nodes=("node01",)), NOW)
    assert {name: found[name] for name in decided} == decided
    found = lifecycle.build_observed_columns(row, info(JobPhase.ENDED, outcome=Outcome.FAILED), NOW)
    assert found["outcome"] is Outcome.CANCELLED
    assert "reason" not in found


def test_time_limit_is_reported_with_suggestion() -> None:
    found = lifecycle.build_observed_columns(
        session(), info(JobPhase.ENDED, outcome=Outcome.TIMEOUT), NOW
    )
    assert "time limit of 1 hour" in str(found["reason"])
    assert "longer" in str(found["suggestion"])


def test_the_node_programs_own_words_win_over_the_exit_code() -> None:
    row = session(outcome=Outcome.FAILED, reason="There is no space left.")
    found = lifecycle.build_observed_columns(
        row, info(JobPhase.ENDED, outcome=Outcome.FAILED, exit_code=1), NOW
    )
    assert found["reason"] == "There is no space left."


def starting(**columns: object) -> Session:
    return session(state=JobState.STARTING, started_at=NOW, node="node01", **columns)


def test_a_node_that_never_calls_is_given_up_in_time() -> None:
    just_before = NOW + PATIENCE.call_home
    assert lifecycle.build_start_timeout_columns(starting(), just_before, PATIENCE, NOW) is None
    update = lifecycle.build_start_timeout_columns(starting(), just_before + SECOND, PATIENCE, NOW)
    assert update is not None
    assert update["wanted"] is Wanted.STOP
    assert "node01" in update["reason"]


def test_a_hub_that_stays_away_is_given_up_in_time() -> None:
    row = starting(called_home_at=NOW)
    assert lifecycle.build_start_timeout_columns(row, NOW + PATIENCE.hub, PATIENCE, NOW) is None
    update = lifecycle.build_start_timeout_columns(row, NOW + PATIENCE.hub + SECOND, PATIENCE, NOW)
    assert update is not None
    assert "JupyterHub" in update["reason"]


@pytest.mark.parametrize("called_home_at", [None, NOW])
def test_outage_does_not_count_as_delay(called_home_at: datetime | None) -> None:
    """The portal or Slurm was unavailable, or the session suspended, until `since`."""
    row = starting(called_home_at=called_home_at)
    since = NOW + timedelta(hours=4)
    assert (
        lifecycle.build_start_timeout_columns(row, since + timedelta(minutes=3), PATIENCE, since)
        is None
    )
    assert (
        lifecycle.build_start_timeout_columns(row, since + timedelta(minutes=6), PATIENCE, since)
        is not None
    )


def test_a_session_that_was_ready_is_never_given_up() -> None:
    ready = session(state=JobState.RUNNING, started_at=NOW, called_home_at=NOW, ready_at=NOW)
    let_go = starting(called_home_at=NOW, ready_at=None, first_ready_at=NOW)
    for row in (ready, let_go):
        assert (
            lifecycle.build_start_timeout_columns(row, NOW + timedelta(days=1), PATIENCE, NOW)
            is None
        )


@pytest.mark.parametrize(
    ("wanted", "outcome"), [(Wanted.RUN, Outcome.FAILED), (Wanted.STOP, Outcome.CANCELLED)]
)
def test_a_lost_job_ends(wanted: Wanted, outcome: Outcome) -> None:
    found = lifecycle.build_lost_columns(session(wanted=wanted), NOW)
    assert (found["state"], found["outcome"]) == (JobState.ENDED, outcome)
