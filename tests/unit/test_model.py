"""The shared vocabulary: frozen, with the values that are stored and transmitted."""

from dataclasses import FrozenInstanceError, replace

import pytest

from spawner.errors import (
    HomeUnavailable,
    JobNotFound,
    LauncherError,
    Rejected,
    SlurmError,
    SpawnerError,
    Unreachable,
)
from spawner.slurm.model import JobInfo, Outcome, Resources, SlurmState


def test_states_and_outcomes_are_plain_lowercase_text() -> None:
    for member in (*SlurmState, *Outcome):
        assert member == member.value == member.value.lower()


def test_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Resources().gpus = 1  # type: ignore[misc]
    job = JobInfo(1, "alice", "x", SlurmState.QUEUED, "PENDING")
    assert replace(job, job_id=2) != job


@pytest.mark.parametrize("kind", [Unreachable, JobNotFound])
def test_slurms_errors(kind: type[SlurmError]) -> None:
    error = kind("A sentence.", "stderr")
    assert (error.message, error.stderr, str(error)) == ("A sentence.", "stderr", "A sentence.")


def test_the_tree() -> None:
    assert issubclass(Rejected, SlurmError)
    assert issubclass(HomeUnavailable, LauncherError)
    assert issubclass(LauncherError, SpawnerError)
    assert Rejected("code", "No.", "Do this.").suggestion == "Do this."
