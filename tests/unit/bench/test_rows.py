"""Lines of squeue for made-up jobs, read as the portal reads them."""

from __future__ import annotations

from bench.rows import MARK, job_row, squeue_line
from spawner.slurm.model import JobPhase
from spawner.slurm.parse import parse_squeue

OWNER = {"id": "an id", "username": "alice"}


def test_lines_are_the_jobs_in_their_states() -> None:
    rows = [job_row(OWNER, f"job {number}", number) for number in range(3)]
    states = ("PENDING", "RUNNING", "COMPLETED")
    lines = [squeue_line(row, "alice", state) for row, state in zip(rows, states, strict=True)]
    jobs = parse_squeue("".join(lines), MARK)
    assert [job.uuid for job in jobs] == [row["id"] for row in rows]
    assert [job.phase for job in jobs] == [JobPhase.QUEUED, JobPhase.RUNNING, JobPhase.ENDED]
    assert {job.user for job in jobs} == {"alice"}


def test_line_of_an_array_has_its_tasks() -> None:
    line = squeue_line(job_row(OWNER, "array", 7), "alice", "PENDING", K="0-9999")
    (job,) = parse_squeue(line, MARK)
    assert len(job.tasks) == 10_000
