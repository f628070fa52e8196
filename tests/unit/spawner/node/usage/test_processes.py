"""The processes of a job and their total usage, on a /proc created by the test."""

from __future__ import annotations

import os
from pathlib import Path

from spawner.node.usage.processes import PAGE, TICKS, Processes

OURS = b"PATH=/bin\0SLURM_JOB_ID=7\0"


def process(
    proc: Path, pid: int, *, parent: int = 1, ticks: int = 0, pages: int = 0,
    environ: bytes = b"", name: str = "python3", began: int = 5,
) -> None:  # fmt: skip
    folder = proc / str(pid)
    folder.mkdir(parents=True, exist_ok=True)
    fields = ["S", str(parent), *["0"] * 9, str(ticks), "0", *["0"] * 6, str(began), "0", "0"]
    fields[21] = str(pages)
    (folder / "stat").write_text(f"{pid} ({name}) {' '.join(fields)}\n")
    (folder / "environ").write_bytes(environ)


def gone(proc: Path, pid: int) -> None:
    for file in (proc / str(pid)).iterdir():
        file.unlink()
    (proc / str(pid)).rmdir()


def test_a_job_s_processes_by_their_environment_and_their_parents(tmp_path: Path) -> None:
    process(tmp_path, 10, environ=OURS, pages=100, ticks=2 * TICKS)
    process(tmp_path, 11, parent=10, pages=10, ticks=TICKS, name="a) R 1 (b", began=6)
    process(tmp_path, 12, parent=1, pages=1000, environ=b"SLURM_JOB_ID=77\0")
    process(tmp_path, 13, parent=1, pages=1000, environ=b"X=SLURM_JOB_ID=7\0")
    (tmp_path / "14").mkdir()  # a process that has just ended
    (tmp_path / "self").mkdir()
    found = Processes("7", tmp_path).measure()
    assert found is not None
    assert (found.memory_bytes, found.cpu_s) == (110 * PAGE, 3.0)


def test_what_ended_processes_have_used_stays_used(tmp_path: Path) -> None:
    process(tmp_path, 10, environ=OURS, ticks=TICKS)
    process(tmp_path, 11, parent=10, ticks=4 * TICKS)
    job = Processes("7", tmp_path)
    job.measure()
    gone(tmp_path, 11)
    process(tmp_path, 10, environ=OURS, ticks=2 * TICKS)
    process(tmp_path, 12, parent=10, ticks=TICKS)
    # the id is reused by an unrelated process
    process(tmp_path, 11, parent=1, ticks=9 * TICKS, began=99)
    found = job.measure()
    assert found is not None
    assert found.cpu_s == 2 + 1 + 4


def test_a_process_stays_the_job_s_when_its_parent_has_ended(tmp_path: Path) -> None:
    process(tmp_path, 10, environ=OURS, pages=1)
    process(tmp_path, 11, parent=10, pages=2)
    job = Processes("7", tmp_path)
    job.measure()
    gone(tmp_path, 10)
    process(tmp_path, 11, parent=1, pages=2)
    found = job.measure()
    assert found is not None
    assert found.memory_bytes == 2 * PAGE


def test_a_task_counts_from_the_start_of_its_program(tmp_path: Path) -> None:
    process(tmp_path, 10, environ=OURS)
    process(tmp_path, 11, environ=b"SLURM_CONF=/etc/slurm\0", name="slurmstepd")
    job = Processes("7", tmp_path)
    job.measure()
    process(tmp_path, 11, environ=OURS, ticks=3 * TICKS)
    found = job.measure()
    assert found is not None
    assert found.cpu_s == 3


def test_other_users_s_processes_are_not_looked_at(tmp_path: Path) -> None:
    process(tmp_path, 10, environ=OURS)
    assert Processes("7", tmp_path, uid=os.getuid() + 1).measure() is None
    assert Processes("8", tmp_path).measure() is None
