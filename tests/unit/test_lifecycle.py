"""What Slurm's word means for a row: every state, both wishes, and what is not ours."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from portal.models import JobState, Session, User, Wanted
from portal.services.slurm import lifecycle
from spawner.model import JobInfo, Outcome, SlurmState

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HUB_PATIENCE = timedelta(minutes=5)


def session(**columns: object) -> Session:
    made: dict[str, object] = {
        "id": "5b1c", "name": "s1", "wanted": Wanted.RUN, "state": JobState.QUEUED,
        "created_at": NOW, "user": User(username="alice"),
    }  # fmt: skip
    return Session(**(made | columns))


def info(state: SlurmState, **fields: object) -> JobInfo:
    base = JobInfo(
        job_id=7, user="alice", name="portal-s1", state=state, slurm_state=state.upper(),
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
def test_a_job_of_someone_elses_making_is_not_ours(stranger: dict[str, object]) -> None:
    assert lifecycle.is_ours(session(), info(SlurmState.RUNNING))
    assert not lifecycle.is_ours(session(), info(SlurmState.RUNNING, **stranger))


def test_a_queued_job_says_why_it_waits() -> None:
    start = NOW + timedelta(minutes=9)
    found = lifecycle.observe(
        session(), info(SlurmState.QUEUED, reason="Resources", estimated_start=start), NOW
    )
    assert found["state"] is JobState.QUEUED
    assert "free resources" in str(found["reason"])
    assert found["estimated_start"] == start


def test_a_running_job_without_a_server_is_starting() -> None:
    running = info(SlurmState.RUNNING, start_time=NOW, nodes=("node01",))
    found = lifecycle.observe(session(), running, NOW)
    assert found["state"] is JobState.STARTING
    assert found["node"] == "node01"
    assert found["expires_at"] == NOW + timedelta(minutes=60)
    left = lifecycle.observe(session(called_home_at=NOW, target_port=None), running, NOW)
    assert left["state"] is JobState.STOPPING
    ready = lifecycle.observe(session(ready_at=NOW), running, NOW)
    assert ready["state"] is JobState.RUNNING


@pytest.mark.parametrize("state", [SlurmState.QUEUED, SlurmState.RUNNING])
def test_what_should_stop_is_stopping_until_it_has(state: SlurmState) -> None:
    found = lifecycle.observe(session(wanted=Wanted.STOP), info(state, nodes=("node01",)), NOW)
    assert found["state"] is JobState.STOPPING


def test_a_stopped_session_was_cancelled_whatever_slurm_calls_it() -> None:
    ended = info(SlurmState.ENDED, outcome=Outcome.FAILED, exit_code=143)
    found = lifecycle.observe(session(wanted=Wanted.STOP), ended, NOW)
    assert (found["state"], found["outcome"]) == (JobState.ENDED, Outcome.CANCELLED)


def test_a_session_given_up_by_us_keeps_our_reason() -> None:
    row = session(wanted=Wanted.STOP, outcome=Outcome.FAILED, reason="ours")
    found = lifecycle.observe(row, info(SlurmState.ENDED, outcome=Outcome.CANCELLED), NOW)
    assert found["outcome"] is Outcome.FAILED
    assert "reason" not in found


def test_a_time_limit_is_told_with_what_to_do() -> None:
    found = lifecycle.observe(session(), info(SlurmState.ENDED, outcome=Outcome.TIMEOUT), NOW)
    assert "time limit of 1 hour" in str(found["reason"])
    assert "longer" in str(found["advice"])


def test_the_node_programs_own_words_win_over_the_exit_code() -> None:
    row = session(outcome=Outcome.FAILED, reason="There is no space left.")
    found = lifecycle.observe(row, info(SlurmState.ENDED, outcome=Outcome.FAILED, exit_code=1), NOW)
    assert found["reason"] == "There is no space left."


def test_a_node_that_never_calls_is_given_up_in_time() -> None:
    row = session(state=JobState.STARTING, started_at=NOW, node="node01")
    just_before = NOW + lifecycle.CALL_HOME_PATIENCE
    assert lifecycle.give_up(row, just_before, HUB_PATIENCE) is None
    update = lifecycle.give_up(row, just_before + timedelta(seconds=1), HUB_PATIENCE)
    assert update is not None
    assert update["wanted"] is Wanted.STOP
    assert "node01" in update["reason"]


def test_a_hub_that_stays_away_is_given_up_in_time() -> None:
    row = session(state=JobState.STARTING, started_at=NOW, called_home_at=NOW)
    assert lifecycle.give_up(row, NOW + HUB_PATIENCE, HUB_PATIENCE) is None
    update = lifecycle.give_up(row, NOW + HUB_PATIENCE + timedelta(seconds=1), HUB_PATIENCE)
    assert update is not None
    assert "JupyterHub" in update["reason"]


def test_a_ready_session_is_never_given_up() -> None:
    row = session(state=JobState.RUNNING, started_at=NOW, called_home_at=NOW, ready_at=NOW)
    assert lifecycle.give_up(row, NOW + timedelta(days=1), HUB_PATIENCE) is None


@pytest.mark.parametrize(
    ("wanted", "outcome"), [(Wanted.RUN, Outcome.FAILED), (Wanted.STOP, Outcome.CANCELLED)]
)
def test_a_lost_job_ends(wanted: Wanted, outcome: Outcome) -> None:
    found = lifecycle.lost(session(wanted=wanted), NOW)
    assert (found["state"], found["outcome"]) == (JobState.ENDED, outcome)
