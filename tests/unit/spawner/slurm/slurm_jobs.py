"""A job as squeue and accounting report it."""

from datetime import UTC, datetime, timedelta

from spawner.slurm.model import JobInfo, JobPhase, Outcome

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
UUID = "12345678-1234-1234-1234-123456789abc"
KEY = (UUID, "alice")


def job(
    job_id: int = 1,
    user: str = "alice",
    uuid: str | None = UUID,
    state: JobPhase = JobPhase.RUNNING,
    submitted: datetime = NOW,
) -> JobInfo:
    outcome = Outcome.COMPLETED if state is JobPhase.ENDED else None
    return JobInfo(
        job_id, user, "x", state, state.value.upper(), outcome, uuid=uuid, submit_time=submitted
    )
