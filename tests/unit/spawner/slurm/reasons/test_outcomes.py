"""Explanations of how jobs ended."""

from dataclasses import replace

import pytest

from spawner.slurm.model import JobInfo, JobPhase, Outcome
from spawner.slurm.reasons.outcomes import explain_outcome

ENDED = JobInfo(7, "alice", "x", JobPhase.ENDED, "FAILED", Outcome.FAILED)


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (replace(ENDED, exit_code=3, signal=0), "exit code 3"),
        (replace(ENDED, exit_code=0, signal=9), "memory"),
        (replace(ENDED, exit_code=137, signal=0), "memory"),
        (replace(ENDED, exit_code=9, signal=0), "9 or 137"),
        (replace(ENDED, exit_code=11, signal=0), "11 or 139"),
        (replace(ENDED, exit_code=0, signal=11), "crashed"),
        (replace(ENDED, exit_code=0, signal=53), "its log"),
        (replace(ENDED, exit_code=127, signal=0), "not found"),
        (replace(ENDED, reason="NonZeroExitCode"), "failed with an error"),
        (replace(ENDED, reason="JobLaunchFailure"), "could not start it"),
        (replace(ENDED, outcome=Outcome.OUT_OF_MEMORY), "more memory"),
        (replace(ENDED, outcome=Outcome.NODE_FAILED, nodes=("node01",)), "node01 failed"),
        (replace(ENDED, outcome=Outcome.CANCELLED), "cancelled"),
        (replace(ENDED, outcome=Outcome.CANCELLED, slurm_state="PREEMPTED"), "priority"),
        (
            replace(ENDED, outcome=Outcome.TIMEOUT, time_limit_minutes=1501),
            "limit of 1 day 1 hour 1 minute",
        ),
    ],
)
def test_outcomes(job: JobInfo, words: str) -> None:
    why = explain_outcome(job)
    assert why is not None
    assert words in why.text


@pytest.mark.parametrize("code", [9, 137])
def test_exit_code_of_a_killed_program_hints_at_memory(code: int) -> None:
    why = explain_outcome(replace(ENDED, exit_code=code, signal=0))
    assert why is not None
    assert "memory" in f"{why.text} {why.suggestion}"


def test_nothing_to_explain() -> None:
    assert explain_outcome(replace(ENDED, outcome=Outcome.COMPLETED)) is None
    assert explain_outcome(replace(ENDED, phase=JobPhase.RUNNING, outcome=None)) is None
