"""The tools of tests/faults: what they find wrong, and the table that they write."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cluster.client import RequestRefused
from tests.faults import faults, results
from tests.faults.invariants import BOARD, SlurmJob, check_ticks, compare, parse_queue
from tests.faults.results import Result
from tests.faults.world import judge
from tests.polling import until, wait_until

ROW = {
    "id": "a1", "owner": "alice", "name": "one", "job_id": 7, "state": "running",
    "stale_since": None,
}  # fmt: skip
JOB = SlurmJob(7, "alice", "RUNNING", "a1")


@pytest.mark.parametrize(
    ("row", "queue", "problem"),
    [
        ({}, [JOB], None),
        ({"state": "queued"}, [SlurmJob(7, "alice", "PENDING", "a1")], None),
        ({}, [JOB, SlurmJob(9, "alice", "COMPLETING", "gone")], None),
        ({}, [JOB, SlurmJob(9, "root", "RUNNING")], None),
        ({}, [JOB, SlurmJob(9, "bob", "RUNNING", "c3", BOARD)], None),
        ({}, [JOB, SlurmJob(9, "alice", "RUNNING", "c3", BOARD)], "orphan: "),
        ({}, [], "lost: "),
        ({"state": "queued"}, [JOB], "untrue: "),
        ({"state": "submitting"}, [], "unsettled: "),
        ({"state": "stopping"}, [JOB], "unsettled: "),
        ({"state": "stopping"}, [replace(JOB, state="COMPLETING")], None),
        ({"stale_since": "now"}, [JOB], "stale: "),
        ({}, [JOB, SlurmJob(9, "bob", "RUNNING", "b2")], "orphan: "),
        ({}, [JOB, SlurmJob(9, "alice", "PENDING", "a1")], "doubled: "),
    ],
)
def test_rows_that_differ_from_slurm_are_found(
    row: dict[str, Any], queue: list[SlurmJob], problem: str | None
) -> None:
    found = compare([{**ROW, **row}], queue, frozenset({"bob"}))
    assert [text.startswith(problem) for text in found] == [True] if problem else found == []


def test_the_queue_is_parsed_with_the_portals_ids() -> None:
    text = "7|alice|RUNNING|portal:a1|one\n8|bob|PENDING|(null)|x|y\n"
    assert parse_queue(text) == [
        SlurmJob(7, "alice", "RUNNING", "a1", "one"),
        SlurmJob(8, "bob", "PENDING", "(null)", "x|y"),
    ]


@pytest.mark.parametrize(
    ("status", "problem", "wrong"),
    [
        (409, {}, False),
        (503, {"type": "urn:portal:unavailable", "detail": "Slurm doesn't answer."}, False),
        (500, {"type": "urn:portal:internal", "detail": "The portal has a fault."}, True),
        (502, {"detail": "<html>"}, True),
        (503, {"type": "urn:portal:unavailable", "detail": ""}, True),
    ],
)
def test_a_5xx_needs_a_sentence(status: int, problem: dict[str, Any], wrong: bool) -> None:
    assert bool(judge(RequestRefused(status, problem))) == wrong


def test_a_gap_in_the_cells_output_is_found(tmp_path: Path) -> None:
    ticks = tmp_path / "ticks"
    ticks.write_text("0\n1\n2\n")
    assert check_ticks(ticks) == []
    ticks.write_text("0\n2\n")
    assert check_ticks(ticks) == ["the cell's output has a gap"]


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    argv = [sys.executable, "-c", "input()"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


@pytest.mark.anyio
async def test_a_stopped_process_continues_and_a_killed_one_ends(
    process: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "STOP_S", 0.1)
    seen: list[str] = []

    def begun() -> None:
        # within the stop, however long this process waits for a processor
        wait_until(lambda: state_of(process.pid) == "T", "the process is stopped")
        seen.append("begun")

    await faults.stop({process.pid}, begun)
    await until(lambda: state_of(process.pid) != "T", "it continues")
    await faults.kill({process.pid}, lambda: seen.append("killed"))
    await until(process.poll, "it has ended", done=lambda code: code == -signal.SIGKILL)
    assert seen == ["begun", "killed"]


def test_the_table_shows_what_failed_and_what_was_not_run(tmp_path: Path) -> None:
    results.save_result(tmp_path, Result("portal/kill", "2026-01-02", 20.1, 6.4, 3, []))
    failed = Result("hub/kill", "2026-01-02", 0.1, 9.0, 0, ["lost: one"], "abc1234")
    results.save_result(tmp_path, failed)
    assert set(json.loads((tmp_path / "faults.json").read_text())) == {"portal/kill", "hub/kill"}
    page = f"before\n{results.BEGIN}previous\n{results.END}\nafter\n"
    written = results.write_table(page, results.load_results(tmp_path))
    rows = {line.split(" | ")[0]: line for line in written.splitlines()}
    assert rows["| portal"].startswith("| portal | right after 6 s (20 s) | not run")
    assert "**fails**" in rows["| hub"]
    assert "- hub/kill: `lost: one`" in written
    assert "- 2026-01-02, commit abc1234: 1" in written
    assert "| node | power cut | not run |" in written
    assert written.startswith("before\n")
    assert written.endswith(f"{results.END}\nafter\n")
    assert "previous" not in written
